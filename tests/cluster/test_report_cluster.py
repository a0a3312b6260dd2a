#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport on a real cluster: jobs that shared a node, one that was alone,
one that ended at once; what Slurm bills by the weights of the admin guide."""

import csv
import io
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import SOURCE, wait_for
from coschedcluster import NOBODY, Cluster, need_cluster

REPORT = os.path.join(SOURCE, "slurm_conf", "coschedreport")
# Waits for a file, so that a test decides who runs beside whom.
SCRIPT = """#!/bin/sh
while [ ! -e "$GATE" ]; do sleep 0.1; done
{program} --class S --min-time {seconds}
"""
# A megabyte costs 2 units, a CPU none.
WEIGHTS = 'TRESBillingWeights="CPU=0,Mem=2.0"'
MEMORY_MB = 100
# With limits enforced Slurm counts a job's usage at its end, else only what runs once a minute.
USAGE = """AccountingStorageEnforce=limits
PriorityType=priority/multifactor
PriorityDecayHalfLife=0
PriorityUsageResetPeriod=NONE
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def report(c, *arguments):
    return json.loads(c.call(REPORT, "--json", *map(str, arguments)))


def bill_by_memory(c):
    path = f"{c.root}/etc/extra.conf"
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    write(path, "".join(
        line + (" " + WEIGHTS if line.startswith("PartitionName=cosched ")
                else "") + "\n" for line in lines) + USAGE)
    c.restart()


def submit(c, name, gate, *options):
    return c.sbatch(f"--export=ALL,GATE={gate}", f"--mem={MEMORY_MB}", *options,
                    f"{c.output}/{name}.sh")


def run_jobs(c):
    """(ep alone, ep and cg together, one that ends at once)"""
    for name, seconds in (("ep", 3), ("cg", 2)):
        write(f"{c.output}/{name}.sh", SCRIPT.format(program=c.program(name),
                                                     seconds=seconds))
    alone = submit(c, "ep", "/dev/null", "--exclusive")
    c.wait_end(alone)
    gate = f"{c.output}/gate"
    ep, cg = (submit(c, name, gate, "--coschedule") for name in ("ep", "cg"))
    wait_for("both jobs on the node", lambda: {ep, cg} <= set(c.status()), 60)
    write(gate, "")
    c.wait_end(ep, cg)
    short = c.sbatch("--coschedule", "--mem=10", "--wrap", "true")
    c.wait_end(short)
    c.wait_state(short, "COMPLETED")
    return alone, ep, cg, short


def check_mix(c, alone, ep, cg):
    """What the two had in common, and what each was billed."""
    out = report(c, ep, cg)
    first, second = out["jobs"]
    assert [first["partners"], second["partners"]] == [[cg], [ep]], out
    assert first["record"] == second["record"] == "final", out
    assert (first["alone_by"], first["alone_job"]) == ("run", str(alone)), out
    assert first["slowdown"] > 0, out
    # Of cg no run alone is known, at most the agent's estimate.
    assert second["alone_job"] is None, out
    for job in out["jobs"]:
        cpus = job["alloc_cpus"]
        assert cpus == len(os.sched_getaffinity(0)), job
        assert 0 < job["mean_cores"] <= cpus, job
        # Slurm's seconds are whole: the job may have run a second longer.
        assert job["core_s"] <= cpus * (job["run_s"] + 1), job
        assert job["billed"] == 2 * MEMORY_MB * job["run_s"], job
    mix = out["mix"]
    assert mix["alloc_core_s"] == sum(j["alloc_core_s"] for j in out["jobs"])
    # Allocated twice, there once.
    assert mix["node_core_s"] < mix["alloc_core_s"], mix
    assert mix["core_s"] <= mix["node_core_s"] + 2 * cpus, mix


