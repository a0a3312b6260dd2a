#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The initial thread of a program that imports MPI_Init_thread stays on its
kernel thread, whatever happens to its CPUs and however its siblings spin."""

import os
import re

from fake_agent import (BUILD, FakeAgent, Program, directory, need,
                        needs_probe, two_cpus, wait_for)

SAYS = "the initial thread stays on its kernel thread"


def counted(client):
    region = max((client.region(i) for i in range(
        client.header_of_report()["regions_used"])),
        key=lambda s: s["iterations"])
    return region["iterations"] > 0.9 * 200 * region["entries"]


def run(path, cpus, name, program, rounds=40, **environment):
    """(times the initial thread was away, stderr), while CPUs change."""
    libraries = os.pathsep.join(
        os.path.join(BUILD, d)
        for d in ("libgomp-coop/lib-coop", "tests/libgomp-coop"))
    with FakeAgent(path, cpus) as agent, \
            Program(name, program=program, socket_path=path,
                    LD_LIBRARY_PATH=libraries, **environment) as running:
        running.wait_line("ready")
        client = agent.client()
        for round_ in range(rounds):
            allotted = [cpus[:1], cpus, cpus[1:]][round_ % 3]
            generation, _ = client.allot(allotted)
            wait_for("applied allotment", lambda: client.applied(generation),
                     every=0.003)
            # It shares a CPU of the allotment, that of worker 0.  (A kernel
            # thread without slot goes where its next slot is.)
            mask = os.sched_getaffinity(running.pid)
            assert (mask <= set(allotted) or name == "threads"
                    or environment.get("COSCHED_MODE") == "kthread"), mask
        if name == "regions":
            # Those of the initial thread count as well: a seventh, at least.
            # Threads report theirs when they get to run.
            wait_for("iterations of all threads", lambda: counted(client))
        out, err = running.stop()
    return int(re.search(r"away (\d+)", out)[1]), err


def main():
    needs_probe()
    need("tests/libgomp-coop/test_home", "tests/libgomp-coop/test_home_mpi")
    cpus = two_cpus()
    with directory() as path:
        path = f"{path}/sock"
        for threads in ("2", "7"):
            for name in ("regions", "spin"):
                away, err = run(path, cpus, name, "test_home_mpi",
                                OMP_NUM_THREADS=threads)
                assert away == 0 and SAYS in err, (name, threads, away, err)
                print(f"{name}, {threads} threads: stays")
        away, err = run(path, cpus, "regions", "test_home",
                        COSCHED_STAY_HOME="1", OMP_NUM_THREADS="7")
        assert away == 0, away
        away, _ = run(path, cpus, "regions", "test_home_mpi",
                      COSCHED_MODE="kthread", OMP_NUM_THREADS="7")
        assert away == 0, away
        away, err = run(path, cpus, "regions", "test_home",
                        OMP_NUM_THREADS="7")
        assert SAYS not in err, err
        away_, err = run(path, cpus, "regions", "test_home_mpi",
                         COSCHED_STAY_HOME="0", OMP_NUM_THREADS="7")
        assert SAYS not in err, err
        print(f"without: away {away} and {away_} times")
        for mode in ("donor", "kthread"):
            run(path, cpus, "threads", "test_home", COSCHED_MODE=mode)


main()
