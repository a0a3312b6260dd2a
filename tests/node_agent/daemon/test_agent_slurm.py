#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent's line to Slurm, with a helper of the test's own: options from
slurm.conf, records of jobs, a helper that dies, an agent that is killed before a
record was delivered."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import allowed_cpus, announce, fake, need, wait_for
from fake_helper import SlurmAgent

def option(agent, name):
    return agent.call({"op": "config"})[name]


def check_config(agent):
    agent.config("bf_interval=30,cosched_policy=greedy,cosched_epoch=20ms")
    wait_for("options", lambda: option(agent, "policy") == "greedy")
    assert option(agent, "epoch_ns") == 20_000_000
    # What is wrong is as if it were not there, and named in one line.
    agent.config("cosched_policy=bogus,cosched_epoch=20ms,cosched_lease=x")
    wait_for("default", lambda: option(agent, "policy") == "corun")
    assert option(agent, "epoch_ns") == 20_000_000
    complaint = [line for line in agent.log_text().splitlines()
                 if "without effect" in line]
    assert len(complaint) == 1, complaint
    for word in ("cosched_policy=bogus", "cosched_lease=x"):
        assert word in complaint[0], complaint
        assert word in option(agent, "problems")
    # What the command line sets stays, whatever slurm.conf says.
    agent.config("cosched_slice=9s,cosched_policy=equal")
    wait_for("options", lambda: option(agent, "policy") == "equal")
    assert option(agent, "slice_ns") == 3_000_000_000
    assert option(agent, "epoch_ns") == 50_000_000, "back to the default"
    agent.say("this is no JSON")
    wait_for("complaint", lambda: "no event" in agent.log_text())


def origin(agent, name):
    for entry in agent.call({"op": "config"})["options"]:
        if entry["name"] == name:
            return entry["value"], entry["from"]
    raise AssertionError(f"no option {name}")


def check_layers(agent):
    agent.config("cosched_policy=equal,cosched_policy@long=moca,"
                 "cosched_policy_options@long=generations:7,"
                 "cosched_epoch@other=20ms,cosched_epoch@gone=30ms",
                 partitions="short,long", others="other")
    wait_for("options", lambda: option(agent, "policy") == "moca")
    assert origin(agent, "policy") == ("moca", "slurm.conf, partition long")
    assert origin(agent, "policy_options")[0] == "generations:7"
    assert origin(agent, "epoch") == ("50ms", "default")
    assert origin(agent, "slice") == ("3s", "command line")
    assert option(agent, "partitions") == "short,long"
    assert "cosched_epoch@gone: no such partition" in option(agent, "problems")
    # What the next agent starts with while slurmctld is away.
    agent.say(json.dumps({"event": "absent", "error": "fake"}))
    wait_for("absence", lambda: "does not answer: fake" in agent.log_text())
    os.unlink(agent.path("say"))
    agent.kill()
    agent.start()
    assert option(agent, "policy") == "moca"
    agent.config("cosched_policy_options=generations:7,cosched_counters=bogus,"
                 "cosched_max_jobs=1,cosched_fairness=10")
    wait_for("options", lambda: option(agent, "policy") == "corun")
    assert "generations:7" in option(agent, "problems")
    assert origin(agent, "policy_options") == ("", "default")
    assert origin(agent, "fairness") == ("10", "slurm.conf")
    wait_for("complaint", lambda: "cosched_counters=bogus" in agent.log_text())
    agent.config("cosched_counters=progress,cosched_max_jobs=1")
    wait_for("counters", lambda: "counters: asked for progress" in agent.log_text())
    agent.config("")
    wait_for("defaults", lambda: origin(agent, "max_jobs")[1] == "default")


def check_max_jobs(agent):
    """One job has cores at a time, whatever their number."""
    agent.config("cosched_max_jobs=1,cosched_policy=equal")
    wait_for("options", lambda: origin(agent, "max_jobs")[0] == "1")
    with fake(agent, 51) as one, fake(agent, 52) as other:
        wait_for("attach", lambda: agent.attached(51) and agent.attached(52))
        wait_for("a turn", lambda: bool(one.cpus()) != bool(other.cpus()))
        agent.config("cosched_policy=equal")
        wait_for("cores for both" if len(allowed_cpus()) > 1 else "a core",
                 lambda: len(allowed_cpus()) == 1 or
                 (one.cpus() and other.cpus()))
    for job in (51, 52):
        assert agent.call({"op": "withdraw", "job": job})["ok"]


def check_records(agent):
    with fake(agent, 41):
        wait_for("region", lambda: "+40" in str(agent.job(41)["region"]))
        interim = wait_for("interim record",
                           lambda: agent.heard(job=41, cmd="comment"))
        assert interim[0]["text"].startswith("cosched/1 state=running ")
    assert agent.call({"op": "withdraw", "job": 41})["ok"]
    final = wait_for("final record", lambda: agent.heard(job=41, cmd="record"))
    text = final[0]["text"]
    assert text.startswith("cosched/1 state=final policy=equal "), text
    assert "attached=1" in text and "regions=1" in text, text
    assert final[0]["end"] > 1_000_000_000, final

    # Not confirmed: told again by the next helper, and by the next agent.
    agent.say("die", "records.say")
    wait_for("record for the second helper",
             lambda: len(agent.heard(job=41, cmd="record")) == 2)
    assert "exit status 3" in agent.log_text(), agent.log_text()
    agent.kill()
    agent.start()
    wait_for("record for the second agent",
             lambda: len(agent.heard(job=41, cmd="record")) == 3)
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
             lambda: agent.heard(job=42, cmd="record"))
    wait_for("an empty state", lambda: '"job": 42' not in state(agent))


