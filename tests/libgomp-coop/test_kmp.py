#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The entry points of libomp: constructs, loops and atomic operations of
programs of clang, without an agent and in each mode, while CPUs are taken and
given.  Stock libomp is no reference: that of LLVM 14 fails some of this."""

import os
import subprocess

from fake_agent import (BUILD, LIBGOMP_COOP, FakeAgent, Program, directory,
                        need, needs_probe, two_cpus)

PROGRAMS = os.path.join(BUILD, "tests/libgomp-coop/clang")

CONSTRUCTS = """\
regions 215 1338 24, numbers differ: 1
variables 4200
sync late 0 singles 50 got 6375 masters 50 masked 50
loops 249999 167167 499500 499500 499500 82650 499500 547389 547389 111 \
last 999 999
doacross 490661 274704
reductions 10109000 10000 1 1000 1048575 1 1.2475e+06 497000
threadprivate 60 kept 5 copied 405
locks 1000 1000 2000 1000
cancellation 1 after 50 past 0 done 50
teams 12 999000 0
memory 1 1 100
settings 3 5 100 'L0 n0 N1' 0 0 1 -2
threads 360
""".splitlines()

LOOPS = [f"loops over {name}: 0 wrong" for name in ("4", "4u", "8", "8u")]


def plain(name):
    """The lines that a program prints without an agent."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("COSCHED_", "OMP_", "KMP_"))}
    env["OMP_CANCELLATION"] = "true"
    env["LD_LIBRARY_PATH"] = LIBGOMP_COOP
    done = subprocess.run([os.path.join(PROGRAMS, name)], env=env,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (name, done.returncode, done.stdout,
                                  done.stderr)
    return done.stdout.splitlines()


def same(name, got, expected):
    assert got == expected, (name, [x for x in zip(got, expected)
                                    if x[0] != x[1]], len(got), len(expected))


def disturbed(path, cpus, name, expected, mode):
    """The same while CPUs change."""
    with FakeAgent(path, cpus) as agent, \
            Program(program=f"clang/{name}", socket_path=path,
                    COSCHED_MODE=mode, OMP_CANCELLATION="true") as program:
        agent.client()
        out, err, changes = program.end_under(
            agent, [cpus[:1], cpus, cpus[1:], cpus])
        assert program.process.returncode == 0, (name, mode, out[-500:], err)
        same((name, mode), out.splitlines(), expected)
        print(f"{name}, {mode}: {changes} changes")


def main():
    needs_probe()
    need("tests/libgomp-coop/clang/kmp_loops")  # by clang with libomp
    cpus = two_cpus()
    for name in ("kmp_constructs", "kmp_private"):
        same(name, plain(name), CONSTRUCTS)
    same("loops", plain("kmp_loops"), LOOPS)
    same("atomics", plain("kmp_atomics"), ["PASS"])
    with directory() as path:
        for mode in ("donor", "kthread"):
            for name, lines in (("kmp_constructs", CONSTRUCTS),
                                ("kmp_private", CONSTRUCTS),
                                ("kmp_loops", LOOPS),
                                ("kmp_atomics", ["PASS"])):
                disturbed(f"{path}/sock", cpus, name, lines, mode)
        # Threads share storage there, but have a state of their own.
        disturbed(f"{path}/sock", cpus, "kmp_loops", LOOPS, "ult")


main()
