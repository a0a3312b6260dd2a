#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A job whose epilog never came is over when it has been dead for long."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import Agent, announce, fake, need, wait_for


def main():
    need("coschedd", "tests/node_agent/fake_job")
    with Agent("--set", "forget=100ms") as agent:
        with fake(agent, 1):
            wait_for("attach", lambda: agent.attached(1))
        wait_for("end", lambda: agent.job(1)["state"] == "ended")
        # Announcements sweep; one that comes too early changes nothing.
        wait_for("the end of the forgotten job",
                 lambda: announce(agent, 3)["ok"] and agent.job(1) is None)
        assert agent.job(3) is not None
        assert "job 1 ended: cosched/1" in agent.log_text()
    with Agent() as agent:
        with fake(agent, 1):
            wait_for("attach", lambda: agent.attached(1))
        wait_for("end", lambda: agent.job(1)["state"] == "ended")
        assert announce(agent, 3)["ok"]
        assert agent.job(1)["state"] == "ended", "forgotten too early"


main()
