#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A job that does not attach and uses one core is serial: it has one core of the
division, and may run wherever Slurm said, as what it starts counts the CPUs it
may use.  When it uses several it is held, and when it does no more, let go."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (BURN, Agent, Program, affinities, allowed_cpus, cpus_of,
                   fake, need, skip, kill_both, wait_for)

ALL = set(allowed_cpus())

# One busy thread; a process with several while file 1 is there.
SCRIPT = BURN + r"""
import subprocess, time
child = None
burn(1)
while True:
    time.sleep(0.2) # seldom: a wait for a busy CPU counts as use
    wanted = os.path.exists(sys.argv[1])
    if wanted and not child:
        child = subprocess.Popen([sys.executable, "-c", sys.argv[2]])
        print(child.pid, flush=True)
    elif child and not wanted:
        child.kill()
        child.wait()
        child = None
"""
CHILD = BURN + "burn()\nthreading.Event().wait()"
# Held, it makes a child that does nothing, and whose parent ends.
PARENT = BURN + r"""
import subprocess, time
os.setsid()
burn()
while len(os.sched_getaffinity(0)) == os.cpu_count():
    time.sleep(0.001)
print(subprocess.run(["sh", "-c", "sleep 1000 >/dev/null & echo $!"], check=True,
                     stdout=subprocess.PIPE, text=True).stdout, flush=True)
threading.Event().wait()
"""


def is_unpinned(agent, script):
    job = agent.job(script.job)
    return job["state"] == "serial" and job["cores"] == 1 and \
        free(script.process.pid)


def free(pid):
    return all(s == ALL for s in affinities(pid))


def held(agent, script, pid):
    sets = affinities(pid)
    return agent.job(script.job)["state"] == "pinned" and len(sets) > 3 and \
        all(s == script.cpus() and len(s) == len(ALL) // 2 for s in sets)


def check_serial(agent, script):
    """It stays serial, and its affinity as it was."""
    wait_for("one core", lambda: is_unpinned(agent, script))
    epochs = agent.call({"op": "ping"})["epochs"]
    while agent.call({"op": "ping"})["epochs"] < epochs + 200:
        assert agent.job(2)["state"] == "serial", agent.job(2)
        assert free(script.process.pid)
    assert not agent.job(2)["held"], agent.job(2)


def check_pinned(agent, script, other, go):
    """It is held while it uses several cores."""
    with open(go, "w", encoding="ascii"):
        pass
    child = int(wait_for("child", script.text).split()[-1])
    wait_for("hold", lambda: held(agent, script, child))
    sets = cpus_of(agent, script, other)
    assert sets[0].isdisjoint(sets[1]), sets
    # Alone it can show that it uses no more than one.
    other.kill()
    wait_for("all CPUs", lambda: len(script.cpus()) == len(ALL))
    os.unlink(go)
    wait_for("end of the hold", lambda: is_unpinned_alone(agent, script))


def is_unpinned_alone(agent, script):
    return agent.job(script.job)["state"] == "serial" and \
        free(script.process.pid)


def check_restart(agent, script):
    """What an agent left that was killed with its supervisor does not stay."""
    kill_both(agent)
    cpu = min(ALL)
    for tid in os.listdir(f"/proc/{script.process.pid}/task"):
        os.sched_setaffinity(int(tid), {cpu})
    agent.start()
    wait_for("release", lambda: is_unpinned_alone(agent, script))


def check_heir(agent, epochs):
    """Who was born of a held process EPOCHS before the agent's end has all CPUs, too."""
    with fake(agent, 3) as other, Program(agent, 4, [sys.executable, "-c", PARENT]) as script:
        wait_for("attach", lambda: agent.attached(3))
        heir = int(wait_for("child", script.text))
        assert not free(heir)
        if epochs:
            end = agent.call({"op": "ping"})["epochs"] + epochs
            wait_for("epochs", lambda: agent.call({"op": "ping"})["epochs"] >= end)
        kill_agent = agent.stop if epochs else agent.kill
        kill_agent()
        try:
            wait_for("all CPUs", lambda: free(script.process.pid) and free(heir))
        except AssertionError as error:
            sets = affinities(script.process.pid), affinities(heir)
            raise AssertionError(f"{error}: parent's and heir's threads: {sets}") from error
        os.kill(heir, signal.SIGKILL)
        other.kill()
    agent.start()
    for job in (3, 4):
        assert agent.call({"op": "withdraw", "job": job})["ok"]


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if len(ALL) < 2:
        skip("one CPU cannot be shared in space")
    with Agent("--set", "attach_timeout=1s") as agent, \
            fake(agent, 1) as other:
        wait_for("attach", lambda: agent.attached(1))
        go = os.path.join(agent.directory, "go")
        with Program(agent, 2, [sys.executable, "-c", SCRIPT, go,
                                CHILD]) as script:
            check_serial(agent, script)
            check_pinned(agent, script, other, go)
            check_restart(agent, script)
    if len(ALL) == os.cpu_count():
        with Agent("--set", "attach_timeout=100ms") as agent:
            check_heir(agent, 0)
            check_heir(agent, 100)


main()
