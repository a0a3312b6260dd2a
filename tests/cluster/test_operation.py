#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What administrators do to a cluster while co-scheduled jobs run: options per
partition, slurmctld and slurmd restarted, a node that is full."""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import cpu_list, wait_for
from coschedcluster import Cluster, need_cluster


def option(c, name):
    reply = json.loads(c.call("coschedctl", "config", "--json"))
    for entry in reply["options"]:
        if entry["name"] == name:
            return entry["value"], entry["from"]
    raise AssertionError(f"no option {name}")


def check_partitions(c):
    """Slurm takes our entries for partitions, and the agent finds its own."""
    path = f"{c.root}/etc/extra.conf"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    wait_for("options", lambda: option(c, "policy") ==
             ("corun", "slurm.conf"))
    entries = ("cosched_policy=corun,cosched_policy@cosched=equal,"
               "cosched_slice@nowhere=9s,cosched_lease=3x")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("cosched_policy=corun", entries))
    c.call("scontrol", "reconfigure")
    assert entries in c.call("scontrol", "show", "config")
    wait_for("override", lambda: option(c, "policy") ==
             ("equal", "slurm.conf, partition cosched"))
    assert option(c, "slice") == ("2s", "default")
    problems = json.loads(c.call("coschedctl", "config", "--json"))["problems"]
    assert "cosched_slice@nowhere: no such partition" in problems, problems
    assert "cosched_lease=3x" in problems, problems
    assert c.log().count("without effect") == 1, c.log()
    for name in ("slurmctld.log", "slurmd-n1.log"):
        with open(f"{c.root}/log/{name}", encoding="utf-8",
                  errors="replace") as log:
            assert "cosched_" not in log.read(), name
    # From a partition that is made while all runs.
    c.call("scontrol", "create", "PartitionName=nowhere", "Nodes=n1")
    wait_for("the new partition", lambda: option(c, "slice") ==
             ("9s", "slurm.conf, partition nowhere"))
    c.call("scontrol", "delete", "PartitionName=nowhere")
    wait_for("its end", lambda: option(c, "slice") == ("2s", "default"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    c.call("scontrol", "reconfigure")
    wait_for("options", lambda: option(c, "policy") ==
             ("corun", "slurm.conf"))


def reason(c, job):
    return c.call("squeue", "-h", "-j", str(job), "-o", "%T %r").strip()


def check_full(c):
    """OverSubscribe=FORCE:4: the fifth waits in the queue, not on the node."""
    jobs = [c.sbatch("--coschedule", "--wrap", "exec sleep 1000")
            for _ in range(5)]
    wait_for("four jobs", lambda: set(c.status()) == set(jobs[:4]), 60)
    wait_for("the fifth to wait",
             lambda: reason(c, jobs[4]) == "PENDING Resources", 60)
    assert jobs[4] not in c.status()
    c.call("scancel", str(jobs[0]))
    wait_for("the fifth", lambda: set(c.status()) == set(jobs[1:]), 60)
    c.call("scancel", *map(str, jobs[1:]))
    c.wait_end(*jobs)
    wait_for("an empty node", lambda: not c.status(), 60)


def pid_of(c, name):
    with open(f"{c.root}/run/{name}.pid", encoding="ascii") as file:
        return int(file.read())


def gone(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            return not cmdline.read()
    except OSError:
        return True


def start(c, *command):
    subprocess.run(command, env=c.env, check=True, stdin=subprocess.DEVNULL)


def check_restarts(c):
    """slurmctld ends, slurmd is killed, and both come back: the jobs keep
    running on their cores, and all of them are accounted for.  (A slurmctld
    that is killed forgets the jobs of its last seconds, with or without us.)"""
    flag = os.path.join(c.output, "end")
    jobs = [c.sbatch("--coschedule", "--wrap",
                     f"until [ -e {flag} ]; do {c.program('ep')} --class S "
                     ">/dev/null; done; echo DONE") for _ in range(2)]

    def divided():
        status = c.status()
        sets = [cpu_list(status[j]["cpus"]) for j in jobs if j in status]
        return len(sets) == 2 and all(sets) and sets[0].isdisjoint(sets[1])

    several = len(os.sched_getaffinity(0)) > 1
    wait_for("both jobs", (lambda: divided()) if several else
             lambda: set(jobs) <= set(c.status()), 60)
    for name, number in (("slurmctld", signal.SIGTERM),
                         ("slurmd-n1", signal.SIGKILL)):
        pid = pid_of(c, name)
        os.kill(pid, number)
        wait_for(f"end of {name}", lambda p=pid: gone(p), 60)
    # libslurm tries for long before it gives up, and the helper may be about
    # to write records of the jobs before.  It asks seldom, unless a file changes.
    os.utime(f"{c.root}/etc/extra.conf")
    wait_for("news of the absence",
             lambda: c.run("coschedctl", "health").returncode == 1, 180)
    assert "slurmctld does not answer" in c.run("coschedctl", "health").stdout
    if several:
        wait_for("cores while Slurm is away", divided, 60)
    start(c, "slurmctld")
    start(c, "slurmd", "-N", "n1")
    wait_for("slurmctld", lambda: c.run("scontrol", "ping").returncode == 0, 60)
    wait_for("the node", lambda: c.call(
        "sinfo", "-hN", "-n", "n1", "-o", "%t").split()[0] in ("mix", "alloc"),
        60)
    wait_for("health", lambda: c.run("coschedctl", "health").returncode == 0,
             180)
    if several:
        wait_for("cores after that", divided, 60)
    third = c.sbatch("--coschedule", "--wrap", "echo DONE")
    c.wait_end(third)
    with open(flag, "w", encoding="ascii"):
        pass
    c.wait_end(*jobs)
    for job in (*jobs, third):
        wait_for("output", lambda j=job: "DONE" in c.text(j), 60)
        c.wait_state(job, "COMPLETED")
    wait_for("an empty node", lambda: not c.status(), 60)
    return jobs[0]


def main():
    need_cluster()
    with Cluster() as c:
        check_partitions(c)
        check_full(c)
        job = check_restarts(c)
        assert c.wait_final(job).startswith("cosched/1 "), c.comment(job)
        assert c.run("coschedctl", "health").returncode == 0


main()
