#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Thread-local data while the CPUs change every 3 ms: errno, identity, keys,
locale, malloc, stream and mutex owners, exceptions, libraries loaded later,
the CPU number, signals to oneself; with donors and with kernel threads, with
either way to set the thread pointer."""

import os
import sys

from fake_agent import (BUILD, FakeAgent, Program, directory, need,
                        needs_probe, two_cpus, wait_for)

NAMES = ("errno", "identity", "keys", "locale", "malloc", "stdio", "mutexes",
         "held", "dlopen", "cpu", "raise")
CHANGES = 30
MODULE = os.path.join(BUILD, "tests/libgomp-coop/test_tls_module.so")


def change(agent, program, cpus):
    """Have the program follow CHANGES changes of its allotment."""
    program.wait_line("ready")
    client = agent.client()
    for round_ in range(CHANGES):
        generation, _ = client.allot([cpus[:1], cpus, cpus[1:]][round_ % 3])
        wait_for("applied allotment", lambda: client.applied(generation),
                 every=0.003)
    return client


def check(path, cpus, *arguments, program="test_tls", **environment):
    print(program, *arguments, *environment.values(), flush=True)
    # It begins on one CPU: the monitor starts the second worker.
    with FakeAgent(path, cpus,
                   spoil=lambda client: client.allot(cpus[:1])) as agent, \
            Program(*arguments, program=program, socket_path=path,
                    OMP_NUM_THREADS="7", **environment) as running:
        change(agent, running, cpus)
        running.stop()


def check_all(path, cpus, **environment):
    for name in NAMES:
        check(path, cpus, name, MODULE, **environment)


def check_cxx(path, cpus):
    """Nothing to do where there is no C++ compiler."""
    if not os.path.exists(os.path.join(BUILD,
                                       "tests/libgomp-coop/test_tls_cxx")):
        return
    check(path, cpus, "exceptions", program="test_tls_cxx")
    check(path, cpus, "exceptions", program="test_tls_cxx",
          COSCHED_MODE="kthread")
    for mode in ("donor", "kthread"):
        with Program("objects", program="test_tls_cxx",
                     COSCHED_MODE=mode) as running:
            running.stop()


def main():
    needs_probe()
    need("tests/libgomp-coop/test_tls")
    cpus = two_cpus()
    with directory() as path:
        path = f"{path}/sock"
        check_all(path, cpus)
        check_all(path, cpus, COSCHED_MODE="kthread")
        check(path, cpus, "errno", COSCHED_TEST="by_kernel")
        check(path, cpus, "mutexes", COSCHED_TEST="by_kernel")
        check(path, cpus, "cpu", GLIBC_TUNABLES="glibc.pthread.rseq=0")
        check_cxx(path, cpus)


if __name__ == "__main__":
    sys.exit(main())