def check_controller(agent):
    """What job_submit.lua wrote is asked for before it is overwritten, survives a
    restart, and is dropped when the job is another one."""
    with fake(agent, 51):
        wait_for("attach", lambda: agent.attached(51))
        told = wait_for("interim record", lambda: agent.heard(job=51,
                                                              cmd="comment"))
        told = agent.heard(job=51)
        assert [t["cmd"] for t in told][:2] == ["job", "comment"], told
        assert agent.job(51)["weight"] == 1, agent.job(51)
        assert agent.job(51)["history"] is None
        for bad in ("cosched-job/1 weight=1000", "a note",
                    "cosched-job/1 runs=3 done_s=-4", "x" * 2000):
            agent.say(json.dumps({"event": "job", "job": 51, "comment": bad}))
        agent.say(json.dumps({"event": "job", "job": 999, "comment": "x"}))
        agent.say(json.dumps({
            "event": "job", "job": 51, "comment":
            "cosched-job/1 weight=2.5 runs=3 done_s=500 done_spread=0.01 "
            "steps=100000 steps_spread=0 alone_s=480.5 program=fake_job"}))
        wait_for("weight", lambda: agent.job(51)["weight"] == 2.5)
        assert "weight=1000" in agent.log_text(), agent.log_text()
        history = agent.job(51)["history"]
        assert history["runs"] == 3 and history["dropped"] is None, history
        assert history["expected_s"] > 400, history
        assert history["alone_s"] == 480.5, history
        agent.kill()
        os.unlink(agent.path("say"))
        agent.start()
        wait_for("attach", lambda: agent.attached(51))
        assert agent.job(51)["weight"] == 2.5
        assert agent.job(51)["history"]["runs"] == 3
        agent.say(json.dumps({
            "event": "job", "job": 51, "comment":
            "cosched-job/1 runs=3 done_s=500 program=another"}))
        wait_for("its being dropped", lambda: agent.job(51)["history"]
                 ["dropped"] == "it is another program")
    agent.call({"op": "withdraw", "job": 51})
    final = wait_for("final record", lambda: agent.heard(job=51, cmd="record"))
    assert " program=fake_job" in final[0]["text"], final
    assert " granted=" in final[0]["text"], final


# Sends a request as another user.
ASK = """
import os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
    sock.settimeout(60)
    sock.connect(sys.argv[2])
    sock.send(sys.argv[3].encode())
    print(sock.recv(1 << 17).decode())
"""


def ask_as(agent, uid, op, **request):
    return json.loads(subprocess.run(
        [sys.executable, "-c", ASK, str(uid), agent.socket,
         json.dumps({"v": 1, "op": op, **request})], check=True, cwd="/",
        stdout=subprocess.PIPE).stdout)


def check_private():
    """PrivateData=jobs: others' jobs are for root and SlurmUser, and for nobody else
    as long as slurmctld has not said whether they are."""
    with SlurmAgent() as agent:
        for job, uid in ((1, 61001), (2, 61002)):
            assert announce(agent, job, uid=uid)["ok"]

        def seen(uid):
            return {job["job"] for job in ask_as(agent, uid, "status")["jobs"]}

        assert (seen(61001), seen(61002), seen(61003)) == ({1}, {2}, set())
        agent.config("")
        wait_for("all to be seen", lambda: seen(61001) == {1, 2})
        assert ask_as(agent, 61003, "status", job=1)["ok"]
        agent.config("", private_jobs=True, slurm_user=61064)
        wait_for("privacy", lambda: seen(61001) == {1})
        assert (seen(61002), seen(61064)) == ({2}, {1, 2})
        assert {job["job"] for job in agent.status()["jobs"]} == {1, 2}
        # As if there were no such job.
        for op in ("status", "explain", "trace", "why"):
            reply = ask_as(agent, 61001, op, job=2)
            other = ask_as(agent, 61001, op, job=999)
            assert not reply["ok"] and \
                reply["error"].replace("2", "999") == other["error"], (reply, other)
        assert ask_as(agent, 61001, "explain")["decisions"] == []
        assert "PrivateData" in ask_as(agent, 61001, "trace")["error"]
        assert ask_as(agent, 61064, "explain")["ok"]


def state(agent):
    with open(agent.path("state.json"), encoding="utf-8") as text:
        return text.read()


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    with SlurmAgent("--set", "slice=3s") as agent:
        check_config(agent)
        check_layers(agent)
        check_max_jobs(agent)
        check_records(agent)
        check_controller(agent)
        assert announce(agent, 43)["ok"]
    if os.getuid() == 0:
        check_private()


main()
