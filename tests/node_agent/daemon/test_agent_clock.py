#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The clock of the node is set a day forth and back while the agent and its helpers run
(tests/support/shifted.c): epochs, turns and leases go on, no job is forgotten or has an
impossible time, what has changed is kept, and records and settings find their way."""

import json
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from accountedagent import AccountedAgent
from fakes import BUILD, allowed_cpus, announce, fake, need, wait_for
from slurmhelper import need_fake

SHIM = f"{BUILD}/tests/support/.libs/shifted.so"
CPU = allowed_cpus()[0]
DAY = 86400
HOUR = 3600
FORGOTTEN = 9 # has ended, without an epilog


class ShiftedAgent(AccountedAgent):
    """An agent whose clock can be set."""

    def __init__(self):
        # A lease that only a jump can let end; an hour until a dead job is forgotten.
        super().__init__("--set", "slice=100ms", "--set", "lease=60s", cpus=str(CPU))
        self.clock = os.path.join(self.directory, "clock")
        self.shift(0)
        self.environment = {"LD_PRELOAD": SHIM, "SHIFTED_CLOCK": self.clock,
                            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")
                                            + ":verify_asan_link_order=0"}

    def shift(self, seconds):
        with open(self.clock, "wb" if not os.path.exists(self.clock) else "r+b") as clock:
            clock.write(struct.pack("q", seconds))

    def ping(self):
        return self.call({"op": "ping"})


def sane(record):
    """No time in RECORD is negative or longer than the test."""
    values = dict(word.split("=", 1) for word in record.split()[1:])
    for key in ("mean_cores", "parallel_s", "core_s", "work_s", "done_s", "alone_s"):
        assert 0 <= float(values.get(key, 0)) < HOUR, record
    return values["state"] == "final"


def check_turns(programs):
    """Each has its turn, and waits."""
    seen = set()

    def everybody():
        seen.update((p.job, p.state() == "T") for p in programs)
        return len(seen) == 2 * len(programs)

    wait_for("turn of each job", everybody)


def check_times(agent, known):
    """What users are shown of the jobs, which are all KNOWN."""
    jobs = {job["job"]: job for job in agent.status()["jobs"]}
    assert set(jobs) == known, set(jobs)
    for job in jobs.values():
        assert 0 <= job["live_s"] < HOUR and 0 <= job["mean_cores"] <= 1 + 1e-9, job
        assert job["near"] is None, job
    events = agent.trace()["traceEvents"]
    assert events and all(0 <= e.get("dur", 0) < HOUR * 1e6 for e in events), events


def saved(agent):
    return os.stat(os.path.join(agent.directory, "state.json")).st_ino


def check_job(agent, number):
    """A whole life of a job, and its record."""
    inode = saved(agent)
    with fake(agent, number):
        wait_for("attach", lambda: agent.attached(number))
        wait_for("saved state", lambda: saved(agent) != inode)
    assert agent.call({"op": "withdraw", "job": number})["ok"]
    wait_for("record", lambda: number in agent.records())
    assert sane(agent.records()[number])


def check_jump(agent, programs, seconds, number):
    agent.shift(seconds)
    epochs = agent.ping()["epochs"]
    wait_for("epochs", lambda: agent.ping()["epochs"] > epochs + 10)
    check_turns(programs)
    check_job(agent, number)
    check_times(agent, {1, 2, FORGOTTEN})
    assert agent.ping()["problems"] == []


def check_settings(agent):
    agent.slurm.write("config", f"{DAY}\ncosched_epoch=40ms\n")
    wait_for("new setting", lambda: agent.call({"op": "config"})["epoch_ns"] == 40_000_000)


def check_restart(agent, programs):
    """The next agent reads what is of another day; it knows what has ended meanwhile."""
    agent.kill()
    agent.start()
    for p in programs:
        wait_for("attach", lambda p=p: agent.attached(p.job))
    check_turns(programs)
    check_times(agent, {1, 2})


def main():
    need("coschedd", "coschedctl", "tests/node_agent/daemon/fake_job",
         "tests/support/.libs/shifted.so")
    need_fake()
    with ShiftedAgent() as agent:
        agent.account(*range(1, 20))
        assert announce(agent, FORGOTTEN)["ok"]
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as task:
            assert agent.call({"op": "task", "job": FORGOTTEN, "step": 0,
                               "pid": task.pid})["ok"]
        with fake(agent, 1, "lease=1") as one, fake(agent, 2, "lease=1") as two:
            check_turns((one, two))
            check_jump(agent, (one, two), DAY, 11)
            check_settings(agent)
            check_jump(agent, (one, two), 0, 12)
            check_jump(agent, (one, two), -DAY, 13)
            for program in (one, two):
                assert "lost" not in program.text(), program.text()
            check_restart(agent, (one, two))
            agent.shift(DAY)
            check_restart(agent, (one, two))
            check_job(agent, 14)
            # The helpers are the first ones, too.
            assert agent.log_text().count("coschedd-slurm ended") == 0, agent.log_text()
            for job in (1, 2):
                assert agent.call({"op": "withdraw", "job": job})["ok"]
            wait_for("all records", lambda: {1, 2, FORGOTTEN} <= set(agent.records()))
            assert all(map(sane, agent.records().values()))
            assert all(len(c) == 1 for c in agent.slurm.changes().values())


main()
