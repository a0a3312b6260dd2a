#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What earlier runs of programs bring about, on a cluster of two nodes: from the
records of jobs over coschedhistory and job_submit.lua to the node that Slurm
chooses and to what the agent knows; weights by QOS; a script that fails."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import SOURCE, wait_for
from coschedcluster import Cluster, need_cluster

HISTORY = f"{SOURCE}/slurm_conf/coschedhistory"
RECORD = "cosched/1 state=final attached=1 granted=2 program=forged class=serial"


def update(c):
    c.call(HISTORY, "update", "--db", f"{c.folder}/history.db")


def adapt_lua(c):
    """The site's rules: where the history is, and weights."""
    path = f"{c.root}/etc/job_submit.lua"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub("\n    history = [^\n]*", f'\n    history = "{c.folder}",',
                  text)
    text = re.sub("\n    weights = [^\n]*", "\n    weights = { high = 4 },",
                  text)
    replace(path, text)
    return text


def replace(path, text):
    """Slurm looks at the time of the last change, in whole seconds."""
    before = os.stat(path).st_mtime
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.utime(path, (before + 2, before + 2))


def shown(c, job):
    """{key: value} of scontrol show job."""
    text = c.call("scontrol", "-o", "show", "job", str(job))
    result = dict(w.split("=", 1) for w in text.split() if "=" in w)
    found = re.search(r"AdminComment=(.*?)(?= \w+=[^ ]* \w+=/|$)", text)
    result["AdminComment"] = found[1] if found else ""
    return result


def learn(c):
    """Runs of a program, each of which leaves a record; two are given another
    class afterwards, which this machine may not be large enough to show."""
    program = c.program("ep")
    jobs = {name: c.sbatch("--coschedule", f"--job-name={name}",
                           f"--wrap={program} --class S")
            for name in ("real", "hungry", "frugal")}
    again = c.sbatch("--coschedule", "--job-name=real",
                     f"--wrap={program} --class S")
    # What would be rows of somebody else's, were it known how rows end.
    forged = ("c", "1", "4242", "eve", "forged", "COMPLETED", "1", "2", RECORD)
    c.wait_end(*(c.sbatch(f"--job-name=x\n{separator.join(forged)}\n",
                          "--wrap=true") for separator in ("\x1f", "|")))
    c.wait_end(*jobs.values(), again)
    for job in (*jobs.values(), again):
        assert " program=ep " in c.wait_final(job), c.comment(job)
    for name, kind in (("hungry", "memory"), ("frugal", "compute")):
        # No sacctmgr before 21.08 changes it.
        record = f"cosched/1 state=final attached=1 granted=2 program={name} class={kind}"
        c.sql(f"UPDATE cosched_job_table SET admin_comment = '{record}', "
              f"system_comment = '{record}' WHERE id_job = {jobs[name]}")
    update(c)
    text = c.call(HISTORY, "show", "--db", f"{c.folder}/history.db")
    assert re.search(r"real +ep +2 ", text), text
    assert "forged" not in text and "eve" not in text, text
    check_classes(c)


def check_classes(c):
    """What the choice of nodes rests on."""
    lines = c.call(HISTORY, "show", "--db", f"{c.folder}/history.db").split("\n")
    for name, kind in (("hungry", "memory"), ("frugal", "compute")):
        assert any(line.split()[1:2] == [name] and f" {kind} " in line
                   for line in lines), lines


def node_of(c, job):
    wait_for(f"start of job {job}", lambda: shown(c, job)["JobState"] ==
             "RUNNING", 120, 0.1)
    return shown(c, job)["NodeList"]


def begin(c, *names):
    """Jobs NAMES, each submitted when the one before runs: of those that wait
    together Slurm's backfill starts one per node and cycle, and gives the next
    another node than it wishes for."""
    jobs = []
    for name in names:
        jobs.append(sleeper(c, name))
        node_of(c, jobs[-1])
    return jobs


def check_nodes_of(c, jobs, nodes):
    """JOBS run on NODES; their wishes and the file they are from, if not."""
    found = [node_of(c, job) for job in jobs]
    with open(f"{c.folder}/partners", encoding="ascii") as file:
        partners = file.read()
    assert found == nodes, (found, nodes, partners, [
        (shown(c, job).get("Prefer"), shown(c, job)["AdminComment"])
        for job in jobs])


def sleeper(c, name, *options):
    return c.sbatch("--coschedule", "--mem=20", f"--job-name={name}", *options,
                    "--wrap=sleep 300")


