#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""cosched_cache and cosched_bandwidth of a whole agent: nothing is touched while
they are off or nobody is to be limited, who is to be is, what cannot be done is
said once, and what a killed agent left behind goes.  What is written: test_resctrl_control.c."""

import functools
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import Agent, BUILD, allowed_cpus, fake, need, wait_for

LEFT = "coschedd.4000000.1.7"  # of a process that cannot be


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


@functools.cache
def cache_ids():
    """Of this machine's L3 caches, for the agent asks it whose they are."""
    ids = set()
    for name in glob.glob("/sys/devices/system/cpu/cpu*/cache/index3/id"):
        with open(name, encoding="ascii") as text:
            ids.add(int(text.read()))
    return tuple(sorted(ids)) or (0,)


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


class Traffic:
    """Bytes that the jobs move: the kernel's counters of them."""

    def __init__(self, root, mb_per_s):
        self.root = root
        self.mb_per_s = mb_per_s # by job
        self.begun = time.monotonic()

    def go_on(self):
        """Count up to now, in one piece, in all groups that there are."""
        seconds = time.monotonic() - self.begun
        for group in glob.glob(f"{self.root}/coschedd.*") + \
                glob.glob(f"{self.root}/mon_groups/coschedd.*"):
            rate = self.mb_per_s[int(group.rsplit(".", 1)[1])]
            for i in cache_ids():
                name = f"mon_data/mon_L3_{i:02}/mbm_total_bytes"
                write(group, f"{name}.new", f"{rate * 1e6 * seconds:.0f}\n")
                os.rename(f"{group}/{name}.new", f"{group}/{name}")


def calibrated(folder):
    """This machine, but with one CPU node and a memory that serves 6.4 MB/s."""
    shown = subprocess.run([os.path.join(BUILD, "coschedctl"), "machine",
                            "--json"], capture_output=True, check=True)
    machine = json.loads(shown.stdout)
    machine["cpu_nodes"] = [{
        "cpus": ",".join(node["cpus"] for node in machine["cpu_nodes"]),
        "memory": 0}]
    for memory in machine["mem_nodes"]:
        memory.clear()
        memory["service_us"] = 10
    machine["calibration"] = {"date": "today", "host": "here", "kernel": "none",
                              "counters": "none"}
    path = os.path.join(folder, "machine.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump(machine, file)
    return path


def check_cap(root):
    """From traffic to a limit: all parts of the agent together."""
    for name, text in (("min_bandwidth", "10"), ("bandwidth_gran", "10"),
                       ("num_closids", "8")):
        write(root, f"info/MB/{name}", f"{text}\n")
    write(root, "schemata", SCHEMATA + SCHEMATA.replace("L3", "MB")
          .replace("fffff", "100"))
    traffic = Traffic(root, {1: 50.0, 2: 1.0})
    with Agent(f"--counters=resctrl:{root}", "--policy=equal",
               f"--machine={calibrated(root)}", "--set", "bandwidth=cap") as agent:
        assert not agent.call({"op": "ping"})["problems"]
        with fake(agent, 1), fake(agent, 2):
            def limited():
                """Its limits and its schemata, while both are there: without
                traffic, as when this waits for a CPU, it is let go again."""
                traffic.go_on()
                limits = agent.job(1)["limits"]
                group = [g for g in groups(root) if g.endswith(".1")]
                if not limits or not group:
                    return None
                with open(f"{root}/{group[0]}/schemata", encoding="ascii") as text:
                    lines = text.read().splitlines()
                return (limits, lines) if len(lines) == 2 and \
                    "=100" not in lines[1] else None
            limits, lines = wait_for("limits of job 1", limited)
            assert all(one["bandwidth"] < 1 and one["cache"] == 1
                       for one in limits), limits
            assert lines[0] == SCHEMATA.strip(), lines
            assert lines[1].startswith("MB:"), lines
            assert all(int(part.split("=")[1]) % 10 == 0
                       for part in lines[1].split(";")), lines
            said = [d["text"] for d in agent.call({"op": "explain", "job": 1})
                    ["decisions"] if d["policy"] == "limits"]
            assert any("job 1 on CPU node 0 is capped to " in text
                       for text in said), said
            wait_for("status", lambda: limited() and
                     "of the bandwidth of CPU node 0"
                     in ctl(agent, "status").stdout)

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
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as root:
        resctrl(root)
        check_cap(root)


if __name__ == "__main__":
    main()
