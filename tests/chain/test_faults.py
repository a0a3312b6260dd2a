#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent dies at several moments of two running jobs: both finish with
right results, and a restarted agent has all running jobs attached again."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import Agent, BUILD, Job, need, wait_for

KILLS = 4


def attached(agent, jobs):
    return all(agent.attached(job.number) for job in jobs
               if job.process.poll() is None)


def main():
    need("coschedd", "coschedctl", "jobs/ep", "jobs/cg",
         "libgomp-coop/lib-coop/libgomp.so.1")
    with Agent() as agent, \
            Job(agent, 1, [f"{BUILD}/jobs/ep", "--class", "W",
                           "--min-time", "5"]) as ep, \
            Job(agent, 2, [f"{BUILD}/jobs/cg", "--class", "W",
                           "--min-time", "5"]) as cg:
        wait_for("attached jobs", lambda: attached(agent, (ep, cg)))
        times = []
        for round_ in range(KILLS):
            # A different distance from the last decision in each round.
            time.sleep(0.07 * round_)
            agent.kill()
            start = time.monotonic()
            agent.start()
            wait_for("attached jobs after a restart",
                     lambda: attached(agent, (ep, cg)))
            times.append(time.monotonic() - start)
        agent.kill()
        assert ep.wait() == 0, ep.text()
        assert cg.wait() == 0, cg.text()
        assert "PASS" in ep.text() and "PASS" in cg.text()
        print("all jobs attached again after " +
              ", ".join(f"{1000 * t:.0f} ms" for t in times))


main()
