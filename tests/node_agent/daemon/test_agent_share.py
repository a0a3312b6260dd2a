#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Two cooperative jobs have disjoint CPUs, get back what the other leaves, and
keep their CPUs apart over a crash of the agent."""

import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (BATCH, Agent, allowed_cpus, announce, cpus_of, fake, need, skip,
                   wait_for)

ALL = set(allowed_cpus())
TRIES = 50
GROWS, CPUS = 52, 64    # where they are in the page (protocol/layout.h)


def shares(agent, *jobs):
    """The CPUs of each job, which must not overlap."""
    sets = cpus_of(agent, *jobs)
    assert sum(map(len, sets)) == len(set().union(*sets)), sets
    return sets


def attached(agent, *jobs):
    return all(agent.attached(job.job) for job in jobs)


def both_have(agent, one, two):
    sets = shares(agent, one, two)
    return all(sets) and set().union(*sets) == ALL


def attach_at_once(agent, job):
    """In a process of JOB: 0 if its page says that CPUs come, and they are there when it says so no
    more; 1 if it never says so, 2 if they are not there."""
    announce(agent, job)
    agent.call({"op": "task", "job": job, "step": 0, "pid": os.getpid()})
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.connect(agent.socket)
        sock.send(json.dumps({"v": 1, "op": "attach", "job": job, "pid": os.getpid(),
                              "threads": 4}).encode())
        _, (page, _), _, _ = socket.recv_fds(sock, 1 << 17, 2)
        grew = False
        while any(os.pread(page, 4, GROWS)):
            grew = True
        return (0 if any(os.pread(page, 128, CPUS)) else 2) if grew else 1


def check_grows():
    """Who attaches while another has to leave its CPUs is told that they come."""
    for _ in range(TRIES):      # a busy machine does not let it look in those 5 ms
        with Agent() as agent, fake(agent, 1, "ignore=1") as one:
            wait_for("all CPUs for the only job", lambda: one.cpus() == ALL)
            pid = os.fork()
            if pid == 0:
                found = 3
                try:
                    found = attach_at_once(agent, 2)
                finally:
                    os._exit(found)
            found = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            assert found in (0, 1), found
            if found == 0:
                return
    raise AssertionError(f"not told that its CPUs come, in {TRIES} runs")


def main():
    need("coschedd", "coschedctl", "tests/node_agent/daemon/fake_job")
    if len(ALL) < 2:
        skip("one CPU cannot be shared in space")
    check_grows()
    with Agent() as agent, fake(agent, 1) as one:
        wait_for("attach", lambda: attached(agent, one))
        wait_for("all CPUs for the only job", lambda: one.cpus() == ALL)
        with fake(agent, 2) as two:
            wait_for("second attach", lambda: attached(agent, two))
            wait_for("shares", lambda: both_have(agent, one, two))
            # What the agent says is what the process was told and obeyed.
            wait_for("obedience", lambda: all(
                os.sched_getaffinity(job.process.pid) == job.cpus()
                for job in (one, two)))

            agent.kill()
            wait_for("news of the crash", lambda: "lost" in one.text())
            agent.start()
            wait_for("attach after the crash",
                     lambda: attached(agent, one, two))
            wait_for("shares", lambda: both_have(agent, one, two))
        # The second job is dead, though nobody has withdrawn it.
        wait_for("CPUs of a killed job", lambda: one.cpus() == ALL)
        assert agent.job(2)["cpus"] == "", agent.job(2)

        # A requeued job begins anew under its old number.
        reply = announce(agent, 2, restarts=1, step=BATCH)
        assert reply["ok"], reply
        with fake(agent, 2, "kind=serial", announced=True) as two:
            wait_for("attach", lambda: attached(agent, two))
            wait_for("one core for a serial region",
                     lambda: len(two.cpus()) == 1
                     and len(one.cpus()) == len(ALL) - 1)

        assert agent.call({"op": "withdraw", "job": 2})["ok"]
        assert agent.job(2) is None
        assert agent.call({"op": "withdraw", "job": 77})["ok"], "unknown job"

        # Where memory shall lie: as the job says, else as the machine's links allow.
        several = len(os.listdir("/sys/bus/node/devices")) > 1
        for options, wanted in ("interleave=serial", [True]), ("interleave=off", [False]), (
                "", [False, several]):
            assert announce(agent, 3, options=options)["interleave"] in wanted, options
            assert agent.call({"op": "withdraw", "job": 3})["ok"]
        trace = agent.trace()
        names = {event["name"] for event in trace["traceEvents"]}
        assert {"job 1", "cores of job 1", "cores of job 2"} <= names, names


main()
