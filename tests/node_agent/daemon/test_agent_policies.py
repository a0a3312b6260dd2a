#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Each policy takes over by name while two jobs run; none is dropped, and who
must wait or share does."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import allowed_cpus, fake, need, wait_for
from fake_helper import SlurmAgent
from coschedtest import skip

SPACE = ("nupoco", "greedy", "equal", "scalability", "amdahl")
ANY = ("best-simple", "corun")
CPUS = set(allowed_cpus()[:2])


def decided(agent, name):
    """The last decision was made by policy NAME."""
    decisions = agent.call({"op": "explain"})["decisions"]
    return decisions and decisions[-1]["policy"] == name


def as_it_should(name, one, two):
    """The jobs ONE and TWO have what policy NAME gives them."""
    have, other = one.cpus(), two.cpus()
    if name == "batch":
        return have == CPUS and two.state() == "T"
    if one.state() == "T" or two.state() == "T":
        return name in ANY and have | other == CPUS
    if name == "native" or name in ANY and have & other:
        return have == other == CPUS
    return len(have) == len(other) == 1 and have | other == CPUS


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if len(CPUS) < 2:
        skip("needs two CPUs")
    with SlurmAgent(cpus=",".join(map(str, sorted(CPUS)))) as agent:
        with fake(agent, 1) as one, fake(agent, 2) as two:
            # Each after one that shares, and one that does not.
            for policy in SPACE + ("batch", "native") + ANY + (
                    "native", "batch", "equal"):
                agent.config(f"cosched_policy={policy}")
                wait_for(policy, lambda: decided(agent, policy)
                         and as_it_should(policy, one, two))
            # Options that are no options of it: its defaults.
            agent.config("cosched_policy=corun,"
                         "cosched_policy_options=gain:2")
            wait_for("complaint", lambda: "gain:2: not an option of policy "
                     "corun" in agent.log_text())
            wait_for("corun", lambda: decided(agent, "corun"))
            assert agent.call({"op": "config"})["policy_options"] == ""
            agent.config("cosched_policy=corun,cosched_policy_options="
                         "gain:0.1;objective:turnaround")
            wait_for("options", lambda: agent.call({"op": "config"})
                     ["policy_options"] == "gain:0.1;objective:turnaround")
            assert decided(agent, "corun")


main()
