#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""OpenMP programs side by side in one job, as MPI ranks are, do not run on the
same cores, and both results are right."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import (Agent, BUILD, Job, allowed_cpus, need, skip, threads,
                         wait_for)

EP = f"{BUILD}/jobs/ep"
ALL = allowed_cpus()
LOOKS = 20


def bound(pid):
    """CPUs that the runnable threads of PID may use.  (One that sleeps may have
    those of its last turn.)"""
    cpus = set()
    for tid, state, _ in threads(pid):
        try:
            cpus |= os.sched_getaffinity(tid) if state == "R" else set()
        except OSError:
            continue
    return cpus


def programs(job):
    found = []
    for pid in job.programs():
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                found += [pid] if comm.read() == "ep\n" else []
        except OSError:
            continue
    return found


def apart(job):
    """So they were each time in a row of looks."""
    for _ in range(LOOKS):
        sets = [bound(pid) for pid in programs(job)]
        if len(sets) != 2 or not all(sets) or not sets[0].isdisjoint(sets[1]):
            return False
        time.sleep(0.005)
    return True


def two(arguments):
    return ["sh", "-c", f"{EP} {arguments} & {EP} {arguments} & wait"]


def main():
    need("coschedd", "coschedctl", "jobs/ep",
         "libgomp-coop/lib-coop/libgomp.so.1")
    if len(ALL) < 2:
        skip("one CPU cannot be divided")
    with Agent() as agent:
        with Job(agent, 1, two("--class W --min-time 600")) as job:
            wait_for("two attached processes", lambda: (agent.job(1) or {}).get(
                "attached") == 2, 60)
            wait_for("CPUs of their own", lambda: apart(job), 60)
            job.kill()
        with Job(agent, 2, two("--class S --repeat 3")) as job:
            assert job.wait(300) == 0
            assert job.text().count("PASS") == 2, job.text()


main()
