#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Each answer of docs/follow.md, by a real process (`coschedctl why`): what makes a
program follow, what keeps it from that, and what its user is told.  CASES has the
programs, all of which run at the same time."""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import (Agent, BUILD, Job, LIBGOMP_COOP, LIBGOMP_STOCK, SOURCE,
                         need, wait_for)
from fakes import state_of

PROGRAM = os.path.join(SOURCE, "tests/node_agent/daemon/following.c")
CTL = os.path.join(BUILD, "coschedctl")
OPENMP = ("-fopenmp", "-DREGION")
# An RPATH comes before LD_LIBRARY_PATH; the job's audit library would not mind it.
OLD_RPATH = "-Wl,--disable-new-dtags,-rpath,"
STOCK = (*OPENMP, OLD_RPATH + LIBGOMP_STOCK)
NO_AUDIT = ("env", "-u", "LD_AUDIT")
AUDIT = f"{LIBGOMP_COOP}/coschedule-audit.so"
LLVM = os.path.dirname(os.path.realpath(subprocess.run(
    ["clang", "-print-file-name=libomp.so.5"], capture_output=True, text=True,
    check=True).stdout.strip()))


# Maps argv[2] with code of a kind.
HOSTILE = r"""
import ctypes, os, sys, threading, time
kind, path = sys.argv[1:]
path += "\n\033[31m.1" if kind == "name" else ".1"
head = b"\x7fELF\2\1\1" if kind != "garbage" else b""
with open(path, "wb") as file:
    file.write(head + b"\xff" * 8192)
call = ctypes.CDLL(None).mmap
call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
call.restype = ctypes.c_void_p
with open(path, "rb") as file: # PROT_READ | PROT_EXEC, MAP_PRIVATE
    for i in range(60000 if kind == "many" else 1):
        assert call(None, 4096, 5, 2, file.fileno(), i % 2 * 4096) != 2**64 - 1
if kind == "fifo":
    os.unlink(path)
    os.mkfifo(path)
threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
print("ready", flush=True)
time.sleep(1e6)
"""


class Case:
    """A program, how it is started, and what is said of it."""

    def __init__(self, word, detail, *options, start=(), compiler="gcc",
                 probably=False, strip=False, says="", root=False, env=None, job=None):
        self.word, self.detail, self.options = word, detail, options
        self.start, self.compiler, self.probably = start, compiler, probably
        self.strip, self.says, self.root = strip, says, root
        self.env, self.job = env, job


def cases(folder):
    """{name: Case}; the name is the program's, too."""
    return {
        "follows": Case("follows", "", *OPENMP, says="it is malleable."),
        "kthread": Case("kthread", "pthread_setaffinity_np", *OPENMP, "-DAFFINITY",
                        says="with kernel threads (pthread_setaffinity_np)."),
        "by-user": Case("kthread", "COSCHED_MODE", *OPENMP,
                        env={"COSCHED_MODE": "kthread"}),
        "no-region": Case("no-region", "", "-fopenmp", "-DOPENMP",
                          says="it has begun no parallel region so far. It "
                          "follows from its first one on."),
        "pthreads": Case("no-openmp", "", says="it has no OpenMP runtime."),
        "static": Case("static", "libgomp", *OPENMP, "-static",
                       says="it contains libgomp statically. Link it without"),
        "half-static": Case("static", "libgomp", *OPENMP, "-static-libgcc",
                            "-Wl,-Bstatic,-lgomp,-Bdynamic"),
        "stripped": Case("static", "libgomp", *OPENMP, "-static", strip=True,
                         probably=True, says="it probably contains libgomp"),
        "clang": Case("follows", "", *OPENMP, compiler="clang"),
        "llvm": Case("environment", "LD_AUDIT", *OPENMP, OLD_RPATH + LLVM, compiler="clang",
                     start=NO_AUDIT),
        "nvhpc": Case("other-runtime", "NVIDIA libnvomp", f"-L{folder}/nvidia",
                      "-l:libnvomp.so", OLD_RPATH + f"{folder}/nvidia", "-DOWN",
                      says="it runs with NVIDIA libnvomp. Build it for the shared "
                      "runtime of GCC, LLVM or Intel."),
        "cleared": Case("environment", "COSCHED_SOCKET", *OPENMP,
                        start=("env", "-i"), says="its environment lacks "
                        "COSCHED_SOCKET. Start it with the environment that"),
        "unset": Case("environment", "LD_AUDIT", *OPENMP,
                      start=(*NO_AUDIT, "-u", "LD_LIBRARY_PATH")),
        "rpath": Case("environment", "LD_AUDIT", *STOCK, start=NO_AUDIT),
        "refused": Case("refused", "", *OPENMP, job="libgomp=stock",
                        says="as was asked (libgomp=stock). Leave out libgomp=stock"),
        # The loader heeds no such variables then.
        "setuid": Case("own-runtime", "/", *OPENMP, root=True,
                       start=("env", f"LD_AUDIT={AUDIT}"),
                       says="it runs with an OpenMP runtime of its own ("),
        "newer": Case("newer-symbols", "GOMP_99.0", "-DOWN", f"-L{folder}/future",
                      "-l:libgomp.so.1", OLD_RPATH + f"{folder}/future",
                      says="it wants GOMP_99.0, which the "
                      "cooperative libgomp does not have. Build it with an older"),
        "old-glibc": Case("old-glibc", "GLIBC_99.0", *STOCK,
                          start=(*NO_AUDIT, f"LD_LIBRARY_PATH={folder}/needy"),
                          says="its glibc is older than GLIBC_99.0."),
        "broken": Case("broken-library", "", *OPENMP, start=(
            "env", "-u", "LD_LIBRARY_PATH",
            f"LD_AUDIT={folder}/damaged/coschedule-audit.so"),
                       says="its cooperative libgomp is a damaged file. Ask the"),
        "realtime": Case("realtime", "", *OPENMP, root=True,
                         start=("chrt", "--rr", "1")),
        "no-socket": Case("no-socket", f"{folder}/", *OPENMP, root=True,
                          start=("chroot", f"{folder}/box"),
                          says="its container lacks the agent's socket. Bind the "
                          "directory of "),
        "no-library": Case("no-library", LIBGOMP_COOP, *OPENMP, root=True,
                           start=("chroot", f"{folder}/bare"),
                           says="its container lacks the cooperative libgomp. "
                           "Bind "),
    }


def cc(folder, output, *options, compiler="gcc", source=PROGRAM):
    subprocess.run([compiler, "-O1", "-w", "-pthread", "-D_GNU_SOURCE", source, "-o",
                    os.path.join(folder, output), *options], check=True,
                   stdin=subprocess.DEVNULL)


def library(folder, where, code, script, *options, name="libgomp.so.1"):
    """A runtime of the test's own in FOLDER/WHERE."""
    os.mkdir(f"{folder}/{where}")
    for part, text in (("code.c", code), ("versions", script)):
        with open(f"{folder}/{where}/{part}", "w", encoding="ascii") as file:
            file.write(text)
    cc(f"{folder}/{where}", name, "-shared", "-fPIC", f"-Wl,-soname,{name}",
       f"-Wl,--version-script={folder}/{where}/versions", *options,
       source=f"{folder}/{where}/code.c")


def build_libraries(folder):
    library(folder, "future", "void GOMP_parallel_from_the_future(void) {}",
            "GOMP_99.0 { global: GOMP_parallel_from_the_future; local: *; };")
    library(folder, "nvidia", "void GOMP_parallel_from_the_future(void) {}", "{};",
            name="libnvomp.so")
    os.mkdir(f"{folder}/damaged")
    shutil.copy(AUDIT, f"{folder}/damaged")
    with open(f"{folder}/damaged/libgomp.so.1", "w", encoding="ascii") as file:
        file.write("no library")
    # Of a newer glibc that is there for the linker only.
    os.mkdir(f"{folder}/glibc")
    with open(f"{folder}/glibc/versions", "w", encoding="ascii") as file:
        file.write("GLIBC_99.0 { global: of_the_future; };")
    with open(f"{folder}/glibc/code.c", "w", encoding="ascii") as file:
        file.write("void of_the_future(void) {}")
    cc(f"{folder}/glibc", "libc.so.6", "-shared", "-fPIC", "-nostdlib",
       "-Wl,-soname,libc.so.6", f"-Wl,--version-script={folder}/glibc/versions",
       source=f"{folder}/glibc/code.c")
    # The note by which ours is known.
    library(folder, "needy", 'void of_the_future(void);'
            'void GOMP_parallel(void) { of_the_future(); }'
            '__asm__(".pushsection .note.coschedule,\\"a\\",%note\\n.balign 4\\n'
            '.long 11, 4, 1\\n.asciz \\"coschedule\\"\\n.balign 4\\n.long 1\\n'
            '.popsection");',
            "GOMP_4.0 { global: GOMP_parallel; };", "-nostdlib",
            f"{folder}/glibc/libc.so.6")


