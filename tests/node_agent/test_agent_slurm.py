#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent's line to Slurm, with a helper of the test's own: options from
slurm.conf, records of jobs, a helper that dies, an agent that is killed before a
record was delivered."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import Agent, announce, fake, need, wait_for

# Reads lines to say from DIR/say, notes in DIR/heard what it is told; answers
# final records only when DIR/answer exists; ends when told "die".
HELPER = """#!/usr/bin/env python3
import json, os, select, sys
folder = os.path.dirname(os.path.abspath(__file__))
said, rest = 0, b""
while True:
    if select.select([0], [], [], 0.02)[0]:
        data = os.read(0, 65536)
        if not data:
            sys.exit(0)
        rest += data
        *lines, rest = rest.split(b"\\n")
        for line in lines:
            with open(folder + "/heard", "ab") as heard:
                heard.write(line + b"\\n")
            told = json.loads(line)
            if told["final"] and os.path.exists(folder + "/answer"):
                print(json.dumps({"event": "recorded", "job": told["job"]}),
                      flush=True)
    try:
        say = open(folder + "/say").read().splitlines()
    except FileNotFoundError:
        say = []
    for line in say[said:]:
        if line == "die":
            os.unlink(folder + "/say")
            sys.exit(3)
        print(line, flush=True)
    said = max(said, len(say))
"""


class SlurmAgent(Agent):
    """An agent with the helper above instead of --no-slurm."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.helper = os.path.join(self.directory, "helper")
        with open(self.helper, "w", encoding="ascii") as helper:
            helper.write(HELPER)
        os.chmod(self.helper, 0o755)
        self.arguments += ["--helper", self.helper]
        self.slurm = True

    def path(self, name):
        return os.path.join(self.directory, name)

    def say(self, line):
        with open(self.path("say"), "a", encoding="ascii") as say:
            say.write(line + "\n")

    def config(self, parameters):
        self.say(json.dumps({"event": "config",
                             "scheduler_parameters": parameters}))

    def heard(self, **want):
        """What the helper was told, restricted to lines with all of WANT."""
        try:
            with open(self.path("heard"), encoding="utf-8") as lines:
                told = [json.loads(line) for line in lines]
        except FileNotFoundError:
            return []
        return [t for t in told if all(t[k] == want[k] for k in want)]


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
