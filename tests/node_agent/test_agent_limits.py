#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""cosched_cache and cosched_bandwidth of a whole agent: nothing is touched while
they are off or nobody is to be limited, what cannot be done is said once, and
what a killed agent left behind goes.  What is written: test_resctrl_control.c."""

import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import Agent, BUILD, allowed_cpus, fake, need, wait_for

LEFT = "coschedd.4000000.1.7"  # of a process that cannot be


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def cache_ids():
    """Of this machine's L3 caches, for the agent asks it whose they are."""
    ids = set()
    for name in glob.glob("/sys/devices/system/cpu/cpu*/cache/index3/id"):
        with open(name, encoding="ascii") as text:
            ids.add(int(text.read()))
    return sorted(ids) or [0]


SCHEMATA = f"    L3:{';'.join(f'{i}=fffff' for i in cache_ids())}\n"


def resctrl(root):
    """A tree as of a CPU with CAT and monitoring."""
    for name, text in (("cbm_mask", "fffff"), ("min_cbm_bits", "1"),
                       ("shareable_bits", "0"), ("num_closids", "16")):
        write(root, f"info/L3/{name}", f"{text}\n")
    write(root, "info/L3_MON/mon_features", "mbm_total_bytes\n")
    for i in cache_ids():
        write(root, f"mon_data/mon_L3_{i:02}/mbm_total_bytes", "0\n")
    write(root, "schemata", SCHEMATA)
    write(root, "cpus_list", f"0-{max(allowed_cpus())}\n")
    os.makedirs(os.path.join(root, "mon_groups"))
    os.mkdir(os.path.join(root, LEFT))


def groups(root):
    return [name for name in os.listdir(root) if name.startswith("coschedd.")]


def ctl(agent, *arguments):
    return subprocess.run(
        [os.path.join(BUILD, "coschedctl"), "--socket", agent.socket,
         *arguments], capture_output=True, text=True, check=False, timeout=300)


def check_tree(root):
    with Agent(f"--counters=resctrl:{root}", "--set", "cache=confine") as agent:
        assert not groups(root), groups(root)
        assert not agent.call({"op": "ping"})["problems"]
        assert "cosched_cache            confine" in ctl(agent, "config").stdout
        with fake(agent, 1), fake(agent, 2):
            wait_for("attach", lambda: agent.attached(1) and agent.attached(2))
            assert agent.job(1)["limits"] is None, agent.job(1)
            agent.kill()
            os.mkdir(os.path.join(root, LEFT))
            agent.start()
            assert not groups(root), groups(root)
            wait_for("attach", lambda: agent.attached(1) and agent.attached(2))
            begun = agent.call({"op": "ping"})["epochs"]
            wait_for("a look", lambda:
                     agent.call({"op": "ping"})["epochs"] > begun + 40)
            # Nothing is known of their use of caches: nobody is limited.
            assert not groups(root), groups(root)
    with open(os.path.join(root, "schemata"), encoding="ascii") as text:
        assert text.read() == SCHEMATA


def check_garbage(root):
    write(root, "info/L3/cbm_mask", "what\n")
    with Agent(f"--counters=resctrl:{root}", "--set", "cache=confine") as agent:
        problems = agent.call({"op": "ping"})["problems"]
        assert len(problems) == 1, problems
        assert problems[0].startswith("cosched_cache=confine: resctrl: "), problems
        assert problems[0].endswith('cbm_mask: "what" is not a mask'), problems
        assert agent.log_text().count("is not a mask") == 1, agent.log_text()
        health = ctl(agent, "health")
        assert health.returncode == 1 and "is not a mask" in health.stdout, health
        with fake(agent, 1): # which does not keep jobs from running
            wait_for("attach", lambda: agent.attached(1))


def check_off(root):
    os.mkdir(os.path.join(root, LEFT))
    with Agent(f"--counters=resctrl:{root}") as agent:
        assert not groups(root), groups(root) # left by one that was killed
        assert not agent.call({"op": "ping"})["problems"]
        assert "is not a mask" not in agent.log_text()


def main():
    need("coschedd", "coschedctl")
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as root:
        resctrl(root)
        check_tree(root)
        check_garbage(root)
        check_off(root)


if __name__ == "__main__":
    main()
