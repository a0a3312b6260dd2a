#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A pinned job all of whose threads but one sleep is serial: others have its cores,
and it has them back when its threads wake up.  Decisions say so.  `make check-lends` runs
this on eight emulated CPUs."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, Program, allowed_cpus, cpus_of, fake, need, skip, wait_for

ALL = set(allowed_cpus())

# Threads that compute, all but the first only while file 1 is there.  They wait for
# that seldom, and rather than for a CPU.
SCRIPT = r"""
import hashlib, os, sys, threading, time
try:
    os.nice(-15)
except PermissionError:
    pass
def work(first):
    while True:
        if first or os.path.exists(sys.argv[1]):
            hashlib.pbkdf2_hmac("sha256", b"", b"", 50000)
        else:
            time.sleep(0.2)
for i in range(4):
    threading.Thread(target=work, args=(i == 0,), daemon=True).start()
threading.Event().wait()
"""


def has_cores(agent, script, other, serial):
    """The two have all CPUs, SCRIPT one of them while it is SERIAL."""
    mine, theirs = cpus_of(agent, script, other)
    job = agent.job(script.job)
    assert mine.isdisjoint(theirs), (mine, theirs)
    few = 1 if serial else len(ALL) // 2
    return job["state"] == ("serial" if serial else "pinned") and \
        mine | theirs == ALL and len(mine) == few


def check_stretches(agent, script, other, go):
    for _ in range(2):
        with open(go, "w", encoding="ascii"):
            pass
        wait_for("half of the cores", lambda: has_cores(agent, script, other, False))
        os.unlink(go)
        wait_for("the others' cores", lambda: has_cores(agent, script, other, True))
    decisions = agent.call({"op": "explain"})["decisions"]
    assert any("job 2: 1 core (serial)" in d["text"] for d in decisions), decisions


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if len(ALL) < 6:
        skip("each of two jobs needs two cores that it can lend: make check-lends")
    with Agent("--set", "policy=equal") as agent, fake(agent, 1) as other:
        wait_for("attach", lambda: agent.attached(1))
        go = os.path.join(agent.directory, "go")
        with Program(agent, 2, [sys.executable, "-c", SCRIPT, go]) as script:
            check_stretches(agent, script, other, go)


main()
