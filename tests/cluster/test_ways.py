#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Slurm as sites use it: GPUs, reservations, arrays of 1,000, preemption by requeueing, gang
scheduling, select/linear, configless nodes (part of make check-slurm; the table in
docs/operate.md)."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import allowed_cpus, skip, wait_for
from coschedcluster import Cluster, need_cluster
from ends import cpus, long_run, share, submit

GPUS = ("/dev/zero", "/dev/full")
GRES = "".join(f"NodeName=n[1-2] Name=gpu File={path}\n" for path in GPUS)
URGENT = "PartitionName=urgent Nodes=ALL PriorityTier=10 DefMemPerNode=50 OverSubscribe=NO\n"


def edit(c, name, *pairs):
    """Replace in a file of the configuration; a pattern that is not there is an error."""
    text = read(c, name)
    for old, new in pairs:
        assert re.search(old, text, re.M), (old, text)
        text = re.sub(old, new, text, flags=re.M)
    with open(f"{c.root}/etc/{name}", "w", encoding="utf-8") as file:
        file.write(text)


def read(c, name):
    with open(f"{c.root}/etc/{name}", encoding="utf-8") as file:
        return file.read()


def shown(c, job):
    words = c.call("scontrol", "-o", "-d", "show", "job", str(job)).split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def in_state(c, job, *states):
    wait_for(f"job {job} as {states}", lambda: shown(c, job)["JobState"] in states, 120, 0.1)


def cancel(c, *jobs):
    c.call("scancel", *map(str, jobs))
    c.wait_end(*jobs)


def pair(c, *options, node="n1"):
    """Two jobs that share NODE's cores."""
    jobs = [submit(c, "--mem=50", *options, "--wrap", long_run(c, name), node=node)
            for name in ("ep", "cg")]
    if node == "n1":
        share(c, *jobs)
    else:
        wait_for("both on the node", lambda: set(jobs) <= set(c.status(node)), 120, 0.1)
    return jobs


def check_gpus(c):
    """Each job keeps its GPU, and cores are shared; a third one waits for a GPU."""
    jobs = pair(c, "--gres=gpu:1")
    found = [re.search(r"gpu.*\(IDX:(\d)\)", shown(c, job)["GRES"])[1] for job in jobs]
    assert sorted(found) == ["0", "1"], found
    third = submit(c, "--mem=50", "--gres=gpu:1", "--wrap=true")
    wait_for("a job that waits for a GPU",
             lambda: shown(c, third)["Reason"] in ("Resources", "Priority"), 60, 0.1)
    cancel(c, jobs[0])
    c.wait_end(third)
    cancel(c, jobs[1])
    # With node_cpus a job that asks for none leaves them to others.
    path = f"{c.root}/etc/job_submit.lua"
    edit(c, "job_submit.lua", ("node_cpus = nil", f"node_cpus = {len(allowed_cpus())}"))
    os.utime(path, (os.stat(path).st_mtime + 2,) * 2)
    jobs = [*pair(c), submit(c, "--mem=50", "--gres=gpu:2", "--wrap=sleep 300")]
    wait_for("all three on the node", lambda: set(jobs) <= set(c.status()), 120, 0.1)
    cancel(c, *jobs)


def check_reservation(c):
    """Jobs of the reservation share its node; others stay out."""
    c.call("scontrol", "create", "reservation", "reservationname=r", "users=root", "nodes=n2",
           "starttime=now", "duration=60")
    other = submit(c, "--mem=50", "--wrap=true", node="n2")
    jobs = pair(c, "--reservation=r", node="n2")
    in_state(c, other, "PENDING")
    cancel(c, *jobs, other)
    c.call("scontrol", "delete", "reservationname=r")


def check_array(c):
    """1,000 tasks: one submission, each a job of its own to the agent, four of a node at most."""
    array = submit(c, "--array=1-1000", "--mem=50", "--wrap", "sleep 1")
    assert shown(c, array)["ArrayTaskId"].startswith("1-1000"), shown(c, array)
    seen, most = set(), 0

    def enough():
        nonlocal most
        now = set(c.status())
        seen.update(now)
        most = max(most, len(now))
        return len(seen) >= 12
    wait_for("a dozen tasks", enough, 180, 0.05)
    assert most <= 5, most      # one of them has just ended
    cancel(c, array)
    wait_for("no job in the agent", lambda: not c.status(), 60, 0.1)


