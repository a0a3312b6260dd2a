#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What Slurm suspends while it waits for its turn stays suspended through the turns of
the others, and when the agent is killed; when Slurm resumes it, all end."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedcluster import Cluster, need_cluster
from coschedtest import allowed_cpus, skip, wait_for

JOBS = 4 # as many as the partition takes per node


def state(pid):
    """T when it is stopped."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def states(c):
    return {job: entry["state"] for job, entry in c.status().items()}


def check_turns(c, victim, pid):
    """VICTIM stays stopped while each other job has a turn, and one without."""
    seen = set()

    def all_seen():
        assert state(pid) == "T", (state(pid), states(c))
        seen.update((job, entry == "parked") for job, entry in states(c).items()
                    if job != victim)
        return len(seen) == 2 * (JOBS - 1)
    wait_for("turns of the others", all_seen, 180, 0.05)


def check(c):
    go = f"{c.output}/go"
    jobs = c.together(*JOBS * [f"until [ -e {go} ]; do {c.program('ep')} --class S "
                               "--min-time 2 || exit 1; done; echo end"])
    wait_for("turns", lambda: "parked" in states(c).values(), 120, 0.05)

    def parked():
        programs = c.programs("ep")
        return next(((job, programs[job][0]) for job, entry in states(c).items()
                     if entry == "parked" and len(programs.get(job, ())) == 1), None)
    victim, _ = wait_for("a parked job with a program", parked, 120, 0.05)
    c.call("scontrol", "suspend", str(victim))
    wait_for("its suspension",
             lambda: states(c)[victim] == "suspended" and
             all(state(p) == "T" for p in c.programs("ep").get(victim, [0])), 120, 0.05)
    pid = c.programs("ep")[victim][0]
    check_turns(c, victim, pid)
    c.crash_agent()
    c.agent("start")
    wait_for("the others' turns", lambda: "parked" in [
        entry for job, entry in states(c).items() if job != victim], 120, 0.05)
    check_turns(c, victim, pid)
    c.call("scontrol", "resume", str(victim))
    wait_for("its resumption", lambda: state(pid) != "T", 120, 0.05)
    open(go, "w", encoding="ascii").close()
    c.wait_end(*jobs)
    for job in jobs:
        wait_for("output", lambda j=job: "\nend" in c.text(j))
        c.wait_state(job, "COMPLETED")


def main():
    need_cluster()
    if not 2 <= len(allowed_cpus()) < JOBS - 1:
        skip(f"{JOBS} jobs take turns on 2 CPUs")
    with Cluster() as c:
        check(c)


main()
