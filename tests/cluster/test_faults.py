#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent of a cluster hangs at each stage of a job's life, or is killed and
started again while a job begins: jobs run as they would without it, say so in one
line, nobody waits for longer than the limits that the messages name, and no core
stays with a job that is over."""

import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import SOURCE, allowed_cpus, cpu_list, wait_for
from coschedcluster import SCRIPT, Cluster, need_cluster

ALONE = "the job runs without co-scheduling"
NO_ANSWER = "did not answer within"
LIMIT_MS = 200     # of a site
PATIENT_MS = 5000  # of tests in which the agent is only slow
# Runs until the file GO is there; one more step after that.
LIFE = """#!/bin/bash
#SBATCH --coschedule=report=yes
echo "job=${{COSCHED_JOB-none}}"
until [ -e {go} ]; do {ep} --class S || exit 1; done
srun {ep} --class S || exit 1
echo end
"""


def script(c, name, text, **values):
    path = os.path.join(c.output, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text.format(ep=c.program("ep"), **values))
    os.chmod(path, 0o755)
    return path


def pid_of_agent(c):
    with open(f"{c.root}/run/coschedd-n1.pid", encoding="ascii") as file:
        return int(file.read())


class Hung:
    """The agent does not run while this lasts."""

    def __init__(self, c):
        self.pid = pid_of_agent(c)

    def stopped(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)
        wait_for("stop of the agent", self.stopped)
        return self

    def __exit__(self, *exception):
        os.kill(self.pid, signal.SIGCONT)


def waits(text):
    """The milliseconds that somebody says to have waited."""
    return [int(n) for n in re.findall(NO_ANSWER + r" (\d+) ms", text)]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def slurmd_log(c):
    return read(f"{c.root}/log/slurmd-n1.log")


def complete(c, job):
    """JOB's output, when it is over and has done all that it should."""
    c.wait_end(job)
    wait_for(f"end of job {job}", lambda: "\nend\n" in c.text(job), 60)
    wait_for(f"state of job {job}", lambda: c.state(job) == "COMPLETED", 60,
             0.2)
    text = c.text(job)
    assert "FAIL" not in text, text
    return text


def check_all_cores(c):
    """Nobody holds a core: a new job has all of them, for itself."""
    go = os.path.join(c.output, "go-all")
    job = c.sbatch(script(c, "all.sh", LIFE, go=go))
    everything = set(allowed_cpus())
    wait_for("all cores", lambda: cpu_list(c.status().get(job, {}).get(
        "cpus", "")) == everything and c.status()[job]["attached"], 60, 0.05)
    script(c, "go-all", "")
    complete(c, job)
    os.unlink(go)


def check_hung_before(c):
    """Before a job is submitted: it knows nothing of us but for one line."""
    go = script(c, "go", "")
    c.set_timeout(LIMIT_MS)
    with Hung(c):
        job = c.sbatch(script(c, "life.sh", LIFE, go=go))
        text = complete(c, job)
        wait_for("the epilog", lambda: f"withdraw job {job}: " in slurmd_log(c),
                 60)
    assert "job=none\n" in text and text.count(ALONE) == 1, text
    assert set(waits(text)) == set(waits(slurmd_log(c))) == {LIMIT_MS}, text
    c.set_timeout(PATIENT_MS)
    wait_for("an empty agent", lambda: not c.status(), 60)
    assert f"job {job} announced" not in c.log()
    os.unlink(go)
    return job


def check_hung_within(c):
    """While a job runs, starts a step, and ends."""
    go = os.path.join(c.output, "go")
    job = c.sbatch(script(c, "life.sh", LIFE, go=go))
    wait_for("the attached job", lambda: c.attached(job), 60, 0.05)
    with Hung(c) as hung:
        count = c.text(job).count("PASS")
        wait_for("programs that go on", lambda:
                 c.text(job).count("PASS") > count + 1, 60, 0.05)
        c.set_timeout(LIMIT_MS)
        script(c, "go", "")
        text = complete(c, job)
        wait_for("the epilog", lambda: f"withdraw job {job}: " in slurmd_log(c),
                 60)
        assert hung.stopped()
    c.set_timeout(PATIENT_MS)
    assert f"job={job}\n" in text and text.count(ALONE) == 1, text
    assert "no summary: the agent " + NO_ANSWER in text, text
    # At the step's start, and at the end of the script, which began before.
    assert waits(text) == [LIMIT_MS, PATIENT_MS], text
    assert set(waits(slurmd_log(c).split(f"withdraw job {job}: ")[1])) == \
        {LIMIT_MS}, slurmd_log(c)
    os.unlink(go)
    # Nobody ended it, as systemd's watchdog would have: it sees the note.
    wait_for("the agent", lambda: c.run("coschedctl", "ping").returncode == 0)
    wait_for("an empty agent", lambda: not c.status(), 60)
    assert c.wait_final(job).startswith("cosched/1 "), c.comment(job)


