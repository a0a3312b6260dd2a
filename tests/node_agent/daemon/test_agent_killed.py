#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent is killed at each system call while jobs take turns, one is announced and one
ends and its record goes to the accounting: nothing stays stopped, what was answered is so,
the next agent serves, and the accounting has one record of each job.

A sample of the calls; COSCHED_KILL_ALL=1: all of them."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from accountedagent import AccountedAgent
from fakes import affinities, allowed_cpus, announce, fake, need, wait_for
from killpoints import need_tracing, walk
from slurmhelper import need_fake

CPU = allowed_cpus()[0]
EVERYTHING = frozenset(allowed_cpus())


class Life:
    """Jobs 1 and 2 take turns, job 1 ends, job 3 is announced."""

    def __init__(self, agent):
        self.agent = agent
        self.answered = set()
        self.task = subprocess.Popen(["sleep", "1000"])

    def ask(self, name, request):
        """Ask, unless that was answered; False: the agent has died."""
        if name not in self.answered:
            try:
                reply = request()
            except (OSError, json.JSONDecodeError):
                return False
            assert reply["ok"], (name, reply)
            self.answered.add(name)
        return True

    def news(self):
        """What the plugin tells the agent: job 3 begins, job 1 is over."""
        a = self.agent
        return self.ask("announce", lambda: announce(a, 3)) and \
            self.ask("task", lambda: a.call({"op": "task", "job": 3, "step": 0,
                                             "pid": self.task.pid})) and \
            self.ask("withdraw", lambda: a.call({"op": "withdraw", "job": 1}))

    def recorded(self, job):
        return job in self.agent.records() or self.agent.process.poll() is not None

    def check_known(self):
        """The next agent knows what was answered."""
        jobs = {job["job"]: job for job in self.agent.status()["jobs"]}
        assert 2 in jobs and (3 in jobs or "announce" not in self.answered), jobs
        assert 1 not in jobs or "withdraw" not in self.answered, jobs
        assert "task" not in self.answered or jobs[3]["state"] not in ("announced", "ended"), jobs
        assert "set aside" not in self.agent.log_text()

    def finish(self):
        """Jobs 2 and 3 end, too."""
        a = self.agent
        assert self.news()
        for job in (2, 3):
            assert a.call({"op": "withdraw", "job": job})["ok"]
        wait_for("all records", lambda: set(a.records()) == {1, 2, 3})
        for name, comments in a.slurm.changes().items():
            assert len(comments) == 1, (name, comments)
        assert a.call({"op": "ping"})["problems"] == []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.task.kill()
        self.task.wait()


def live(point):
    agent = AccountedAgent("--set", "slice=100ms", cpus=str(CPU))
    agent.prefix = point.command
    agent.account(1, 2, 3)
    with agent, Life(agent) as life, fake(agent, 1) as one, fake(agent, 2) as two:
        wait_for("turns", lambda: "T" in (one.state(), two.state()))
        point.begin()
        one.kill()
        if life.news():
            wait_for("record", lambda: life.recorded(1))
        point.end()
        if not life.ask("ping", lambda: agent.call({"op": "ping"})):
            agent.process.wait(60)
            wait_for("end of all stops", lambda: two.state() != "T")
            agent.prefix = []
            agent.start()
            life.check_known()
        life.finish()
        agent.stop()
        assert two.state() != "T" and affinities(life.task.pid) == [EVERYTHING]


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    need_fake()
    need_tracing()
    walk("the agent", live, 6, window=True)


main()
