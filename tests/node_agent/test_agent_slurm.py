#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent's line to Slurm, with a helper of the test's own: options from
slurm.conf, records of jobs, a helper that dies, an agent that is killed before a
record was delivered."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import announce, fake, need, wait_for
from fake_helper import SlurmAgent

def option(agent, name):
    return agent.call({"op": "config"})[name]


def check_config(agent):
    agent.config("bf_interval=30,cosched_policy=greedy,cosched_epoch=20ms")
    wait_for("options", lambda: option(agent, "policy") == "greedy")
    assert option(agent, "epoch_ns") == 20_000_000
    agent.config("cosched_policy=bogus")
    wait_for("complaint", lambda: "bogus" in agent.log_text())
    assert "the old options stay" in agent.log_text(), agent.log_text()
    assert option(agent, "policy") == "greedy"
    # What the command line sets stays, whatever slurm.conf says.
    agent.config("cosched_slice=9s,cosched_policy=equal")
    wait_for("options", lambda: option(agent, "policy") == "equal")
    assert option(agent, "slice_ns") == 3_000_000_000
    assert option(agent, "epoch_ns") == 50_000_000, "back to the default"
    agent.say("this is no JSON")
    wait_for("complaint", lambda: "no event" in agent.log_text())


def check_records(agent):
    with fake(agent, 41):
        wait_for("section", lambda: "+40" in str(agent.job(41)["section"]))
        interim = wait_for("interim record",
                           lambda: agent.heard(job=41, final=False))
        assert interim[0]["text"].startswith("cosched/1 state=running ")
    assert agent.call({"op": "withdraw", "job": 41})["ok"]
    final = wait_for("final record", lambda: agent.heard(job=41, final=True))
    text = final[0]["text"]
    assert text.startswith("cosched/1 state=final policy=equal "), text
    assert "attached=1" in text and "sections=1" in text, text
    assert final[0]["end"] > 1_000_000_000, final

    # Not confirmed: told again by the next helper, and by the next agent.
    agent.say("die")
    wait_for("record for the second helper",
             lambda: len(agent.heard(job=41, final=True)) == 2)
    assert "exit status 3" in agent.log_text(), agent.log_text()
    agent.kill()
    agent.start()
    wait_for("record for the second agent",
             lambda: len(agent.heard(job=41, final=True)) == 3)
    with open(agent.path("answer"), "w", encoding="ascii"):
        pass
    agent.kill()
    agent.start()
    wait_for("delivery", lambda: '"job": 41' not in state(agent))
    # A job that ended while the agent was down gets its final record, too.
    job = fake(agent, 42)
    wait_for("attach", lambda: agent.attached(42))
    agent.kill()
    job.kill()
    agent.start()
    wait_for("record of a job that ended meanwhile",
             lambda: agent.heard(job=42, final=True))
    wait_for("an empty state", lambda: '"job": 42' not in state(agent))


def state(agent):
    with open(agent.path("state.json"), encoding="utf-8") as text:
        return text.read()


def main():
    need("coschedd", "tests/node_agent/fake_job")
    with SlurmAgent("--set", "slice=3s") as agent:
        check_config(agent)
        check_records(agent)
        assert announce(agent, 43)["ok"]


main()
