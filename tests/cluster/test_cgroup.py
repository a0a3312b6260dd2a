#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Enforcement by cpuset cgroup together with task/cgroup, ConstrainCores and
ConstrainRAMSpace: nothing gets out, new steps are held at once, slurmstepd is
left alone, memory stays bounded, and nothing is left behind."""

import fcntl
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import BUILD, allowed_cpus, cpu_list, skip, threads, wait_for
from coschedcluster import Cluster, need_cluster
from slurmtree import cpuset_mount, place

ALL = set(allowed_cpus())

# Two threads that set their affinity to all CPUs, all the time.
ESCAPE = f"""#!{sys.executable}
import ctypes, os, sys, threading
os.nice(-15) # what is held is what is busy, also on a busy machine
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
def escape():
    while True:
        try:
            os.sched_setaffinity(0, range(os.cpu_count()))
        except OSError: # EINVAL while its cpuset is being changed
            pass
threading.Thread(target=escape).start()
escape()
"""


def masks(pid):
    """The CPUs that each thread of PID may use."""
    found = []
    for tid, _, _ in threads(pid):
        try:
            found.append(os.sched_getaffinity(tid))
        except ProcessLookupError:
            pass
    return found


def program_of(c, job, name):
    """The process NAME of JOB."""
    return (c.programs(name).get(job) or [None])[0]


def contained(c, job, name):
    """True when job has part of the CPUs, and its program NAME only these."""
    pid = program_of(c, job, name)
    cpus = cpu_list(c.status().get(job, {}).get("cpus", ""))
    if not pid or not cpus or cpus == ALL:
        return False
    for _ in range(100):
        found = masks(pid)
        if len(found) < 2 or any(not mask <= cpus for mask in found):
            return False
    return True


def free(c, job, name):
    pid = program_of(c, job, name)
    found = masks(pid) if pid else []
    return found and all(mask == ALL for mask in found)


def stepds():
    """Pids of the slurmstepd processes of this host."""
    done = subprocess.run(["pgrep", "-x", "slurmstepd"], check=False,
                          capture_output=True, text=True)
    return [int(pid) for pid in done.stdout.split()]


def is_ours(c, pid):
    """Has it a file of this cluster open (slurmd's log)?"""
    folder = f"/proc/{pid}/fd"
    return any(os.readlink(f"{folder}/{fd}").startswith(f"{c.root}/")
               for fd in os.listdir(folder))


def check_stepds(c):
    """All have their CPUs, in Slurm's own cgroups."""
    count = 0
    for pid in stepds():
        try:
            if not is_ours(c, pid):
                continue
            assert os.sched_getaffinity(pid) == ALL, pid
            assert "cosched" not in place(pid), place(pid)
            count += 1
        except (FileNotFoundError, ProcessLookupError):
            pass # has just ended
    assert count


def submit(c, number, script, *arguments):
    return c.sbatch("--coschedule", *arguments, "--wrap",
                    script.format(escape=f"{c.directory}/escape",
                                  out=c.output, n=number, ep=f"{BUILD}/jobs/ep"))


def check_hold(c):
    """Two jobs: one in its batch script, one in a step, and then a new step."""
    first = submit(c, 1, "{escape} escape1")
    # In Slurm 20.11 a step without --mem has all of the job's, and no other one begins.
    second = submit(c, 2, "step='srun --overlap --mem=100 -n1'; $step {escape} escape2 & "
                          "until [ -e {out}/go ]; do sleep 0.1; done; $step {escape} escape3")
    wait_for("hold of both", lambda: contained(c, first, "escape1") and
             contained(c, second, "escape2"), 60)
    check_stepds(c)
    if not cpuset_mount()[0]: # version 1
        for job, name in ((first, "escape1"), (second, "escape2")):
            assert "/cosched-n1:step_" in place(program_of(c, job, name))
    open(f"{c.output}/go", "w", encoding="ascii").close()
    wait_for("hold of the new step", lambda: contained(c, second, "escape3"), 60)
    # Slurm has written its cpusets anew for that step.
    wait_for("hold of the others", lambda: contained(c, second, "escape2") and
             contained(c, first, "escape1"))
    check_stepds(c)
    return first, second


def check_crash(c, jobs):
    c.crash_agent()
    wait_for("release", lambda: free(c, jobs[0], "escape1") and
             free(c, jobs[1], "escape2"))
    for name in ("escape1", "escape2"):
        job = jobs[0] if name == "escape1" else jobs[1]
        assert "cosched" not in place(program_of(c, job, name))
    c.agent("start")
    wait_for("hold again", lambda: contained(c, jobs[0], "escape1") and
             contained(c, jobs[1], "escape2"))


def check_memory(c):
    """Out of memory is out of memory, also for a job in a cpuset of ours."""
    eat = ("import os; [0 for i in range(10**7)]; x = bytearray(400 << 20); "
           "print(len(x))")
    job = c.sbatch("--coschedule", "--mem=100M", "--wrap",
                   f"{sys.executable} -c '{eat}'")
    c.wait_end(job)
    wait_for("state", lambda: c.state(job) == "OUT_OF_MEMORY", 60, 0.2)


def check_cooperative(c, other):
    """A program that follows by itself, beside one that is held."""
    job = submit(c, 4, "{ep} --class W --min-time 300")
    wait_for("attach", lambda: c.attached(job), 60)
    wait_for("disjoint CPUs", lambda: contained(c, other, "escape1") and
             contained(c, job, "ep"), 60)
    status = c.status()
    assert cpu_list(status[job]["cpus"]).isdisjoint(
        cpu_list(status[other]["cpus"])), status
    c.call("scancel", str(job))
    c.wait_end(job)


def cgroup_of_node(path):
    """The cgroup that Slurm has made for this node, above that at PATH.  Other clusters
    on the host have nodes of that name."""
    for name in ("slurm_n1", "n1_slurmstepd.scope"):
        above, found, _ = path.partition(f"/{name}/")
        if found:
            return f"{above}/{name}"
    raise AssertionError(path)


def cgroups(node, what):
    """Cgroups below NODE, and itself, with WHAT in their path."""
    return [path for path, _, _ in os.walk(node) if what in path]


def set_enforcement(c, value):
    path = f"{c.root}/etc/extra.conf"
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            if line.startswith("SchedulerParameters="):
                line = line.split(",cosched_enforcement")[0]
                line += f",cosched_enforcement={value}"
            file.write(line + "\n")
    c.call("scontrol", "reconfigure")

    def known():
        return f"enforcement {value}" in " ".join(
            c.call("coschedctl", "config").replace("=", " ").split())
    wait_for(f"enforcement={value}", known, 60, 0.1)


def main():
    need_cluster()
    if len(ALL) < 2 or not cpuset_mount():
        skip("needs two CPUs and cpuset cgroups")
    # Cgroups have the nodes' names: one such cluster of a host at a time.
    with open("/tmp/cosched-test.cgroup.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Cluster(cgroup=True) as c:
            node = check(c)
        assert not cgroups(node, "")


def check(c):
    """Its node's cgroup, in which nothing is left of the jobs."""
    escape = f"{c.directory}/escape"
    with open(escape, "w", encoding="ascii") as file:
        file.write(ESCAPE)
    os.chmod(escape, 0o755)
    set_enforcement(c, "cpuset")
    first, second = check_hold(c)
    node = cgroup_of_node(place(program_of(c, first, "escape1")))
    check_crash(c, (first, second))
    c.call("scancel", str(second))
    c.wait_end(second)
    wait_for("all CPUs", lambda: free(c, first, "escape1"))
    check_cooperative(c, first)
    check_memory(c)
    # Back to affinity while it runs.
    set_enforcement(c, "affinity")
    wait_for("move back", lambda: "cosched" not in
             place(program_of(c, first, "escape1")))
    c.call("scancel", str(first))
    c.wait_end(first)
    assert "warning: job" not in c.log(), c.log()
    wait_for("removal of all cgroups", lambda: not cgroups(node, "/job_"))
    return node


main()