def check_hung_tools(c, job):
    """The tools say what is wrong; coschedreport needs no agent."""
    with Hung(c):
        for command in (["status"], ["explain"], ["config"], ["ping"],
                        ["drain", "--reason", "x"], ["resume"]):
            done = c.run("coschedctl", *command)
            assert done.returncode != 0 and NO_ANSWER in done.stderr, \
                (command, done)
        assert "does not answer" in c.call("coschedctl", "counters")
        done = c.run("coschedctl", "health")
        assert done.returncode == 3 and NO_ANSWER in done.stdout, done
        out = c.call(f"{SOURCE}/slurm_conf/coschedreport", str(job))
        assert str(job) in out, out
    # What was asked of it in vain is not done later.
    wait_for("the agent", lambda: c.run("coschedctl", "ping").returncode == 0)
    assert "drained" not in c.log()


def admitted(c, job, text):
    """Whether JOB is known to the agent, which its script has to know."""
    ours = f"job={job}\n" in text
    assert ours != ("job=none\n" in text), text
    assert text.count(ALONE) == (0 if ours else 1), text
    return ours


def check_prolog(c):
    """The agent is killed and started again after Slurm has started the job and
    before its first task: who restarts it does not matter to the job."""
    path = f"{c.root}/etc/extra.conf"
    good = read(path)
    ran = os.path.join(c.output, "prolog-ran")
    prolog = script(c, "prolog.sh", """#!/bin/bash
exec >>{ran} 2>&1
kill -KILL $(cat {root}/run/coschedd-n1.pid)
{cluster} agent {root} start n1
echo $SLURM_JOB_ID restarted
""", ran=ran, root=c.root, cluster=SCRIPT)
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"Prolog={prolog}\n")
    c.call("scontrol", "reconfigure")
    wait_for("the prolog", lambda: prolog in c.call("scontrol", "show",
                                                    "config"))
    go = os.path.join(c.output, "go")
    job = c.sbatch(script(c, "life.sh", LIFE, go=go))
    wait_for("the agent", lambda: os.path.exists(ran) and
             f"{job} restarted" in read(ran), 60)
    wait_for("the attached job", lambda: c.attached(job), 60, 0.05)
    script(c, "go", "")
    text = complete(c, job)
    assert admitted(c, job, text), text
    os.unlink(go)
    with open(path, "w", encoding="utf-8") as file:
        file.write(good)
    c.call("scontrol", "reconfigure")
    wait_for("no prolog", lambda: prolog not in c.call("scontrol", "show",
                                                       "config"))
    wait_for("an empty agent", lambda: not c.status(), 60)


def check_task_init(c):
    """The agent is killed at some moment of a job's start, and started again:
    whatever the moment, and whether it comes back at once or when the job runs
    already, the job is either shared or says that it is not."""
    go = os.path.join(c.output, "go")
    life = script(c, "life.sh", LIFE, go=go)
    results = []
    c.set_timeout(LIMIT_MS)
    for delay_s, late in ((0.0, True), (0.0, False), (0.02, False),
                          (0.05, True), (0.05, False), (0.1, True),
                          (0.1, False)):
        job = c.sbatch(life)
        time.sleep(delay_s)
        c.crash_agent()
        if not late:
            c.agent("start")
        wait_for(f"output of job {job}", lambda j=job: "PASS" in c.text(j), 60)
        if late:
            c.agent("start")
        ours = f"job={job}\n" in c.text(job)
        if ours:
            wait_for(f"job {job}", lambda j=job: c.attached(j), 60, 0.05)
        else:
            assert job not in c.status(), c.status()
        script(c, "go", "")
        text = complete(c, job)
        if ours:
            assert admitted(c, job, text)
        else: # a step may be, now that there is an agent
            assert "job=none\n" in text and text.count(ALONE) == 1, text
        wait_for("an empty agent", lambda: not c.status(), 60)
        os.unlink(go)
        results.append(ours)
    c.set_timeout(PATIENT_MS)
    print(f"of {len(results)} jobs that the agent was killed at the start of, "
          f"{sum(results)} were shared, the others said that they were not")


def main():
    need_cluster()
    with Cluster() as c:
        job = check_hung_before(c)
        check_hung_within(c)
        check_hung_tools(c, job)
        check_all_cores(c)
        check_prolog(c)
        check_task_init(c)
        check_all_cores(c)


main()
