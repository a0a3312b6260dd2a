#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Co-scheduled jobs on a real Slurm cluster, as users and admins meet them."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import BUILD, allowed_cpus, cpu_list, wait_for
from coschedcluster import Cluster, need_cluster

EP = f"{BUILD}/jobs/ep"
CG = f"{BUILD}/jobs/cg"
WARNING = "without co-scheduling"
POLICIES = ("corun", "nupoco", "greedy", "equal")


def check_refusals(c):
    """Bad requests fail at submission and say what to do."""
    for command in (["sbatch", "--coschedule=bogus", "--wrap", "true"],
                    ["srun", "--coschedule=bogus", "true"],
                    ["salloc", "--coschedule=bogus", "true"]):
        done = c.run(*command)
        assert done.returncode != 0, command
        for word in ("--coschedule=bogus", *POLICIES, "ults"):
            assert word in done.stderr, (command, word, done.stderr)
    script = os.path.join(c.output, "bogus.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n#SBATCH --coschedule=bogus\ntrue\n")
    done = c.run("sbatch", script)
    assert done.returncode != 0 and "bogus" in done.stderr, done.stderr
    done = c.run("sbatch", "-p", "cosched", "--wrap", "true")
    assert done.returncode != 0 and "add --coschedule" in done.stderr, done
    done = c.run("sbatch", "-p", "normal", "--coschedule", "--wrap", "true")
    assert done.returncode != 0 and "cosched" in done.stderr, done.stderr
    assert c.call("squeue", "-h") == ""
    assert "--coschedule" in c.call("sbatch", "--help")


def check_others_untouched(c):
    """A job without the option knows nothing of us, nor does the agent."""
    job = c.sbatch("--wrap", "env; echo end")
    c.wait_end(job)
    wait_for("output", lambda: "end" in c.text(job))
    assert "COSCHED_SOCKET" not in c.text(job).replace(
        f"COSCHED_SOCKET={c.env['COSCHED_SOCKET']}", ""), c.text(job)
    assert "lib-coop" not in c.text(job)
    assert f"job {job} " not in c.log(), c.log()


def check_sharing(c):
    """Two jobs share the node's cores; killing one frees its CPUs."""
    one = c.sbatch("--coschedule", "--wrap", f"{EP} --class A --min-time 300")
    two = c.sbatch("--coschedule=equal", "--wrap",
                   f"{CG} --class A --repeat 3")
    wait_for("two attached jobs",
             lambda: all(c.status().get(j, {}).get("attached")
                         for j in (one, two)), 60)
    status = c.status()
    sets = [cpu_list(status[j]["cpus"]) for j in (one, two)]
    assert not sets[0] & sets[1], sets
    c.wait_end(two)
    wait_for("output", lambda: "PASS" in c.text(two))
    wait_for("all CPUs for the other job", lambda:
             cpu_list(c.status()[one]["cpus"]) == set(allowed_cpus()))
    c.call("scancel", str(one))
    c.wait_end(one)
    return two, one


def check_export_none(c):
    """--export=NONE hides the option from the node, not the job from us."""
    job = c.sbatch("--coschedule", "--export=NONE", "--wrap",
                   f"srun {EP} --class W; echo LD=$LD_LIBRARY_PATH; "
                   "srun /bin/sh -c 'echo STEP=$LD_LIBRARY_PATH J=$COSCHED_JOB'")
    c.wait_end(job)
    wait_for("output", lambda: "STEP=" in c.text(job))
    assert "PASS" in c.text(job), c.text(job)
    for line in c.text(job).splitlines():
        if line.startswith(("LD=", "STEP=")):
            assert line.count("lib-coop") == 1, line
    assert f"J={job}" in c.text(job), c.text(job)
    return job


def check_without_agent(c):
    """No agent: the job runs, and says so once."""
    c.agent("stop")
    job = c.sbatch("--coschedule", "--wrap", f"srun {EP} --class W; {EP} "
                   "--class S")
    c.wait_end(job)
    wait_for("output", lambda: c.text(job).count("PASS") == 2)
    assert c.text(job).count(WARNING) == 1, c.text(job)
    c.wait_state(job, "COMPLETED")
    c.agent("start")


def check_policy(c):
    """The policy follows slurm.conf; a bad value is none."""
    path = f"{c.root}/etc/extra.conf"
    with open(path, encoding="utf-8") as file:
        text = file.read()

    def policy():
        return json.loads(c.call("coschedctl", "config", "--json"))["policy"]

    wait_for("policy corun", lambda: policy() == "corun")
    for value, expected in (("equal", "equal"), ("bogus", "corun")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("cosched_policy=corun",
                                    f"cosched_policy={value}"))
        c.call("scontrol", "reconfigure")
        if value == "bogus":
            wait_for("a report", lambda: "cosched_policy=bogus" in c.log())
        wait_for(f"policy {expected}", lambda: policy() == expected)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    c.call("scontrol", "reconfigure")
    wait_for("policy corun", lambda: policy() == "corun")


def check_agent_crash(c):
    """kill -9 of the agent costs no job anything."""
    jobs = c.together(*(f"{program} --class A --min-time 8"
                        for program in (EP, CG)))
    wait_for("attached jobs",
             lambda: all(c.status().get(j, {}).get("attached") for j in jobs),
             60)
    c.crash_agent()
    start = time.monotonic()
    c.agent("start")
    wait_for("jobs attached again", lambda: all(
        c.status().get(j, {}).get("attached") for j in jobs
        if c.call("squeue", "-h", "-j", str(j)).strip()))
    print(f"attached again {time.monotonic() - start:.2f} s after the crash, "
          "the agent's start included")
    c.wait_end(*jobs)
    for job in jobs:
        wait_for("output", lambda j=job: "PASS" in c.text(j))
        c.wait_state(job, "COMPLETED")
    return jobs


def check_records(c, completed, cancelled, failed):
    """AdminComment has the summary, whatever end the job came to."""
    for job, state in ((completed, "COMPLETED"), (cancelled, "CANCELLED"),
                       (failed, "FAILED")):
        record = c.wait_final(job)
        assert record.startswith("cosched/1 "), record
        c.wait_state(job, state)
    partners = c.comment(cancelled).split("partners=")[1].split()[0]
    assert str(completed) in partners.split(","), partners
    out = c.call(f"{os.environ['abs_top_srcdir']}/slurm_conf/coschedreport",
                 str(completed), str(cancelled))
    assert "makespan" in out and str(completed) in out, out
    print(out)
    done = c.run(f"{os.environ['abs_top_srcdir']}/slurm_conf/coschedreport",
                 "999")
    assert done.returncode == 1 and "999" in done.stderr, done


def main():
    need_cluster()
    with Cluster() as c:
        check_refusals(c)
        check_others_untouched(c)
        failed = c.sbatch("--coschedule", "--wrap", "sleep 1; exit 3")
        completed, cancelled = check_sharing(c)
        check_export_none(c)
        check_records(c, completed, cancelled, failed)
        check_agent_crash(c)
        check_policy(c)
        check_without_agent(c)


main()
