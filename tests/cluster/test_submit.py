#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""How jobs get to the shared partition, and who is kept out: what each refusal
says, the shape of what is let in, memory, and a broken job_submit.lua."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import allowed_cpus, wait_for
from coschedcluster import Cluster, NOBODY, need_cluster

# What is typed after the command, and what the message must say.
REFUSED = (
    (["--coschedule=bogus"], ["--coschedule=bogus", "nupoco, greedy, equal",
                              "ults, min_cores, max_cores, weight, report"]),
    (["--coschedule=policy=bogus"], ["policy=bogus", "nupoco, greedy, equal"]),
    (["--coschedule=ults=65"], ["ults=65", "1 to 64"]),
    (["--coschedule=equal,policy=greedy"], ["policy is given twice"]),
    (["--coschedule=min_cores=3,max_cores=2"], ["min_cores=3", "max_cores=2"]),
    (["--partition=cosched"], ["partition cosched", "add --coschedule"]),
    (["--partition=normal,cosched"], ["partition cosched", "add --coschedule"]),
    (["--coschedule", "--partition=normal"],
     ["run in partition cosched, not in normal", "leave --partition"]),
    (["--coschedule", "--partition=cosched,normal"],
     ["run in partition cosched, not in cosched,normal"]),
    (["--coschedule", "--exclusive"], ["--exclusive does not"]),
    (["--coschedule", "--mem=0"], ["--mem=0", "say how much"]),
)
COMMANDS = (("sbatch", ["--wrap=true"]), ("srun", ["true"]),
            ("salloc", ["true"]))


def refused(c, command, *words):
    """COMMAND must fail without submitting anything, and say WORDS."""
    done = c.run(*command, timeout=300)
    assert done.returncode != 0, (command, done.stdout)
    for word in words:
        assert word in done.stderr, (command, word, done.stderr)
    assert c.call("squeue", "-h") == "", command


def check_refusals(c):
    for options, words in REFUSED:
        for command, what in COMMANDS:
            refused(c, [command, *options, *what], *words)
    script = os.path.join(c.output, "bogus.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n#SBATCH --coschedule=bogus\ntrue\n")
    refused(c, ["sbatch", script], "--coschedule=bogus", "nupoco")
    for parts in (["--coschedule", "-N1", ":", "-N1"],
                  ["-N1", ":", "--coschedule", "-N1"]):
        refused(c, ["sbatch", *parts, "--wrap=true"], "heterogeneous")
        refused(c, ["salloc", *parts, "true"], "heterogeneous")
        refused(c, ["srun", *parts, "true"], "heterogeneous")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n#SBATCH -N1 --coschedule\n#SBATCH hetjob\n"
                   "#SBATCH -N1\ntrue\n")
    refused(c, ["sbatch", script], "heterogeneous")
    check_environment(c)


def check_environment(c):
    """What the environment says wrong is told by the variable's name."""
    for name, value, words in (
            ("COSCHED_POLICY", "bogus", ["COSCHED_POLICY=bogus", "nupoco"]),
            ("COSCHED_MAX_CORES", "x", ["COSCHED_MAX_CORES=x", "1 to 1024"])):
        c.env[name] = value
        for command, what in COMMANDS:
            refused(c, [command, "--coschedule", *what], *words)
        c.wait_end(c.sbatch("--wrap=true"))    # other jobs do not care
        del c.env[name]


def check_default_of_users(c):
    """SBATCH_PARTITION as a default: of a shared partition it is well, of another it is named."""
    c.env["SBATCH_PARTITION"] = "cosched"
    job = c.sbatch("--coschedule", "--hold", "--wrap=true")
    assert shown(c, job)["Partition"] == "cosched"
    c.call("scancel", str(job))
    c.wait_end(job)
    refused(c, ["sbatch", "--wrap=true"], "add --coschedule")
    c.env["SBATCH_PARTITION"] = "normal"
    refused(c, ["sbatch", "--coschedule", "--wrap=true"],
            "not in normal (SBATCH_PARTITION=normal in the environment)")
    job = c.sbatch("--coschedule", "--partition=cosched", "--hold", "--wrap=true")
    c.call("scancel", str(job))
    c.wait_end(job)
    del c.env["SBATCH_PARTITION"]


def shown(c, job):
    """{key: value} of scontrol show job."""
    words = c.call("scontrol", "-o", "show", "job", str(job)).split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def partition(c, **settings):
    c.call("scontrol", "update", "partition=cosched",
           *(f"{k}={v}" for k, v in settings.items()))


def check_shape(c):
    """All CPUs of one node, shared, whatever the user asked beside."""
    default = c.call("scontrol", "-o", "show", "partition", "cosched")
    default = default.split("DefMemPerNode=")[1].split()[0]
    for options in ([], ["--oversubscribe"], ["-n1", "-c1"],
                    ["--partition=cosched"]):
        job = shown(c, c.sbatch("--hold", "--coschedule=equal", *options,
                                "--wrap=true"))
        assert job["Partition"] == "cosched", (options, job)
        assert job["MinMemoryNode"] == f"{default}M", (options, job)
        c.call("scontrol", "release", job["JobId"])
        c.wait_end(job["JobId"])
        job = shown(c, job["JobId"])
        assert job["NumCPUs"] == str(len(allowed_cpus())), (options, job)
        assert job["OverSubscribe"] == "YES", (options, job)
        assert job["NumNodes"] == "1", (options, job)


