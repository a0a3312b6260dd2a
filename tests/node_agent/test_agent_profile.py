#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""From throughput to cores, on a machine of eight cores that hwloc is told to
see: new sections are measured, a memory-bound job and a compute-bound one are
told apart, and the policy gives the cores to the one that can use them."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import Agent, fake, need, wait_for

CORES = 8
MEMORY_BOUND = 2.0  # effective rho: no speedup beyond 1.5


def known(agent, job):
    section = agent.job(job)["section"]
    return section and section["state"] == "known" and "rho" in section


def share(job):
    return len(job.cpus())


def main():
    need("coschedd", "tests/node_agent/fake_job")
    # The agent decides for this machine; that the affinities do not exist here
    # does not matter to jobs that only calculate what they would have done.
    os.environ["HWLOC_SYNTHETIC"] = f"pack:1 core:{CORES} pu:1"
    # Long enough that what a loaded test machine steals is a small part.
    with Agent("--set", "profile=400ms") as agent:
        cores = f"0-{CORES - 1}"
        with fake(agent, 1, "rate=1e6", cores=cores) as compute:
            wait_for("attach", lambda: agent.attached(1))
            wait_for("all cores", lambda: share(compute) == CORES)
            with fake(agent, 2, "rate=1e6", f"rho={MEMORY_BOUND}",
                      cores=cores) as memory:
                wait_for("profiles", lambda: known(agent, 1)
                         and known(agent, 2))
                rho = [agent.job(n)["section"]["rho"] for n in (1, 2)]
                assert rho[0] < 0.05, rho
                assert 1.0 < rho[1] < 4.0, rho
                wait_for("more cores for who can use them", lambda:
                         share(compute) > share(memory) >= 1
                         and share(compute) + share(memory) == CORES)
                check_story(agent)
            wait_for("all cores again", lambda: share(compute) == CORES)


def check_story(agent):
    """What was decided can be read afterwards."""
    texts = [d["text"] for d in agent.call({"op": "explain"})["decisions"]]
    assert any("to be measured" in text for text in texts), texts
    for job in (1, 2):
        assert agent.call({"op": "explain", "job": job})["decisions"]
    trace = json.loads(agent.call({"op": "trace"})["content"])
    states = {(e["tid"], e["name"].split()[0]) for e in trace["traceEvents"]
              if e["ph"] == "X" and e["pid"] == 2}
    # The second one's DoPs may have come about without being asked for.
    assert {(1, "clean"), (1, "half"), (1, "known"),
            (2, "known")} <= states, states


main()
