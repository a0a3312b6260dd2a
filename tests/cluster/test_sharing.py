#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Slurm jobs on one node have disjoint CPUs: OpenMP programs that follow by
themselves, one that must be held, and more jobs than cores."""

import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import (Agent, BUILD, allowed_cpus, cpu_list, skip, threads,
                         wait_for)
from coschedcluster import Cluster, need_cluster

EP, CG, PINNED = (f"{BUILD}/jobs/{name}" for name in ("ep", "cg", "pinned"))
SAMPLES = 20        # of all threads of both jobs, at least
SETTLED_S = 0.02    # samples this soon after a change are left out
SHARE_ON_OWN = 0.99


class AgentView(Agent):
    """The cluster's agent, asked without starting a program each time."""

    def __init__(self, cluster):
        self.socket = f"{cluster.root}/run/coschedd-n1.sock"

    def entries(self):
        return {job["job"]: job for job in self.status()["jobs"]}


def may_run_on(pid):
    """The CPUs that each thread of PID is allowed."""
    allowed = []
    for path in glob.glob(f"/proc/{pid}/task/*"):
        try:
            allowed.append(os.sched_getaffinity(int(path.split("/")[-1])))
        except OSError:
            continue
    return allowed


def cpu_sets(view, jobs):
    """{job: CPUs}, disjoint by assertion, or None unless all JOBS have some."""
    entries = view.entries()
    sets = {job: cpu_list(entries[job]["cpus"]) for job in entries}
    assert sum(map(len, sets.values())) == len(set().union(*sets.values())), \
        f"CPU sets overlap: {sets}"
    if not all(sets.get(job) for job in jobs):
        return None
    return {job: sets[job] for job in jobs}


def check_disjoint(c, view):
    """Two unmodified OpenMP programs: CPU sets are disjoint at every instant,
    runnable threads are on their own job's CPUs."""
    jobs = c.together(*(f"{program} --class W --min-time 15"
                        for program in (EP, CG)))
    wait_for("two attached jobs", lambda: all(
        view.entries().get(job, {}).get("attached") for job in jobs), 60)
    pids = [c.programs(name)[job][0] for name, job in zip(("ep", "cg"), jobs)]
    own = elsewhere = samples = changes = 0
    last, since = None, 0
    while all(os.path.exists(f"/proc/{pid}") for pid in pids):
        before = cpu_sets(view, jobs)
        if before != last:
            last, since, changes = before, time.monotonic(), changes + 1
        if before is None or time.monotonic() - since < SETTLED_S:
            continue
        seen = [(job, cpu) for job, pid in zip(jobs, pids)
                for _, state, cpu in threads(pid) if state == "R"]
        if cpu_sets(view, jobs) != before:
            continue
        on_own = sum(cpu in before[job] for job, cpu in seen)
        own, elsewhere = own + on_own, elsewhere + len(seen) - on_own
        samples += 1
        time.sleep(0.005)
    c.wait_end(*jobs)
    for job in jobs:
        wait_for("output", lambda j=job: "PASS" in c.text(j))
    share = own / (own + elsewhere)
    print(f"{own + elsewhere} runnable threads in {samples} samples, "
          f"{100 * share:.2f} % on their own job's CPUs; "
          f"{changes} changes of CPU sets")
    assert samples >= SAMPLES and own > samples, (samples, own)
    assert share >= SHARE_ON_OWN, share


def check_pinned(c, view):
    """A program that knows nothing of us, started in steps: each of its threads
    may only run on its job's CPUs, also in a step that begins later."""
    ours = c.sbatch("--coschedule", "--wrap", f"{EP} --class W --min-time 300")
    held = c.sbatch("--coschedule", "--wrap",
                    f"srun {PINNED} --class W --min-time 300; "
                    f"srun {PINNED} --class W --min-time 300")

    def is_held(pid):
        sets = cpu_sets(view, (ours, held))
        allowed = may_run_on(pid)
        return sets and view.entries()[held]["state"] == "pinned" and \
            len(allowed) > 1 and all(cpus <= sets[held] for cpus in allowed)

    first = wait_for("a process of the first step", lambda: c.programs(
        "pinned").get(held), 60, 0.05)[0]
    wait_for("first step pinned to its share", lambda: is_held(first), 60)
    c.call("scancel", f"{held}.0")
    second = wait_for("a process of the second step", lambda: [
        pid for pid in c.programs("pinned").get(held, []) if pid != first], 60,
        0.05)[0]
    wait_for("second step pinned to its share", lambda: is_held(second), 60)
    c.call("scancel", str(ours))
    c.wait_end(ours)
    everything = set(allowed_cpus())
    wait_for("all CPUs for the job that is left", lambda: all(
        cpus == everything for cpus in may_run_on(second)))
    c.call("scancel", str(held))
    c.wait_end(held)


def check_suspend(c, view):
    """The CPUs of a job that Slurm suspends are the other's until it resumes."""
    jobs = [c.sbatch("--coschedule", "--wrap", f"{program} --class W "
                     "--min-time 300") for program in (EP, CG)]
    everything = set(allowed_cpus())

    def shares():
        return [cpu_list(view.entries().get(job, {}).get("cpus", ""))
                for job in jobs]

    wait_for("both jobs' CPUs", lambda: all(shares()), 60)
    c.call("scontrol", "suspend", str(jobs[0]))
    wait_for("all CPUs for the other", lambda: shares() == [set(), everything])
    assert view.entries()[jobs[0]]["state"] == "suspended"
    c.call("scontrol", "resume", str(jobs[0]))
    wait_for("CPUs for both", lambda: all(shares()))
    # The one that goes on first has to come back from its stop.
    c.call("scontrol", "suspend", str(jobs[1]))
    wait_for("all CPUs for the first", lambda: shares() == [everything, set()])
    c.call("scancel", *map(str, jobs))
    c.wait_end(*jobs)


def check_turns(c, view):
    """More jobs than cores: they take turns, and all finish."""
    count = len(allowed_cpus()) + 1
    jobs = c.together(*count * [f"{EP} --class W --min-time 8"])
    wait_for("a parked job", lambda: any(
        job["state"] == "parked" for job in view.entries().values()), 60)
    cpu_sets(view, ())
    c.wait_end(*jobs)
    for job in jobs:
        wait_for("output", lambda j=job: "PASS" in c.text(j))
        c.wait_state(job, "COMPLETED")


def main():
    need_cluster()
    if len(allowed_cpus()) < 2:
        skip("one CPU cannot be shared in space")
    with Cluster() as c:
        view = AgentView(c)
        check_disjoint(c, view)
        check_pinned(c, view)
        check_suspend(c, view)
        # The partition takes 4 jobs per node.
        if len(allowed_cpus()) < 4:
            check_turns(c, view)


main()
