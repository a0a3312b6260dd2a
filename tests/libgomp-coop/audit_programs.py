# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Programs that look for libgomp in all the ways that users' programs do, and
how they run as in a job (test_audit.py, test_audit_bad.py)."""

import contextlib
import os
import shutil
import subprocess
import sys

from fake_agent import BUILD, LIBGOMP_COOP, SOURCE, Started, need, wait_for
from coschedtest import LIBGOMP_STOCK

AUDIT = f"{LIBGOMP_COOP}/coschedule-audit.so"
HERE = f"{SOURCE}/tests/libgomp-coop"
# As long as the name that it takes the place of, in a copy of the library.
RENAMED = "libgomp-x.so"
OURS = os.path.realpath(f"{LIBGOMP_COOP}/libgomp.so.1")


def needs_audit():
    need("libgomp-coop/lib-coop/coschedule-audit.so", "libgomp-coop/settings",
         "libgomp-coop/lib-stock/libgomp.so.1")


def settings():
    with open(f"{BUILD}/libgomp-coop/settings", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file)


def compile_c(target, *arguments):
    subprocess.run([settings()["cc"], "-std=gnu17", "-O1", *arguments, "-o",
                    target], check=True, stdin=subprocess.DEVNULL)
    return target


def stock_copy(directory, name="libgomp.so.1"):
    """A directory with a stock libgomp called NAME, for linker and loader."""
    os.makedirs(directory, exist_ok=True)
    with open(f"{LIBGOMP_STOCK}/libgomp.so.1", "rb") as file:
        data = file.read()
    data = data.replace(b"libgomp.so.1\0", name.encode() + b"\0")
    with open(f"{directory}/{name}", "wb") as file:
        file.write(data)
    with contextlib.suppress(FileExistsError):
        os.symlink(name, f"{directory}/libgomp.so")
    return directory


def build_probe(target, *arguments):
    return compile_c(target, "-fopenmp", f"{HERE}/probe.c", *arguments)


def environment(audit=AUDIT, **more):
    """That of a job; what is None is not set."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("COSCHED_", "OMP_", "GOMP_", "LD_"))}
    clean.update(LD_AUDIT=audit, **more)
    return {k: v for k, v in clean.items() if v is not None}


def run(command, audit=AUDIT, text="", **more):
    """Its status, output and errors."""
    done = subprocess.run(command, env=environment(audit, **more), input=text,
                          capture_output=True, text=True, timeout=300,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def mapped(pid):
    """Paths of the files that PID has mapped."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return {line.split(None, 5)[5].strip() for line in file
                if len(line.split(None, 5)) > 5}


def runtimes(pid):
    """Those of them that are an OpenMP runtime, but not our aliases."""
    return {os.path.realpath(path) for path in mapped(pid)
            if os.path.basename(path).startswith(("libgomp", "libomp",
                                                  "libiomp"))}


class Running(Started):
    """A program in the environment of a job."""

    def __init__(self, command, audit=AUDIT, **more):
        super().__init__(command, environment(audit, **more))

    def stop(self):
        """Its errors, when it has ended with a right result."""
        return super().stop()[1]


def follows(agent, number, cpus, program, what):
    """PROGRAM, inside its region, has ours only, and gives and takes a core."""
    client = agent.client(number)
    program.wait_line("ready")
    assert runtimes(program.pid) == {OURS}, (what, mapped(program.pid))
    for allotment in (cpus[:1], cpus, cpus[1:]):
        generation, _ = client.allot(allotment)
        wait_for(f"{what} on {allotment}", lambda g=generation:
                 client.applied(g))
        before = client.region(0)["iterations"]
        wait_for(f"progress of {what} on {allotment}",
                 lambda b=before: client.region(0)["iterations"] > b)
    err = program.stop()
    assert "runs with its own" not in err, (what, err)


def python_calls(library):
    """Python without OpenMP, that opens LIBRARY and calls its main program."""
    return [sys.executable, "-c", f"""
import ctypes
names = (ctypes.c_char_p * 3)(b"probe", b"dynamic", None)
raise SystemExit(ctypes.CDLL({library!r}).probe_main(2, names))
"""]


def link_directory(path, **replaced):
    """A directory as LIBGOMP_COOP with other contents for some names."""
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    for name in os.listdir(LIBGOMP_COOP):
        if name not in replaced:
            os.symlink(f"{LIBGOMP_COOP}/{name}", f"{path}/{name}")
    for name, data in replaced.items():
        if data is not None:
            with open(f"{path}/{name}", "wb") as file:
                file.write(data)
    return path
