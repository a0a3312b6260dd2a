#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""From throughput to cores, on a machine of eight cores that hwloc is told to
see: regions are measured where they run and, now and then, probed; a
memory-bound job and a compute-bound one are told apart, and the policy gives
the cores to the one that can use them."""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, fake, need, wait_for

CORES = 8
MEMORY_BOUND = 2.0  # effective rho: no speedup beyond 1.5


def known(agent, job):
    region = agent.job(job)["region"]
    return region and region["state"] == "known" and "rho" in region


def told_apart(agent):
    """A first profile may be off on a busy machine, which takes time from the
    jobs while they are measured; more measurements mend it."""
    if not (known(agent, 1) and known(agent, 2)):
        return False
    first, second = (agent.job(n)["region"] for n in (1, 2))
    return first["rho"] < 0.2 and second["rho"] > 0.3 and \
        not second["compute_bound"]


def undisturbed(job):
    """What it reports is of its own cores alone, however busy this machine is."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(job.process.pid, os.SCHED_FIFO, os.sched_param(1))


def share(job):
    return len(job.cpus())


def main():
    need("coschedd", "coschedctl", "tests/node_agent/daemon/fake_job")
    # The agent decides for this machine; that the affinities do not exist here
    # does not matter to jobs that only calculate what they would have done.
    os.environ["HWLOC_SYNTHETIC"] = f"pack:1 core:{CORES} pu:1"
    # Long enough that what a loaded test machine steals is a small part, and
    # half of the time, or the first probe would be 16 s away.
    with Agent("--set", "epoch=100ms", "--set", "profile=600ms",
               "--set", "probe=50") as agent:
        cores = f"0-{CORES - 1}"
        with fake(agent, 1, "rate=1e6", cores=cores) as compute:
            undisturbed(compute)
            wait_for("attach", lambda: agent.attached(1))
            wait_for("all cores", lambda: share(compute) == CORES)
            with fake(agent, 2, "rate=1e6", f"rho={MEMORY_BOUND}",
                      cores=cores) as memory:
                undisturbed(memory)
                wait_for("profiles", lambda: told_apart(agent), 300)
                wait_for("more cores for who can use them", lambda:
                         share(compute) > share(memory) >= 1
                         and share(compute) + share(memory) == CORES, 300)
                check_story(agent)
            wait_for("all cores again", lambda: share(compute) == CORES)
    check_objective()


def check_objective():
    """A job's own objective comes as far as the decision, which says that this
    machine's description lacks what it needs."""
    with Agent("--set", "policy=equal") as agent, \
            fake(agent, 1, cores=f"0-{CORES - 1}", options="objective=energy") as job:
        wait_for("a reason", lambda: "what the machine draws is not known"
                 in reason(agent))
        assert share(job) == CORES


def reason(agent):
    decisions = agent.call({"op": "explain", "job": 1})["decisions"]
    return decisions[-1]["text"] if decisions else ""


def check_story(agent):
    """What was decided can be read afterwards."""
    texts = [d["text"] for d in agent.call({"op": "explain"})["decisions"]]
    assert any("to be measured" in text for text in texts), texts
    for job in (1, 2):
        assert agent.call({"op": "explain", "job": job})["decisions"]
    trace = agent.trace()
    regions = {job: agent.call({"op": "status", "job": job})["jobs"][0]["region"]["region"]
               for job in (1, 2)}
    assert all(name.endswith("+40") for name in regions.values()), regions
    states = {(e["tid"], e["name"].replace(regions[e["tid"]], "+40"))
              for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == 2}
    assert {(job, "malleable +40 known") for job in (1, 2)} <= states, states


main()
