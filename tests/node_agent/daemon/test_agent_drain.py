#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Operating an agent: drain and resume, the health check, a log that says
nothing while nothing changes."""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (BUILD, affinities, allowed_cpus, fake, need, pinned,
                   wait_for)
from fake_helper import SlurmAgent

CPUS = set(allowed_cpus())


def ctl(agent, *arguments):
    return subprocess.run(
        [os.path.join(BUILD, "coschedctl"), "--socket", agent.socket,
         *arguments], capture_output=True, text=True, check=False, timeout=300)


def check_drain(agent):
    with fake(agent, 1) as one, fake(agent, 2) as two, \
            pinned(agent, 3) as held:
        jobs = (one, two, held)
        wait_for("shares", lambda: agent.attached(1) and agent.attached(2)
                 and agent.job(3)["state"] in ("pinned", "parked"))
        done = ctl(agent, "drain", "--reason", "moving house")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        # Every job has all that Slurm gave it, and none is stopped.
        wait_for("all CPUs", lambda: all(j.cpus() == CPUS for j in jobs))
        assert set().union(*affinities(held.process.pid)) >= CPUS
        assert held.state() != "T", held.state()
        # A new one, too; and so it stays after a crash.
        with fake(agent, 4) as new:
            wait_for("attach", lambda: agent.attached(4))
            wait_for("all CPUs", lambda: new.cpus() == CPUS)
            agent.kill()
            agent.start()
            wait_for("attach", lambda: all(map(agent.attached, (1, 2, 4))))
            wait_for("all CPUs",
                     lambda: all(j.cpus() == CPUS for j in (*jobs, new)))
        shown = ctl(agent, "status").stdout
        assert "sharing is drained since 2" in shown, shown
        assert "moving house" in shown, shown
        drained = json.loads(ctl(agent, "status", "--json").stdout)["drained"]
        assert drained["reason"] == "moving house"
        assert drained["uid"] == os.getuid() and drained["since"] > 1e9
        health = ctl(agent, "health")
        assert health.returncode == 0, health
        assert "sharing is drained: moving house" in health.stdout, health
        assert any("sharing is drained" in d["text"] for d in
                   agent.call({"op": "explain"})["decisions"])
        assert ctl(agent, "resume").returncode == 0
        if len(CPUS) > 1:
            wait_for("shares",
                     lambda: not all(j.cpus() == CPUS for j in jobs))
        assert json.loads(
            ctl(agent, "status", "--json").stdout)["drained"] is None
        again = ctl(agent, "resume")
        assert again.returncode == 1, again
        assert "not drained" in again.stderr, again
    for job in (1, 2, 3, 4):
        assert agent.call({"op": "withdraw", "job": job})["ok"]
    long = ctl(agent, "drain", "--reason", "x" * 256)
    assert long.returncode == 2 and "--reason" in long.stderr, long
    bad = ctl(agent, "resume", "--reason", "x")
    assert bad.returncode == 2 and "resume: --reason: not for" in bad.stderr


def check_health(agent):
    well = ctl(agent, "health")
    assert well.returncode == 0, well
    assert well.stdout.startswith("well: coschedd on "), well
    assert well.stdout.count("\n") == 1 and not well.stderr, well
    agent.say(json.dumps({"event": "absent", "error": "no route"}))
    agent.config("cosched_epoch=x")
    agent.say(json.dumps({"event": "absent", "error": "no route"}))
    sick = wait_for("absence", lambda: (lambda h: h.returncode == 1 and
                    "cosched_epoch=x" in h.stdout and
                    "no route" in h.stdout and h)(ctl(agent, "health")))
    assert sick.stdout.count("\n") == 1, sick
    listed = json.loads(ctl(agent, "health", "--json").stdout)
    assert len(listed["problems"]) == 2, listed
    agent.say(json.dumps({"event": "present"}))
    agent.config("")
    wait_for("health", lambda: ctl(agent, "health").returncode == 0)
    # An agent that is stopped costs the check its time limit, no more.
    agent.process.send_signal(signal.SIGSTOP)
    try:
        hung = ctl(agent, "health", "--timeout", "0.2")
        assert hung.returncode == 3, hung
        assert "did not answer" in hung.stdout, hung
        script = os.path.join(BUILD, "node_agent/daemon/cosched-health")
        done = subprocess.run(
            ["sh", script], check=False, timeout=300, capture_output=True,
            text=True, env={**os.environ, "COSCHED_SOCKET": agent.socket,
                            "COSCHEDCTL": os.path.join(BUILD, "coschedctl"),
                            "LOGGER": "echo"})
        assert done.returncode == 0, done  # the node stays in use
        assert "no agent: " in done.stdout, done
    finally:
        agent.process.send_signal(signal.SIGCONT)
    wait_for("health", lambda: ctl(agent, "health").returncode == 0)
    bad = ctl(agent, "health", "--timeout", "never")
    assert bad.returncode == 2 and "--timeout never" in bad.stderr, bad
    nobody = subprocess.run(
        [os.path.join(BUILD, "coschedctl"), "--socket",
         agent.path("nowhere"), "health"], capture_output=True, text=True,
        check=False)
    assert nobody.returncode == 3 and "no agent" in nobody.stdout, nobody


def check_quiet(agent):
    """Hundreds of epochs without a change: not one line."""
    agent.config("cosched_epoch=10ms,cosched_policy=equal,cosched_profile=0,"
                 "cosched_attach_timeout=100ms")
    with fake(agent, 5) as one, fake(agent, 6), pinned(agent, 7):
        wait_for("shares", lambda: agent.attached(5) and agent.attached(6)
                 and agent.job(7)["state"] in ("pinned", "parked"))
        epochs = agent.call({"op": "ping"})["epochs"]
        wait_for("calm", lambda:
                 agent.call({"op": "ping"})["epochs"] > epochs + 50, 120)
        epochs, log = agent.call({"op": "ping"})["epochs"], agent.log_text()
        wait_for("300 epochs", lambda:
                 agent.call({"op": "ping"})["epochs"] > epochs + 300, 120)
        assert agent.log_text() == log, agent.log_text()[len(log):]
        assert one.process.poll() is None


def main():
    need("coschedd", "coschedctl", "tests/node_agent/daemon/fake_job")
    with SlurmAgent("--set", "attach_timeout=200ms") as agent:
        agent.config("")
        check_drain(agent)
        check_health(agent)
        agent.stop()
        agent.arguments = [a for a in agent.arguments
                           if a not in ("--set", "attach_timeout=200ms")]
        os.unlink(agent.path("say"))
        agent.start()
        check_quiet(agent)


main()
