#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The processes of one job, MPI ranks say, have its cores among them: each its
own while it computes in parallel, all of them when it is the only one to."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (Agent, FAKE_JOB, Program, allowed_cpus, cpu_list, fake, need,
                   skip, wait_for)

ALL = set(allowed_cpus())


def part(program):
    """The CPUs that PROGRAM was told, and that it obeys."""
    told = [line.split()[1:] for line in program.text().splitlines()
            if line.startswith("cpus")]
    cpus = cpu_list(told[-1][0] if told and told[-1] else "")
    return cpus if os.sched_getaffinity(program.process.pid) == cpus else set()


def divided(*programs):
    parts = [part(program) for program in programs]
    return all(parts) and sum(map(len, parts)) == len(set().union(*parts))


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if len(ALL) < 2:
        skip("one CPU cannot be divided")
    with Agent() as agent, fake(agent, 1) as first:
        wait_for("all CPUs for one process", lambda: part(first) == ALL)
        with fake(agent, 1) as second:
            wait_for("CPUs of their own", lambda: divided(first, second) and
                     part(first) | part(second) == ALL)
            assert first.cpus() == ALL
            # A sleeper has no core of its own, nor one that is in the way.
            with fake(agent, 1, "kind=serial") as idle:
                wait_for("a part for each", lambda: part(idle) == ALL and
                         divided(first, second))
                # Another job is not disturbed by how many they are.
                with fake(agent, 2) as other:
                    wait_for("cores of the other job",
                             lambda: part(other) and not part(other) &
                             (part(first) | part(second) | part(idle)) and
                             part(first) and part(second) and part(idle))
                wait_for("all CPUs again", lambda: part(idle) == ALL and
                         divided(first, second))
            agent.kill()
            agent.start()
            wait_for("CPUs of their own after a crash", lambda: divided(
                first, second) and part(first) | part(second) == ALL)
        wait_for("all CPUs for the one that is left",
                 lambda: part(first) == ALL)
        # More of them than CPUs: each has one.
        more = [Program(agent, 1, [FAKE_JOB, agent.socket, "1"])
                for _ in range(len(ALL))]
        try:
            wait_for("one CPU each", lambda: all(
                len(part(program)) == 1 for program in (first, *more)))
            assert set().union(*map(part, (first, *more))) == ALL
        finally:
            for program in more:
                program.kill()
                program.output.close()


main()