def check_charges(c):
    """What a site can charge: sacct and sshare have the place, by the weights; core_s is the use;
    and the report sums both by user."""
    rows = csv.DictReader(io.StringIO(c.call(REPORT, "--all-users", "--by", "user", "--csv")))
    user, = rows
    jobs = report(c, "--all-users")["jobs"]
    for key in "core_s", "alloc_core_s", "billed":
        known = [job[key] for job in jobs if job[key] is not None]
        assert abs(float(user[key]) - sum(known)) < 0.01 * sum(known) + 0.1, (key, user, jobs)
    assert 0 < float(user["core_s"]) < float(user["alloc_core_s"]), user
    found = [line.split("|") for line in c.call(
        "sacct", "-a", "-X", "-n", "-P", "-o", "partition,elapsedraw,alloctres").splitlines()]
    bills = [(name, int(seconds) * int(re.search(r"billing=(\d+)", tres)[1]))
             for name, seconds, tres in found]
    shared = sum(bill for name, bill in bills if name == "cosched")
    assert shared == float(user["billed"]), (found, user)
    usage = max(map(int, c.call("sshare", "-a", "-n", "-P", "-o", "rawusage").split()))
    # Of each job it counts a second more or less than the accounting.
    assert abs(usage - sum(bill for _, bill in bills)) <= 2 * MEMORY_MB * len(found), (usage, found)


def check_short(c, short):
    """No zeros for what nobody measured, and the reason."""
    job, = report(c, short)["jobs"]
    assert job["turnaround_s"] is not None and job["notes"], job
    if not job["mean_cores"]:   # it ended before the agent gave it cores
        assert job["core_s"] is job["mean_cores"] is job["regions"] is None, job


def check_forms(c, ep, cg):
    text = c.call(REPORT, f"{ep},{cg}")
    assert "makespan of the 2 jobs: " in text and "core-seconds: " in text, text
    rows = c.call(REPORT, "--all-users", "--by", "user", "--csv").splitlines()
    assert len(rows) == 2 and ",root," in rows[1], rows
    groups = report(c, "--by", "mix")["groups"]
    assert [str(ep), str(cg)] in [g["jobs"] for g in groups], groups
    trace, plot = f"{c.output}/trace.json", f"{c.output}/plot.svg"
    c.call("coschedctl", "trace", "-o", trace)
    c.call(REPORT, str(ep), str(cg), "--trace", trace, "--plot", plot)
    titles = [e.text for e in ElementTree.parse(plot).iter()
              if e.tag.endswith("title")]
    assert any(t.startswith(f"{ep} ep.sh on CPU ") for t in titles), titles


def check_other_user(c, ep):
    """An ordinary user has no job, but may ask for others'."""
    # A copy: other users may have no access to the sources.
    copy = f"{c.output}/report"
    for folder in ("slurm_conf", "plot"):
        shutil.copytree(os.path.join(SOURCE, folder), f"{copy}/{folder}")
    c.call("chmod", "-R", "a+rX", copy)
    program = f"{copy}/slurm_conf/coschedreport"
    done = c.run(program, **NOBODY)
    assert done.returncode == 0 and "no job of yours" in done.stderr, done
    done = c.run(program, "--json", str(ep), **NOBODY)
    assert json.loads(done.stdout)["jobs"][0]["job"] == str(ep), done
    done = c.run(program, "999999", **NOBODY)
    assert done.returncode == 1 and "job 999999: not in" in done.stderr, done


def check_bad_times(c):
    """Slurm's own complaints name the option."""
    for arguments, message in (
            (["-S", "xyz"], "--start xyz: "),
            (["-E", "25:99"], "--end 25:99: "),
            (["-u", "no_such_user"], "--user no_such_user: "),
            (["-M", "nosuch"], "--clusters nosuch: no such cluster")):
        done = c.run(REPORT, *arguments)
        assert done.stderr.startswith(f"coschedreport: {message}"), done


def main():
    need_cluster()
    with Cluster() as c:
        bill_by_memory(c)
        alone, ep, cg, short = run_jobs(c)
        check_short(c, short)
        check_bad_times(c)
        for job in (ep, cg):
            c.wait_final(job)
        check_mix(c, alone, ep, cg)
        check_forms(c, ep, cg)
        check_charges(c)
        check_other_user(c, ep)


if __name__ == "__main__":
    main()