def make_root(folder, name, program, *more):
    """A directory in which PROGRAM runs when it is the root, with the files MORE."""
    root = f"{folder}/{name}"
    libraries = [path for path in more if path.endswith("/libgomp.so.1")]
    found = subprocess.run(["ldd", program, *libraries], capture_output=True, text=True,
                           check=True, env={"PATH": os.environ["PATH"]}).stdout
    paths = [word for word in found.split() if word.startswith("/") and
             not word.endswith(":")]
    for path in (*paths, program, *more):
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(path, target)


def ready(job):
    assert job.process.poll() is None, job.text()
    return "ready" in job.text()


def why(agent, number):
    """What `coschedctl why --json` says of the only program of job NUMBER."""
    done = subprocess.run([CTL, "--socket", agent.socket, "why", str(number),
                           "--json"], capture_output=True, text=True, check=True)
    return [p for p in json.loads(done.stdout)["processes"]
            if p["program"] not in ("env", "chroot", "chrt", "")]


def check_case(agent, number, name, case):
    last = []

    def look(): # its program may just have replaced env or chroot
        last[:] = why(agent, number)
        return [p for p in last if p["program"] == name and p["word"] == case.word]
    try:
        found = wait_for(f"look at {name}", look, 60, 0.05)[0]
    except AssertionError:
        print("said was", last)
        raise
    assert found["detail"].startswith(case.detail), (name, found)
    assert found["probably"] == case.probably, (name, found)
    assert found["malleable"] == (case.word in ("follows", "kthread")), found
    line = subprocess.run([CTL, "--socket", agent.socket, "why", str(number)],
                          capture_output=True, text=True, check=True).stdout
    verb = "follows" if found["malleable"] else "does not follow"
    assert f"job {number}: {name} (pid {found['pid']}) {verb}: it" in line, line
    assert case.says in line, (name, line)
    print(line, end="")


def check_settled(agent, number, folder, name, case):
    """Nobody asks, but the agent looks at a job that settles; status and record
    have the word."""
    with Job(agent, number, [f"{folder}/{name}"]) as job:
        entry = wait_for("look", lambda: (agent.job(number) or {}).get("follow"))
        assert (entry["word"], entry["program"]) == (case.word, name), entry
        job.kill()
        job.wait()
    text = f" follow={case.word}:{case.detail}"
    wait_for("record", lambda: text in agent.log_text().partition(
        f"job {number} ended: ")[2].partition("\n")[0])


