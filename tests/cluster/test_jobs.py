#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The life of jobs: of an ordinary user, requeued, cut off at their time limit,
cancelled before they run, begun without an agent, and ended in all ways; and
what coschedreport says of them."""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import BUILD, SOURCE, allowed_cpus, wait_for
from coschedcluster import Cluster, need_cluster
from ends import (bound_memory, check_array_records, check_ends, check_timeout,
                  start_timeout)

# daemon: to sacct of Slurm 26.05 nobody is no user.
USER = {"user": 1, "group": 1, "extra_groups": []}

REPORT = os.path.join(SOURCE, "slurm_conf", "coschedreport")
USERS_JOB = """#!/bin/sh
id -u
exec ./ep --class W --min-time 2
"""
REQUEUED_JOB = """#!/bin/sh
echo "restarts=$SLURM_RESTART_COUNT"
test -n "$SLURM_RESTART_COUNT" || sleep 300
"""
LATE_JOB = """#!/bin/sh
echo begun
until test -e %s; do sleep 0.1; done
echo done
"""


def report(c, *jobs, **owner):
    """coschedreport's entries, by job."""
    # A copy: other users may have no access to the sources.
    done = c.run(os.path.join(c.output, "report", "coschedreport"), "--json",
                 *map(str, jobs), **owner)
    assert done.returncode == 0, done.stderr
    return {int(job["job"]): job for job in json.loads(done.stdout)["jobs"]}


