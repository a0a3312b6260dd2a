#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Jobs on several nodes, and out-of-memory as control groups see it (part of
make check-slurm)."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import allowed_cpus, skip, wait_for
from coschedcluster import Cluster, need_cluster
from ends import (HOG, cpus, ended, freed, long_run, said, share, submit)

CGROUP = """CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainCores=yes
ConstrainRAMSpace=yes
"""


def check_nodes(c):
    """Each node decides for itself; the record is the first one's."""
    other = submit(c, "--wrap", long_run(c))
    freed(c, other)
    job = c.sbatch("--coschedule", "--nodes=2", "--wrap",
                   f"srun -n2 {long_run(c, 'cg')}")
    wait_for("both nodes' processes", lambda: all(
        c.status(node).get(job, {}).get("attached") == 1
        for node in ("n1", "n2")), 60, 0.1)
    share(c, job, other)
    freed(c, job, "n2")
    c.call("scancel", str(job))
    c.wait_end(job)
    freed(c, other)
    wait_for("its end on the second node",
             lambda: f"job {job} ended:" in c.log("n2"), 60, 0.1)
    c.call("scancel", str(other))
    c.wait_end(other)
    record = [line.split(f"job {job} ended: ")[1]
              for line in c.log().splitlines() if f"job {job} ended: " in line]
    assert len(record) == 1, record
    assert c.wait_final(job) == record[0], (c.comment(job), record)


def check_tasks(c):
    """Several nodes only for those who ask, or whose tasks need them."""
    cpus_of_node = len(allowed_cpus())
    for options, nodes in (([], 1), ([f"-n{cpus_of_node}"], 1),
                           ([f"-n{cpus_of_node + 1}"], 2), (["-N2"], 2)):
        job = c.sbatch("--coschedule", *options, "--wrap",
                       "srun -l true; echo nodes=$SLURM_NNODES")
        said(c, job, f"nodes={nodes}\n")
        ended(c, job, "COMPLETED", "0:0")


def check_out_of_memory(c):
    """The kernel ends what takes more than its job's memory; Slurm says so, and
    the cores go to the other."""
    etc = f"{c.root}/etc"
    with open(f"{etc}/cgroup.conf", "w", encoding="ascii") as file:
        file.write(CGROUP)
    with open(f"{etc}/extra.conf", encoding="utf-8") as file:
        text = file.read()
    with open(f"{etc}/extra.conf", "w", encoding="utf-8") as file:
        file.write(text.replace("task/affinity", "task/affinity,task/cgroup")
                   .replace("proctrack/linuxproc", "proctrack/cgroup"))
    c.restart()
    other = submit(c, "--wrap", long_run(c))
    freed(c, other)
    hog = os.path.join(c.output, "hog.py")
    with open(hog, "w", encoding="ascii") as file:
        file.write(HOG)
    job = submit(c, "--mem=100", "--wrap", f"python3 {hog}")
    ended(c, job, "OUT_OF_MEMORY", "0:125")
    freed(c, other)
    said(c, job, "oom-kill")
    second = submit(c, "--wrap", long_run(c, "cg"))
    share(c, other, second)
    c.call("scancel", str(other), str(second))
    c.wait_end(other, second)


def main():
    need_cluster()
    if len(allowed_cpus()) < 2:
        skip("one CPU cannot be shared in space")
    with Cluster(nodes=2) as c:
        check_nodes(c)
        check_tasks(c)
    if os.path.isdir("/sys/fs/cgroup/memory"):
        with Cluster() as c:
            check_out_of_memory(c)
    else:
        print("left out: out-of-memory: no memory controller of version 1")


main()
