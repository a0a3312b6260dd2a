#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl machine, and the agent with a description of its node."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BUILD

COSCHEDCTL = os.path.join(BUILD, "coschedctl")
COSCHEDD = os.path.join(BUILD, "coschedd")
EPYC = "pack:2 numa:2 l3:2 core:2 pu:2"


def machine(*arguments, synthetic=None, text=None):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("HWLOC_")}
    if synthetic:
        environment["HWLOC_SYNTHETIC"] = synthetic
    return subprocess.run([COSCHEDCTL, "machine", *arguments], text=True,
                          env=environment, input=text or "", check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=300)


def check_show():
    shown = machine(synthetic=EPYC)
    assert shown.returncode == 0, shown
    assert "8 LLC domains, 4 NUMA nodes" in shown.stdout, shown.stdout
    assert "2-3" in shown.stdout and "not measured" in shown.stdout
    stored = machine("--json", synthetic=EPYC)
    description = json.loads(stored.stdout)
    assert description["llc_domains"][1] == {"cpus": "4,6", "memory": 0}
    assert len(description["links"]) == 6
    # What it stores it takes again, edited too.
    description["numa_nodes"][3]["service_us"] = 0.125
    text = json.dumps(description)
    shown = machine("-", synthetic=EPYC, text=text)
    assert shown.returncode == 0 and "125.000" in shown.stdout, shown
    again = machine("--json", "-", synthetic=EPYC, text=text)
    assert json.loads(again.stdout) == description, again.stdout
    shown = machine("-", synthetic="pack:1 core:4 pu:1", text=text)
    assert shown.returncode == 1, shown
    assert "does not fit: it has 4 NUMA nodes" in shown.stderr, shown.stderr


def check_xml(folder):
    """A machine that hwloc stored, here with a recording, is shown elsewhere."""
    os.environ["HWLOC_SYNTHETIC"] = EPYC
    recording = os.path.join(folder, "recording")
    with Agent() as agent:
        assert agent.call({"op": "record", "dir": recording})["ok"]
    del os.environ["HWLOC_SYNTHETIC"]
    os.environ["HWLOC_XMLFILE"] = os.path.join(recording, "topology.xml")
    stored = json.loads(subprocess.run(
        [COSCHEDCTL, "machine", "--json"], check=True, timeout=300,
        stdout=subprocess.PIPE).stdout)
    del os.environ["HWLOC_XMLFILE"]
    synthetic = json.loads(machine("--json", synthetic=EPYC).stdout)
    for key in ("llc_domains", "numa_nodes", "links"):
        assert stored[key] == synthetic[key], (stored[key], synthetic[key])


def check_refusals():
    for arguments, status, words in (
            (["/nowhere"], 1, "/nowhere"),
            (["-"], 1, "standard input"),
            (["a", "b"], 2, "b: one argument too many"),
            (["--xml"], 2, "--xml: unknown option")):
        done = machine(*arguments)
        assert done.returncode == status, (arguments, done)
        assert words in done.stderr, (arguments, done.stderr)


def check_agent(folder):
    stored = os.path.join(folder, "machine.json")
    description = json.loads(machine("--json").stdout)
    with open(stored, "w", encoding="ascii") as out:
        json.dump(description, out)
    with Agent("--machine", stored) as agent:
        assert f"machine: {stored}, not calibrated" in agent.log_text()
    description["calibration"] = {"date": "d", "host": "h", "kernel": "k",
                                  "counters": "none"}
    with open(stored, "w", encoding="ascii") as out:
        json.dump(description, out)
    with Agent("--machine", stored) as agent:
        assert f"machine: {stored}, calibrated" in agent.log_text()
    with Agent("--machine", "hwloc") as agent:
        assert "machine:" not in agent.log_text()
    # One that was asked for must be there and fit.
    description["llc_domains"][0]["cpus"] = "1000"
    with open(stored, "w", encoding="ascii") as out:
        json.dump(description, out)
    for file, words in ((stored, "has CPU 1000, which this node lacks"),
                        (folder + "/none", "No such file")):
        done = subprocess.run(
            [COSCHEDD, "--foreground", "--no-slurm", "--auth", "peer",
             "--socket", f"{folder}/sock", "--state", f"{folder}/state",
             "--machine", file], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            timeout=300)
        assert done.returncode == 1, done
        assert "--machine: " in done.stderr and words in done.stderr, done


check_show()
check_refusals()
with tempfile.TemporaryDirectory(prefix="cosched-test.") as directory:
    check_agent(directory)
    check_xml(directory)
