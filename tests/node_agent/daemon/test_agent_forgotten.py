#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A job whose epilog never came is over when it has been dead for long, one
whose epilog could only leave a note as soon as the agent sees that."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BATCH, announce, fake, need, wait_for


def leave_note(agent, job):
    """As the epilog does when the agent does not answer: with monotonic time."""
    path = f"{agent.socket}.ended/{job}"
    hidden = f"{agent.socket}.ended/.{job}"
    with open(hidden, "wb") as file:
        now = time.monotonic_ns()
        os.utime(file.fileno(), ns=(now, now))
    os.rename(hidden, path) # not seen before it has its time
    return path


def check_notes():
    """Jobs 1 and 2 live on, job 2 in a later run than the note is about."""
    with Agent() as agent, fake(agent, 1):
        wait_for("attach", lambda: agent.attached(1))
        wait_for("the directory", lambda: os.path.isdir(agent.socket + ".ended"))
        assert announce(agent, 2)["ok"]
        notes = [leave_note(agent, 2)]
        assert announce(agent, 2, restarts=1, step=BATCH)["ok"]
        assert announce(agent, 3)["ok"]
        notes += [leave_note(agent, job) for job in (3, 4)]
        wait_for("looks at the notes",
                 lambda: not any(map(os.path.exists, notes)))
        assert sorted(job["job"] for job in agent.status()["jobs"]) == [1, 2], \
            agent.status()
        assert "job 3: its epilog left a note" in agent.log_text()
        assert "job 3 ended: cosched/1" in agent.log_text()
        assert "job 4" not in agent.log_text()


def has_ended(agent):
    job = agent.job(1)
    return job is None or job["state"] == "ended" # it may be forgotten already


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    check_notes()
    with Agent("--set", "forget=100ms") as agent:
        with fake(agent, 1):
            wait_for("attach", lambda: agent.attached(1))
        wait_for("end", lambda: has_ended(agent))
        # Announcements sweep; one that comes too early changes nothing.
        wait_for("the end of the forgotten job",
                 lambda: announce(agent, 3)["ok"] and agent.job(1) is None)
        assert "job 1 ended: cosched/1" in agent.log_text()
    with Agent() as agent:
        with fake(agent, 1):
            wait_for("attach", lambda: agent.attached(1))
        wait_for("end", lambda: agent.job(1)["state"] == "ended")
        assert announce(agent, 3)["ok"]
        assert agent.job(1)["state"] == "ended", "forgotten too early"


main()
