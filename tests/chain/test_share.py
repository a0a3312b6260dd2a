#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Two unmodified programs share the CPUs in space: at any sampled instant
their CPU sets are disjoint, runnable threads are on their own job's CPUs once they have
gone there, and both results are right."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import (Agent, BUILD, Job, allowed_cpus, cpu_list, need,
                         skip, threads, wait_for)

OBEYED_S = 10  # who is told to leave a CPU has left it; milliseconds on an idle machine
SHARE_ON_OWN = 0.99
ENOUGH = 200  # samples


def sample(agent, jobs):
    """One sample of all runnable threads: (on own CPUs, elsewhere), or None
    when the allotments changed meanwhile."""
    before = allotments(agent)
    seen = [(job.number, state, cpu) for job in jobs
            for pid in job.programs() for _, state, cpu in threads(pid)]
    if before is None or allotments(agent) != before:
        return None
    # Who waits while the other is measured alone stays runnable until each of its
    # threads has had a CPU to stop on.
    if not all(before.values()):
        return None
    runnable = [(number, cpu) for number, state, cpu in seen if state == "R"]
    own = sum(cpu in before.get(number, ()) for number, cpu in runnable)
    return own, len(runnable) - own


def allotments(agent):
    """{job: CPUs} of the two jobs, each attached; checks disjointness."""
    jobs = [job for job in agent.status()["jobs"] if job["attached"]]
    sets = {job["job"]: frozenset(cpu_list(job["cpus"])) for job in jobs}
    total = sum(map(len, sets.values()))
    union = frozenset().union(*sets.values())
    assert total == len(union), f"CPU sets overlap: {sets}"
    return sets if len(sets) == 2 else None


def watch(agent, number):
    """Run two jobs, NUMBER and the next; (samples on own CPUs, elsewhere, changes
    of allotments)."""
    own = elsewhere = changes = 0
    with Job(agent, number, [f"{BUILD}/jobs/ep", "--class", "W",
                             "--min-time", "5"]) as ep, \
            Job(agent, number + 1, [f"{BUILD}/jobs/cg", "--class", "W",
                                    "--min-time", "5"]) as cg:
        wait_for("attached jobs", lambda: agent.attached(number)
                 and agent.attached(number + 1))
        last, since, obeyed = None, time.monotonic(), False
        while ep.process.poll() is None and cg.process.poll() is None:
            now = allotments(agent)
            if now != last:
                last, since, obeyed = now, time.monotonic(), False
                changes += 1
            counts = now and sample(agent, (ep, cg))
            if not counts:
                continue
            if obeyed:
                own, elsewhere = own + counts[0], elsewhere + counts[1]
            obeyed = obeyed or counts[1] == 0
            assert obeyed or time.monotonic() - since < OBEYED_S, f"not obeyed: {now}"
            time.sleep(0.002)
        assert ep.wait() == 0, ep.text()
        assert cg.wait() == 0, cg.text()
        assert "PASS" in ep.text() and "PASS" in cg.text()
    return own, elsewhere, changes


def main():
    need("coschedd", "coschedctl", "jobs/ep", "jobs/cg",
         "libgomp-coop/lib-coop/libgomp.so.1")
    if len(allowed_cpus()) < 2:
        skip("one CPU cannot be shared in space")
    total = (0, 0, 0)
    with Agent() as agent:
        # Once, unless the machine has hardly any time for the test.
        for number in range(1, 20, 2):
            total = tuple(map(sum, zip(total, watch(agent, number))))
            if total[0] > ENOUGH:
                break
    own, elsewhere, changes = total
    share = own / (own + elsewhere)
    print(f"{own + elsewhere} samples of runnable threads, "
          f"{100 * share:.2f} % on their own job's CPUs, "
          f"{changes} changes of allotments")
    assert own > ENOUGH and share >= SHARE_ON_OWN, (own, elsewhere)


main()