def submit(c, name, text, *options, **owner):
    path = os.path.join(c.output, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    done = c.run("sbatch", "--parsable", "--nodelist=n1", *options, path,
                 **owner)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def is_running(c, job):
    return c.call("squeue", "-h", "-j", str(job), "-o", "%t").strip() == "R"


def check_user(c):
    """A job of a user who owns nothing of the installation."""
    shutil.copy(c.program("ep"), c.output)
    job = submit(c, "user.sh", USERS_JOB, "--coschedule", **USER)
    entry = wait_for("attached job", lambda: c.attached(job), 60)
    assert entry["uid"] == USER["user"], entry
    c.wait_end(job)
    wait_for("output", lambda: "PASS" in c.text(job))
    assert c.text(job).splitlines()[0] == str(USER["user"]), c.text(job)
    assert "error" not in c.text(job), c.text(job)
    return job


def check_login(c):
    """From where jobs are submitted: a user asks about a job of his own, through Slurm, and
    about no other's."""
    # A copy: other users may have no access to the build tree.
    ctl = shutil.copy(os.path.join(BUILD, "coschedctl"), c.output)
    job = submit(c, "login.sh", "#!/bin/sh\nexec ./ep --class W --min-time 600\n",
                 "--coschedule", **USER)
    wait_for("attached job", lambda: c.attached(job), 60)

    def ask(*words, owner=USER):
        return c.run(ctl, *words, **owner)

    def answer(*words):
        done = ask("--job", str(job), *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    entry, = json.loads(answer("status", "--json"))["jobs"]
    assert (entry["job"], entry["uid"]) == (job, USER["user"]), entry
    assert entry["follow"]["malleable"], entry # only its user and root are told that
    # Its user sees the region's name: the step is of that user, on that node.
    wait_for("name of the region", lambda: ", ep.c:" in answer("status"), 60, 0.1)
    assert f"job {job}: ep (pid" in answer("why"), answer("why")
    assert ": " in answer("explain") and f"{job}" in answer("top")
    path = os.path.join(c.output, "trace.json")
    assert answer("trace", "--output", path) == ""
    with open(path, encoding="utf-8") as file:
        assert json.load(file)["traceEvents"]
    assert json.loads(answer("ping", "--json"))["node"] == "n1"
    # The job goes on as before.
    assert is_running(c, job)
    done = ask("jobs", "--json")
    assert done.returncode == 0, done
    jobs = {j["job"]: j for j in json.loads(done.stdout)["jobs"]}
    assert list(jobs) == [str(job)] and jobs[str(job)]["nodes"] == "n1", jobs
    assert f"{job}" in ask("jobs").stdout and "RUNNING" in ask("jobs").stdout
    assert str(job) in ask("jobs", "--all", owner={}).stdout
    roots = json.loads(c.run(ctl, "jobs", "--json").stdout)["jobs"]
    assert roots and str(job) not in [j["job"] for j in roots], roots
    # Another's, one that there is not, and a node that it has not.
    stranger = {"user": USER["user"] + 1, "group": USER["group"], "extra_groups": []}
    for words, owner in (((str(job), "status"), stranger), (("999999", "status"), USER),
                         ((str(job), "status", "--node", "n2"), USER)):
        done = ask("--job", *words, owner=owner)
        assert done.returncode != 0 and "srun: error" in done.stderr, (words, done)
        assert done.stdout == "", done
    c.call("scancel", str(job))
    c.wait_end(job)
    return job


def check_requeue(c):
    """The second run of a job is a new job to the agent."""
    job = submit(c, "requeued.sh", REQUEUED_JOB, "--coschedule", "--requeue")
    wait_for("first run", lambda: job in c.status() and is_running(c, job),
             60, 0.1)
    c.call("scontrol", "requeue", str(job))
    wait_for("end of the first run", lambda: f"job {job} ended:" in c.log())
    wait_for("second place in the queue", lambda: "PD" in c.call(
        "squeue", "-h", "-j", str(job), "-o", "%t"), 60, 0.1)
    # slurmd takes a start in the second of the kill for a late one.
    c.call("scontrol", "update", f"jobid={job}", "StartTime=now+2")
    c.wait_end(job)
    wait_for("output", lambda: "restarts=1\n" in c.text(job))
    assert c.log().count(f"job {job} announced") == 2, c.log()
    return job


def start_cancelled(c):
    """Two jobs that are requeued, to be cancelled before they run again: the first at once, the
    second in check_cancelled()."""
    jobs = [submit(c, f"cancelled{i}.sh", REQUEUED_JOB, "--coschedule", "--requeue", "--mem=50")
            for i in range(2)]
    for job in jobs:
        wait_for("its interim record", lambda j=job: is_running(c, j) and
                 "AdminComment=cosched/1 state=running" in slurm_knows(c, j), 60, 0.1)
    c.call("scontrol", "create", "PartitionName=down", "Nodes=n1", "State=DOWN")
    for job in jobs:
        c.call("scontrol", "requeue", str(job))
        # It could begin but for that, so the accounting has a row.
        wait_for("its place in the queue", lambda j=job: c.run(
            "scontrol", "update", f"jobid={j}", "Partition=down", "StartTime=now")
            .returncode == 0, 60, 0.1)
    wait_for("rows of the next runs", lambda: all(len(runs(c, job)) == 2 for job in jobs),
             60, 0.1)
    c.call("scancel", str(jobs[0]))
    return jobs


def runs(c, job):
    """What the accounting has of the runs of JOB."""
    return c.rows(job, "state", "nodelist", options=["-D"])


def slurm_knows(c, job):
    return c.run("scontrol", "show", "job", str(job)).stdout


def check_cancelled(c, jobs):
    """The run that never began has not the interim record of the one before."""
    wait_for("a job that waits without that record", lambda:
             "AdminComment=cosched/1 state=final started=0" in slurm_knows(c, jobs[1]), 120, 0.2)
    c.call("scancel", str(jobs[1]))
    for job in jobs:
        wait_for(f"final records of job {job}", lambda j=job: all(
            "state=final" in run[2] for run in runs(c, j)), 60, 0.2)
        found = runs(c, job)
        (ran, node, record), (state, no_node, never) = found
        assert (ran, node) == ("REQUEUED", "n1") and "policy=" in record, found
        assert state.startswith("CANCELLED") and no_node == "None assigned", found
        assert never == "cosched/1 state=final started=0", found


def check_late_agent(c):
    """An agent that comes when the job runs lets it be, and so does the
    epilog, which withdraws a job that was never announced."""
    go = os.path.join(c.output, "go")
    c.agent("stop")
    job = submit(c, "late.sh", LATE_JOB % go, "--coschedule")
    wait_for("begin of the job", lambda: "begun" in c.text(job), 60)
    c.agent("start")
    before = c.log()
    with open(go, "w", encoding="ascii"):
        pass
    c.wait_end(job)
    wait_for("output", lambda: "done" in c.text(job))
    assert c.text(job).count("without co-scheduling") == 1, c.text(job)
    wait_for("a node in service", lambda: c.call(
        "sinfo", "-hN", "-n", "n1", "-o", "%t").split()[0] in ("idle", "mix", "alloc"),
        60, 0.1)
    assert f"job {job} " not in c.log()[len(before):], c.log()
    return job


def check_never_ran(c):
    """The agent never hears of a job that is cancelled in the queue."""
    job = c.sbatch("--hold", "--coschedule", "--wrap=true")
    c.call("scancel", str(job))
    c.wait_end(job)
    c.wait_state(job, "CANCELLED")
    return job


def check_report(c, users, requeued, timeout, late, never, login):
    for job, state in ((users, "COMPLETED"), (requeued, "COMPLETED"),
                       (timeout, "TIMEOUT")):
        c.wait_final(job)
        c.wait_state(job, state)
        entry = report(c, job)[job]
        assert (entry["record"], entry["state"]) == ("final", state), entry
        assert entry["end"] >= entry["start"] >= entry["submit"], entry
    jobs = report(c, users, late, never)
    assert jobs[users]["attached"] and jobs[users]["mean_cores"] >= 1, jobs
    assert 0 < jobs[users]["parallel_share"] <= 1, jobs
    assert jobs[late]["record"] is None and jobs[late]["notes"], jobs
    assert jobs[never]["start"] is None, jobs
    assert jobs[never]["notes"] == ["ended before it started"], jobs
    # Without numbers: one's own, and only those that were co-scheduled.
    assert set(report(c, **USER)) == {users, login}
    assert {requeued, timeout} <= set(report(c))
    assert not {users, late, never} & set(report(c))
    print(c.call(REPORT, *map(str, (users, requeued, timeout, late, never))))


def main():
    need_cluster()
    with Cluster(nodes=2) as c:
        c.open_to_all()
        bound_memory(c)
        shutil.copytree(os.path.dirname(REPORT), f"{c.output}/report")
        shutil.copytree(os.path.join(SOURCE, "plot"), f"{c.output}/plot")
        timeout, other = start_timeout(c)
        users = check_user(c)
        login = check_login(c)
        cancelled = start_cancelled(c)
        requeued = check_requeue(c)
        late = check_late_agent(c)
        never = check_never_ran(c)
        names = []
        if len(allowed_cpus()) > 1:
            names = check_ends(c)
        check_timeout(c, timeout, other)
        check_cancelled(c, cancelled)
        check_report(c, users, requeued, timeout, late, never, login)
        check_array_records(c, names)


main()