def check_partners(c):
    """Beside a complementary job if its node has room, else where there is."""
    begun = [sleeper(c, "hungry", "-w", "n1"), sleeper(c, "frugal", "-w", "n2")]
    check_nodes_of(c, begun, ["n1", "n2"])
    update(c)
    check_classes(c)
    # Slurm by itself would take turns.
    jobs = begin(c, "hungry", "hungry", "frugal", "frugal")
    check_nodes_of(c, jobs, ["n2", "n2", "n1", "n1"])
    # Four jobs are the most: n2 takes one more, then the wish is in vain.
    more = begin(c, "hungry", "hungry")
    check_nodes_of(c, more, ["n2", "n1"])
    user = sleeper(c, "frugal", "--hold", "-w", "n2")
    assert shown(c, user)["ReqNodeList"] == "n2"
    c.call("scancel", *map(str, [*begun, *jobs, *more, user]))
    c.wait_end(*begun, *jobs, *more)


def check_agent(c):
    """History and weight reach the agent; users cannot write either."""
    c.call("sacctmgr", "-i", "add", "qos", "high")
    # slurmctld confirms the news before it has taken it in.
    wait_for("the QOS", lambda: "QOS=high(" in c.call(
        "scontrol", "show", "assoc_mgr", "flags=qos"), 60, 0.1)
    program = c.program("ep")
    jobs = [c.sbatch("--coschedule", "--job-name=real", "-w", "n1",
                     *options, f"--wrap={program} --class S --min-time 300")
            for options in ((), ("--qos=high",),
                            ("--qos=high", "--coschedule=weight=0.5"))]
    for job, weight in zip(jobs, (1, 4, 0.5)):
        wait_for(f"weight of job {job}", lambda j=job, w=weight:
                 c.status().get(j, {}).get("weight") == w, 60, 0.1)
    # A weight of 1 is also what a job has of which nothing is known yet.
    history = wait_for("history", lambda:
                       c.status()[jobs[0]]["history"], 60, 0.1)
    assert history["runs"] == 2 and history["program"] == "ep", history
    done = c.run("sbatch", "--coschedule=weight=2", "--wrap=true")
    assert done.returncode != 0 and "allows 1 at most" in done.stderr, done
    # The environment's wish counts as well.
    c.env["COSCHED_WEIGHT"] = "0.25"
    wish = c.sbatch("--hold", "--coschedule", "--wrap=true")
    assert "weight=0.25" in c.call("scontrol", "show", "job", str(wish))
    c.call("scancel", str(wish))
    c.env["COSCHED_WEIGHT"] = "2"
    for command in ("sbatch", "--wrap=true"), ("srun", "true"):
        done = c.run(command[0], "--coschedule", *command[1:])
        assert done.returncode != 0 and "COSCHED_WEIGHT=2 in the environment: " \
            in done.stderr, done
    del c.env["COSCHED_WEIGHT"]
    # This one is much longer than those before: noticed.
    wait_for("history that is dropped", lambda: c.status()[jobs[0]]["history"]
             ["dropped"], 180, 0.2)
    c.call("scancel", *map(str, jobs))
    c.wait_end(*jobs)


def refused(c, *command):
    done = c.run(*command)
    assert done.returncode != 0, (command, done.stdout)
    return done.stderr


def check_failing_script(c, good):
    """The script fails in different ways: nobody gets in unshaped."""
    path = f"{c.root}/etc/job_submit.lua"
    for broken in (good.replace("local nodes = job.min_nodes",
                                "local nodes = job.min_nodes.broken"),
                   good.replace("    local ok, result = pcall(submit",
                                "    slurm.log_user = nil\n    local ok, "
                                "result = pcall(nil")):
        assert broken != good
        replace(path, broken)
        refused(c, "sbatch", "--coschedule", "--wrap=true")
        refused(c, "sbatch", "--partition=cosched", "--wrap=true")
        c.call("scancel", str(c.sbatch("--hold", "--wrap=true")))
    # What cannot even be read leaves the last one in force.
    for text in (good, good + "\nthis is no lua"):
        replace(path, text)
        refused(c, "sbatch", "--partition=cosched", "--wrap=true")
        job = c.sbatch("--hold", "--coschedule", "--mem=20", "--wrap=true")
        assert shown(c, job)["Partition"] == "cosched"
        c.call("scancel", str(job))


def main():
    need_cluster()
    with Cluster(nodes=2) as c:
        c.folder = os.path.join(c.directory, "history")
        os.mkdir(c.folder)
        good = adapt_lua(c)
        learn(c)
        if "--prefer" in c.call("sbatch", "--help"):
            check_partners(c)
        else:
            print("no partners: jobs of Slurm before 22.05 cannot prefer nodes")
        check_agent(c)
        check_failing_script(c, good)


main()
