#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl calibrate on this machine, with arrays that measure nothing but
reach every line of it; and what it refuses."""

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BUILD, announce, skip, wait_for

COSCHEDCTL = os.path.join(BUILD, "coschedctl")
COSCHEDPLOT = os.path.join(os.environ["abs_top_srcdir"], "plot", "coschedplot")
QUICK = ["--quick", "--size", "1"]


def run(*arguments, socket="/nowhere/sock"):
    return subprocess.run(
        [COSCHEDCTL, "--socket", socket, *arguments], text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=300)


def calibrate(*arguments, **where):
    return run("calibrate", *arguments, **where)


def built():
    with open(os.path.join(BUILD, "config.h"), encoding="ascii") as header:
        text = header.read()
    return "#define HAVE_NUMA 1" in text and "#define HAVE_GSL 1" in text


def check_end_to_end(folder):
    stored = os.path.join(folder, "machine.json")
    done = calibrate(*QUICK, "--force", "--counters", "none", "-o", stored)
    assert done.returncode == 0, done
    assert "times alone, without counters" in done.stderr, done.stderr
    assert "GB/s read by all cores" in done.stderr, done.stderr
    with open(stored, encoding="ascii") as file:
        machine = json.load(file)
    assert "times alone" in machine["source"]
    made = machine["calibration"]
    assert made["counters"] == "none" and made["forced"] and made["quick"]
    assert made["host"] == os.uname().nodename
    assert made["kernel"] == os.uname().release
    nodes, memories = len(machine["llc_domains"]), len(machine["numa_nodes"])
    groups = nodes + (nodes > 1)        # all cores, too
    assert len(made["runs"]) == groups * memories * 4 * 5, len(made["runs"])
    assert len(made["peak_gb_per_s"]) == memories
    assert all(r["us"] > 0 for r in made["runs"])
    served = run("requests", stored)
    assert served.returncode == 1 and "its calibration has no looks" in served.stderr, served
    # Power, or why there is none.
    if "power" in machine:
        assert machine["power"]["core_w"] > 0 and "W idle" in done.stderr, done.stderr
    else:
        assert "no power: power" in made["notes"] and made["notes"] in done.stderr, done.stderr
    drawn = subprocess.run([COSCHEDPLOT, stored], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    titles = [e.text for e in xml.etree.ElementTree.fromstring(drawn).iter()
              if e.tag.endswith("title")]
    assert any(t.startswith("Service rate") for t in titles), titles
    assert any(t.startswith("Mean time per request") for t in titles), titles
    # What it wrote is a description of this node, and the agent takes it.
    shown = run("machine", stored)
    assert shown.returncode == 0 and "counters: none" in shown.stdout, shown
    with Agent("--machine", stored) as agent:
        assert "calibrated" in agent.log_text()


def check_refusals(folder):
    for arguments, status, words in (
            (["--size", "0"], 2, "--size 0: not 1 to"),
            (["--size", "4MiB"], 2, "--size 4MiB"),
            (["now"], 2, "now: one argument too many"),
            (["--fast"], 2, "--fast: unknown option"),
            ([*QUICK, "--force", "--counters", "bogus"], 1,
             "--counters bogus"),
            ([*QUICK, "--force", "--counters", "progress"], 1,
             "no backend counts memory requests"),
            ([*QUICK, "--force", "-o", folder + "/no/file"], 1, "/no/file")):
        done = calibrate(*arguments)
        assert done.returncode == status, (arguments, done)
        assert words in done.stderr, (arguments, done.stderr)


def check_jobs():
    """A node with co-scheduled jobs is busy, however idle it looks."""
    with Agent() as agent:
        assert announce(agent, 7)["ok"]
        done = calibrate(*QUICK, socket=agent.socket)
        assert done.returncode == 1, done
        assert "1 co-scheduled job on this node; --force" in done.stderr, done
        assert calibrate(*QUICK, "--force",
                         socket=agent.socket).returncode == 0


def check_load():
    """All CPUs compute: the node is busy."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(os.cpu_count())]
    try:
        def refused():
            done = calibrate(*QUICK)
            return done.returncode == 1 and \
                "CPUs of this node are busy; --force" in done.stderr
        wait_for("refusal", refused, 60)
    finally:
        for process in spinners:
            process.kill()
            process.wait()


if not built():
    skip("built without libnuma or GSL")
with tempfile.TemporaryDirectory(prefix="cosched-test.") as directory:
    check_end_to_end(directory)
    check_refusals(directory)
check_jobs()
check_load()
