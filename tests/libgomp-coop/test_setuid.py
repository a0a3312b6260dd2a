#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A program with more rights than its caller, which finds the cooperative library by
its RUNPATH: the caller's variables decide nothing in it."""

import os
import shutil
import socket
import subprocess
import sys

from audit_programs import compile_c, needs_audit
from fake_agent import LIBGOMP_COOP, directory

NOBODY = 65534
PROGRAM = """
#include <stdio.h>
int main(void)
{
    #pragma omp parallel
    #pragma omp single
    puts("ran");
    return 0;
}
"""
# What each would bring about.
VARIABLES = {"COSCHED_ULTS": "bogus", "COSCHED_MODE": "bogus", "COSCHED_JOB": "7",
             "COSCHED_TEST": "bogus", "COSCHED_STAY_HOME": "bogus",
             "COSCHED_MEMORY": "bogus",
             "COSCHED_VERBOSE": "1", "KMP_STACKSIZE": "bogus"}


def run(program, path):
    """What PROGRAM says, called by nobody."""
    done = subprocess.run(
        [program], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
        text=True, check=True, timeout=60, stdin=subprocess.DEVNULL, cwd="/",
        env={**VARIABLES, "COSCHED_SOCKET": path})
    assert done.stdout == "ran\n", done
    return done.stderr


def main():
    needs_audit()
    with directory() as path:
        if os.getuid() != 0 or os.statvfs(path).f_flag & os.ST_NOSUID:
            print("SKIP: needs root, and set-user-id bits in", path)
            sys.exit(77)
        os.chmod(path, 0o755)
        library = f"{path}/lib"
        shutil.copytree(LIBGOMP_COOP, library)
        source = f"{path}/program.c"
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        program = compile_c(f"{path}/program", "-fopenmp", source,
                            f"-Wl,-rpath,{library}", f"-L{library}")
        os.chmod(program, 0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as agent:
            agent.bind(f"{path}/agent")
            os.chmod(f"{path}/agent", 0o777)
            agent.listen()
            agent.settimeout(30)
            said = run(program, f"{path}/agent")
            for name in ("COSCHED_ULTS", "COSCHED_MODE", "COSCHED_TEST",
                         "COSCHED_STAY_HOME", "COSCHED_MEMORY"):
                assert name in said, (name, said)
            agent.accept()[0].close()
            os.chmod(program, 0o4755)
            agent.setblocking(False)
            assert run(program, f"{path}/agent") == ""
            try:
                agent.accept()
            except BlockingIOError:
                return
            raise AssertionError("it asked the agent that its caller named")


main()
