#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A job that does not attach is pinned to its share by affinity: all threads,
new threads and new processes.  What only waits is left alone, and a crash of the
agent gives everything back."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (BURN, Agent, Program, affinities, allowed_cpus, cpus_of, fake, need,
                   skip, wait_for)

ALL = set(allowed_cpus())

# A parent that waits, and has never done anything else: one that takes long to
# start would be busy when the agent looks, and held with good reason.
PARENT = '"$0" -c "$1" "$2" & echo $!; wait'

# A child with busy threads, and one more when file 1 is there.
BUSY = BURN + r"""
burn()
while not os.path.exists(sys.argv[1]):
    threading.Event().wait(0.01)
burn(1)
threading.Event().wait()
"""


def held(pid, cpus, count):
    sets = affinities(pid)
    return len(sets) >= count and all(s == cpus for s in sets)


def held_to_share(pinned, pid, count):
    cpus = pinned.cpus()
    return len(cpus) == len(ALL) // 2 and held(pid, cpus, count)


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if len(ALL) < 2:
        skip("one CPU cannot be shared in space")
    with Agent("--set", "attach_timeout=1s") as agent, \
            fake(agent, 1) as other:
        wait_for("attach", lambda: agent.attached(1))
        go = os.path.join(agent.directory, "go")
        with Program(agent, 2, ["sh", "-c", PARENT, sys.executable, BUSY,
                                go]) as pinned:
            child = int(wait_for("child", pinned.text))
            try:
                check(agent, other, pinned, child, go)
            finally:
                os.kill(child, 9)


def check(agent, other, pinned, child, go):
    wait_for("hold of the busy child",
             lambda: held_to_share(pinned, child, 4))
    sets = cpus_of(agent, pinned, other)
    assert sets[0].isdisjoint(sets[1]), sets
    with open(go, "w", encoding="ascii"):
        pass
    wait_for("hold of a new thread", lambda: held_to_share(pinned, child, 5))
    assert os.sched_getaffinity(pinned.process.pid) == ALL, \
        "a process that only waits was narrowed"

    # The neighbour leaves: held threads get the freed CPUs as well.
    other.kill()
    wait_for("all CPUs", lambda: held(child, ALL, 5))

    with fake(agent, 3):
        wait_for("attach", lambda: agent.attached(3))
        wait_for("share", lambda: held_to_share(pinned, child, 5))
        agent.kill()
        wait_for("release by the supervisor", lambda: held(child, ALL, 5))
        agent.start()
        wait_for("hold after the crash",
                 lambda: held_to_share(pinned, child, 5))


main()
