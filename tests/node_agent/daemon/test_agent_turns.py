#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""More jobs than cores take turns: those without a turn are stopped, everybody
gets one, and nobody stays stopped when the agent is killed, also with its supervisor."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (Agent, allowed_cpus, cpus_of, fake, kill_both, need,
                   supervisor, wait_for)

CPU = allowed_cpus()[0]
JOBS = (1, 2, 3)


def running(agent, programs):
    """The jobs that have CPUs, all others being stopped; None in between: who is
    stopped stops when it runs next."""
    have = [p.job for p, cpus in zip(programs, cpus_of(agent, *programs)) if cpus]
    assert len(have) <= 1, have
    stopped = [p.job for p in programs if p.state() == "T"]
    return have if sorted(have + stopped) == list(JOBS) else None


def check_supervisor(agent, programs):
    """A killed supervisor is no zombie; another takes its place at once, and knows
    who is stopped."""
    killed = supervisor(agent)
    os.kill(killed, signal.SIGKILL)
    wait_for("its end", lambda: not os.path.exists(f"/proc/{killed}"))
    assert agent.call({"op": "ping"})["problems"] == []
    assert supervisor(agent) != killed
    wait_for("two stopped jobs", lambda: running(agent, programs))
    agent.kill()
    wait_for("continuing by the new supervisor", lambda: all(
        p.state() != "T" for p in programs))
    agent.start()


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    with Agent("--set", "slice=200ms", cpus=str(CPU)) as agent:
        programs = []
        try:
            for job in JOBS:
                programs.append(fake(agent, job))
            seen = set()

            def everybody():
                seen.update(running(agent, programs) or ())
                return seen == set(JOBS)

            wait_for("turn of each job", everybody)
            wait_for("two stopped jobs", lambda: running(agent, programs))
            agent.kill()
            wait_for("continuing by the supervisor", lambda: all(
                p.state() != "T" for p in programs))
            agent.start()
            wait_for("turns after the crash", lambda: running(agent, programs))

            check_supervisor(agent, programs)

            # Nobody is left to continue what is stopped: the next agent does.
            wait_for("two stopped jobs", lambda: running(agent, programs))
            kill_both(agent)
            assert sum(p.state() == "T" for p in programs) >= 1
            agent.start()
            seen.clear()
            wait_for("turn of each job", everybody)

            # Fewer jobs than cores again: no turns, nobody stopped.
            programs[2].kill()
            programs[1].kill()
            wait_for("the last job's CPU", lambda: programs[0].cpus() == {CPU}
                     and programs[0].state() != "T")
        finally:
            for program in programs:
                program.__exit__(*sys.exc_info())


main()