def running(c, *jobs):
    states = c.call("squeue", "-h", "-o", "%A %t").split()
    pairs = dict(zip(states[::2], states[1::2]))
    return all(pairs.get(str(job)) == "R" for job in jobs)


def check_memory(c):
    """Memory is a resource: two jobs share a node where it suffices."""
    total = int(c.call("sinfo", "-hN", "-n", "n1", "-o", "%m").split()[0])
    jobs = [c.sbatch("--coschedule", "--wrap=sleep 300") for _ in range(2)]
    wait_for("two jobs on one node", lambda: running(c, *jobs), 60, 0.1)
    jobs.append(c.sbatch("--coschedule", f"--mem={total * 7 // 10}",
                         "--wrap=sleep 300"))
    wait_for("a job that waits for memory", lambda: shown(c, jobs[2])[
        "Reason"] == "Resources", 60, 0.1)
    c.call("scancel", str(jobs[0]), str(jobs[1]))
    wait_for("its start", lambda: running(c, jobs[2]), 60, 0.1)
    c.call("scancel", str(jobs[2]))
    c.wait_end(*jobs)

    partition(c, DefMemPerNode=0)    # none, by Slurm's reckoning
    refused(c, ["sbatch", "--coschedule", "--wrap=true"], "--mem",
            "partition cosched has no default")
    c.wait_end(c.sbatch("--coschedule", "--mem=100", "--wrap=true"))
    partition(c, DefMemPerNode=100)


def check_default_partition(c):
    """A job that names no partition is kept out as well."""
    partition(c, Default="YES")
    refused(c, ["sbatch", "--wrap=true"], "add --coschedule")
    partition(c, Default="NO")
    c.call("scontrol", "update", "partition=normal", "Default=YES")


def check_modify(c):
    """Its owner does not move a job across the border afterwards."""
    c.open_to_all()
    jobs = []
    for options, came_to, to in (([], "normal", "cosched"),
                                 (["--coschedule"], "cosched", "normal")):
        done = c.run("sbatch", "--parsable", "--hold", *options, "--wrap=true",
                     **NOBODY)
        assert done.returncode == 0, done.stderr
        jobs.append(done.stdout.strip())
        done = c.run("scontrol", "update", f"jobid={jobs[-1]}",
                     f"partition={to}", **NOBODY)
        assert done.returncode != 0, (options, to)
        assert shown(c, jobs[-1])["Partition"] == came_to, options
    c.call("scancel", *jobs)
    c.wait_end(*jobs)


def check_broken_lua(c):
    """A run-time error keeps co-scheduled jobs out and lets others be."""
    path = f"{c.root}/etc/job_submit.lua"
    with open(path, encoding="utf-8") as file:
        good = file.read()
    bad = good.replace("local nodes = job.min_nodes",
                       "local nodes = job.min_nodes.broken")
    assert bad != good
    replace(path, bad)
    refused(c, ["sbatch", "--coschedule", "--wrap=true"],
            "job_submit.lua failed", "administrator")
    refused(c, ["sbatch", "--partition=cosched", "--wrap=true"],
            "add --coschedule")
    c.wait_end(c.sbatch("--wrap=true"))
    replace(path, good)
    c.wait_end(c.sbatch("--coschedule", "--wrap=true"))


def check_site_rules(c):
    """What a site sets at the top of the script."""
    path = f"{c.root}/etc/job_submit.lua"
    with open(path, encoding="utf-8") as file:
        good = file.read()
    assert "max_nodes = nil" in good
    replace(path, good.replace("max_nodes = nil", "max_nodes = 1"))
    refused(c, ["sbatch", "--coschedule", "--nodes=2", "--wrap=true"],
            "2 nodes asked, at most 1")
    replace(path, good)


def check_partitions(c):
    """Several shared partitions, on the same nodes: each job is where it asked to be, and jobs of
    two partitions share a node as well."""
    path = f"{c.root}/etc/job_submit.lua"
    with open(path, encoding="utf-8") as file:
        good = file.read()
    c.call("scontrol", "create", "partition=long", "nodes=n1", "oversubscribe=FORCE:4",
           "DefMemPerNode=100")
    replace(path, good.replace('partitions = { "cosched" }', 'partitions = { "cosched", "long" }'))
    refused(c, ["sbatch", "--coschedule", "--partition=normal", "--wrap=true"],
            "partition cosched or long, not in normal")
    refused(c, ["sbatch", "--partition=long", "--wrap=true"], "add --coschedule")
    both = [c.sbatch("--coschedule", "--partition=long", "--wrap=sleep 300") for _ in range(2)]
    wait_for("two jobs in one partition", lambda: running(c, *both), 60, 0.1)
    other = c.sbatch("--coschedule", "--wrap=sleep 300")
    assert shown(c, other)["Partition"] == "cosched"
    wait_for("a job of the other partition beside them", lambda: running(c, *both, other), 60, 0.1)
    wait_for("all in the status", lambda: {*both, other} <= set(c.status()), 60, 0.1)
    c.call("scancel", *map(str, (*both, other)))
    c.wait_end(*both, other)
    replace(path, good)
    c.call("scontrol", "delete", "partition=long")


def replace(path, text):
    """Slurm looks at the time of the last change, in whole seconds."""
    before = os.stat(path).st_mtime
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.utime(path, (before + 2, before + 2))


def main():
    need_cluster()
    with Cluster() as c:
        check_refusals(c)
        check_default_of_users(c)
        check_shape(c)
        check_memory(c)
        check_default_partition(c)
        check_modify(c)
        check_broken_lua(c)
        check_site_rules(c)
        check_partitions(c)


main()