def check_others(agent):
    """Not every user may look at a job, and not at a job that there is not."""
    done = subprocess.run([CTL, "--socket", agent.socket, "why", "999"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "job 999: not known" in done.stderr, done
    if os.geteuid() != 0:
        return
    child = os.fork()
    if child == 0:
        os.setresuid(65534, 65534, 65534)
        reply = agent.call({"op": "why", "job": 1, "r": 1})
        os._exit("belongs to uid 0" not in reply["error"] or
                 agent.job(1)["follow"] is not None)
    assert os.waitpid(child, 0)[1] == 0
    assert agent.job(1)["follow"]["word"] == "follows", agent.job(1)


def check_hostile(agent, folder):
    """What a process maps may be anything: it misleads about itself at most, and
    nothing of it reaches a terminal."""
    for number, kind, detail in ((101, "garbage", "/garbage/libgomp.so.1"),
                                 (102, "fifo", "/fifo/libgomp.so.1"),
                                 (103, "name", "/name/libgomp.so?012??31m.1"),
                                 (104, "many", "/many/libgomp.so.1")):
        os.mkdir(f"{folder}/{kind}")
        with Job(agent, number, [sys.executable, "-c", HOSTILE, kind,
                                 f"{folder}/{kind}/libgomp.so"],
                 env={"LD_AUDIT": AUDIT}) as job:
            wait_for(kind, lambda job=job: ready(job))
            found = wait_for("look", lambda number=number: [
                p for p in why(agent, number) if detail in p["detail"]], 60, 0.05)
            assert found[0]["word"] == "own-runtime", found
            line = subprocess.run([CTL, "--socket", agent.socket, "why",
                                   str(number)], capture_output=True, text=True,
                                  check=True).stdout
            assert line.count("\n") == 1 and "\x1b" not in line, line
            if kind == "many":
                check_endless(agent, number)
            job.kill()


def child_that_looks(agent):
    """The agent's child that looks at processes, or None."""
    pid = agent.process.pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            try:
                with open(f"/proc/{child}/comm", encoding="ascii") as comm:
                    if comm.read().strip() == "coschedd-look":
                        return int(child)
            except OSError:
                pass
    return None


def is_stopped(pid):
    """PID, to which SIGSTOP was sent, has stopped, and had not ended just before."""
    try:
        return wait_for("stop or end", lambda: (s := state_of(pid)) in "TZX" and s) == "T"
    except OSError:
        return False


def check_endless(agent, number):
    """A look that does not end: the agent goes on, and ends it."""
    def stopped():
        reply = agent.call({"op": "why", "job": number, "r": 1})
        child = child_that_looks(agent) if reply["pending"] else None
        try:
            os.kill(child or 0, signal.SIGSTOP if child else 0)
        except ProcessLookupError:
            return None
        return child if child and is_stopped(child) else None
    child = wait_for("look to stop", stopped, 60, 0.01)
    epochs = agent.call({"op": "ping"})["epochs"]
    wait_for("epochs meanwhile", lambda: agent.call(
        {"op": "ping"})["epochs"] > epochs + 5)
    wait_for("end of the look", lambda: not os.path.exists(f"/proc/{child}"))
    wait_for("word about it", lambda: "was ended by signal 9" in agent.log_text())
    wait_for("another look", lambda: why(agent, number))


def main():
    need("coschedd", "libgomp-coop/lib-coop/coschedule-audit.so")
    with Agent("--set", "attach_timeout=1s") as agent:
        folder = agent.directory
        build_libraries(folder)
        # So many jobs would have turns.
        agent.call({"op": "drain", "reason": ""})
        table = {name: case for name, case in cases(folder).items()
                 if not case.root or os.geteuid() == 0}
        jobs = {}
        try:
            for number, (name, case) in enumerate(table.items(), 1):
                path = f"{folder}/{name}"
                cc(folder, name, *case.options, compiler=case.compiler)
                if case.strip:
                    subprocess.run(["strip", path], check=True)
                if name == "setuid":
                    os.chown(path, 65534, 65534)
                    os.chmod(path, 0o4755)
                if case.start[:1] == ("chroot",):
                    ours = glob.glob(f"{LIBGOMP_COOP}/*.so*")
                    make_root("", case.start[1], path,
                              *(ours if name == "no-socket" else []))
                jobs[name] = Job(agent, number, [*case.start, path], env={
                    "OMP_NUM_THREADS": "2", **(case.env or {})}, options=case.job)
            for name, job in jobs.items():
                wait_for(name, lambda job=job: ready(job))
            for name, job in jobs.items():
                check_case(agent, job.number, name, table[name])
            check_others(agent)
            check_hostile(agent, folder)
        finally:
            for job in jobs.values():
                job.kill()
                job.__exit__(*sys.exc_info())
        agent.call({"op": "resume"})
        for number, name in (200, "static"), (201, "kthread"):
            check_settled(agent, number, folder, name, table[name])


main()
