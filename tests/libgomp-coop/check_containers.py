#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Programs of other releases of Debian follow, each in a container with its own
C library (make check-containers; root only).

usage: check_containers.py DIRECTORY [SUITE...]

DIRECTORY gets a tree per suite (bullseye: glibc 2.31, trixie: 2.41), made by
debootstrap, and keeps it for the next time.  As with Apptainer, only the
directory of the library and that of the socket are bound into the tree."""

import contextlib
import os
import shutil
import subprocess
import sys

from audit_programs import AUDIT, OURS, Running, mapped, needs_audit
from fake_agent import (LIBGOMP_COOP, SOURCE, FakeAgent, directory, skip,
                        two_cpus, wait_for)

# The suites with what follows there: the audit library, or LD_LIBRARY_PATH only.
SUITES = {"bullseye": False, "trixie": True}


def make_tree(path, suite):
    tree = f"{path}/{suite}"
    if not os.path.exists(f"{tree}/usr/bin/gcc"):
        subprocess.run(["debootstrap", "--variant=minbase",
                        "--include=gcc,libc6-dev", suite, tree,
                        "http://deb.debian.org/debian"], check=True)
    os.makedirs(f"{tree}/src", exist_ok=True)
    for name in ("probe.c", "driven.h"):
        shutil.copy(f"{SOURCE}/tests/libgomp-coop/{name}", f"{tree}/src")
    for name, flags in (("plain", ""),
                        ("rpath", "-Wl,--disable-new-dtags,-rpath,"
                         "/usr/lib/x86_64-linux-gnu")):
        subprocess.run(["chroot", tree, "sh", "-c", "gcc -std=gnu17 -O2 "
                        f"-fopenmp {flags} /src/probe.c -o /src/{name}"],
                       check=True)
    return tree


@contextlib.contextmanager
def bound(tree, *paths):
    """PATHS of the host, and /proc, in TREE."""
    mounted = []
    try:
        for path in (*paths, "/proc"):
            os.makedirs(tree + path, exist_ok=True)
            subprocess.run(["mount", "--rbind", path, tree + path], check=True)
            mounted.append(tree + path)
        yield
    finally:
        for path in reversed(mounted):
            subprocess.run(["umount", "-l", path], check=True)


def libraries_of(pid):
    """The libgomps that PID has mapped, as the host knows them."""
    return [path for path in mapped(pid)
            if os.path.basename(path).startswith("libgomp")]


def check(tree, program, ours, cpus, path):
    command = ["chroot", tree, "/usr/bin/env", f"LD_AUDIT={AUDIT}",
               f"LD_LIBRARY_PATH={LIBGOMP_COOP}/before-2.35",
               f"/src/{program}", "dynamic"]
    socket = f"{path}/sock"
    with FakeAgent(socket, cpus) as agent, \
            Running(command, audit=None, COSCHED_SOCKET=socket,
                    COSCHED_JOB="7") as running:
        running.wait_line("ready")
        files = libraries_of(running.pid)
        found = any(os.path.samefile(file, OURS) for file in files)
        assert found == ours, (tree, program, files)
        if ours:
            client = agent.client()
            for allotment in (cpus[:1], cpus, cpus[1:]):
                generation, _ = client.allot(allotment)
                wait_for(f"{program} on {allotment}",
                         lambda g=generation: client.applied(g))
        running.stop()
    print(f"{tree}: {program} {'follows' if ours else 'is pinned'}", flush=True)


def main():
    needs_audit()
    if os.getuid() or not shutil.which("debootstrap"):
        skip("needs root and debootstrap")
    cpus = two_cpus()
    library = os.path.dirname(os.path.dirname(OURS))
    for suite in sys.argv[2:] or SUITES:
        tree = make_tree(sys.argv[1], suite)
        with directory() as path, \
                bound(tree, os.path.dirname(library), path):
            check(tree, "plain", True, cpus, path)
            check(tree, "rpath", SUITES[suite], cpus, path)


main()