def check_requeue(c):
    """A more urgent job has the node to itself; those that it displaced share it again."""
    jobs = pair(c)
    urgent = c.sbatch("--partition=urgent", "--nodelist=n1", "--exclusive", "--wrap=sleep 300")
    in_state(c, urgent, "RUNNING")
    wait_for("no job in the agent", lambda: not c.status(), 60, 0.1)
    for job in jobs:
        assert shown(c, job)["JobState"] == "PENDING", shown(c, job)
    cancel(c, urgent)
    for job in jobs:    # Slurm holds them back for a while after a requeue
        c.run("scontrol", "update", f"jobid={job}", "starttime=now")
    wait_for("both jobs in the agent", lambda: set(jobs) <= set(c.status()), 240, 0.2)
    share(c, *jobs)
    assert {shown(c, job)["Restarts"] for job in jobs} == {"1"}
    cancel(c, *jobs)


def check_gang(c):
    """Slurm's gang scheduling suspends them in turn: who runs has all cores, and nobody starves."""
    jobs = [submit(c, "--mem=50", "--wrap", long_run(c, name)) for name in ("ep", "cg")]
    for job, other in (jobs, jobs[::-1]):
        def turn(job=job, other=other):
            now = c.status()
            return {job, other} <= set(now) and now[other]["state"] == "suspended" and \
                now[job]["state"] != "suspended" and cpus(c, job) == set(allowed_cpus())
        wait_for(f"the turn of job {job}", turn, 120, 0.1)
    # A more urgent job suspends neither: it waits for both.
    urgent = c.sbatch("--partition=urgent", "--nodelist=n1", "--mem=50", "--wrap=sleep 300")
    wait_for("the urgent job's reason", lambda: shown(c, urgent)["Reason"] == "Resources", 60, 0.1)
    for job in (*jobs, *jobs):
        wait_for(f"the turn of job {job}", lambda job=job: c.status().get(job, {}).get(
            "state") not in (None, "suspended"), 120, 0.1)
        in_state(c, urgent, "PENDING")
    cancel(c, *jobs)
    in_state(c, urgent, "RUNNING")
    cancel(c, urgent)


def check_linear(c):
    """Whole nodes are shared all the same, as the partition says."""
    cancel(c, *pair(c))


def check_configless(c):
    """slurmd has its files from slurmctld, the plugin's line among them.  In a file system of its
    own, as slurmd leaves a link to them in /run/slurm."""
    edit(c, "slurm.conf", ("^PlugStackConfig=.*", "SlurmctldParameters=enable_configless"))
    port = re.search("^SlurmctldPort=(.*)", read(c, "slurm.conf"), re.M)[1]
    c.restart()
    pid = int(read(c, "../run/slurmd-n1.pid"))
    os.kill(pid, 15)
    wait_for("end of slurmd", lambda: not os.path.exists(f"{c.root}/run/slurmd-n1.pid"))
    env = {key: value for key, value in c.env.items() if key != "SLURM_CONF"}
    subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /run && mkdir /run/munge && "
                    f"ln -s {c.root}/run/munge.sock /run/munge/munge.socket.2 && exec slurmd -N n1 "
                    f"--conf-server 127.0.0.1:{port}"], env=env, check=True)
    wait_for("its configuration", lambda: os.path.exists(
        f"{c.root}/spool/n1/conf-cache/plugstack.conf"), 60, 0.1)
    wait_for("the node", lambda: "idle" in c.call("sinfo", "-hN", "-n", "n1", "-o", "%T"), 60, 0.1)
    cancel(c, *pair(c))


def check_preemption(c):
    edit(c, "extra.conf", (r"\Z", URGENT + "PreemptType=preempt/partition_prio\n"
                           "PreemptMode=REQUEUE\nGresTypes=gpu\nJobRequeue=1\n"))
    edit(c, "slurm.conf", ("^NodeName=.*", r"\g<0> Gres=gpu:2"))
    with open(f"{c.root}/etc/gres.conf", "w", encoding="ascii") as file:
        file.write(GRES)
    c.restart()
    for check in (check_gpus, check_reservation, check_array, check_requeue):
        check(c)
        print(check.__name__, "passed", flush=True)


def main():
    need_cluster()
    if len(allowed_cpus()) < 2:
        skip("one CPU cannot be shared in space")
    with Cluster(nodes=2) as c:
        check_preemption(c)
        edit(c, "extra.conf", ("^PreemptMode=REQUEUE", "PreemptMode=SUSPEND,GANG"),
             (r"\Z", "SchedulerTimeSlice=5\n"))
        c.restart()
        check_gang(c)
        print("check_gang passed", flush=True)
        edit(c, "extra.conf", ("^PreemptMode=.*", "PreemptMode=OFF"), ("^PreemptType=.*", ""),
             ("cons_tres", "linear"), ("CR_Core_Memory", "CR_Memory"))
        c.restart()
        check_linear(c)
        print("check_linear passed", flush=True)
        check_configless(c)
        print("check_configless passed", flush=True)


if __name__ == "__main__":
    main()
