#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Who lends its cores in serial stretches has the same ones back after each, and so has who
borrowed them: the data of both lie where their cores were."""

import json
import os
import subprocess
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
PROGRAM = os.path.join(os.environ["abs_top_builddir"], "simulator", "coschedsim")
STRETCHES = 8


def region(name, work, reads):
    return {"name": name, "placement": "local", "work_s": work, "read_per_us": reads,
            "llc_per_us": 3 * reads}


SCENARIO = {"name": "loans", "jobs": [
    {"name": "lender", "phases": [{"repeat": STRETCHES + 1, "regions": [
        {"name": "serial", "kind": "serial", "work_s": 0.3}, region("parallel", 10, 60)]}]},
    {"name": "other", "phases": [{"regions": [region("parallel", 100, 150)]}]}]}


def decisions(directory):
    """{job: (what it is, its CPUs)} of each decision."""
    file = os.path.join(directory, "loans.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(SCENARIO, out)
    subprocess.run([PROGRAM, "run", file, "--machine", "amd-opteron-6380-4x4", "--policy", "corun",
                    "--record", os.path.join(directory, "record")], check=True,
                   stdout=subprocess.DEVNULL,
                   env={**os.environ, "COSCHED_MACHINES": os.path.join(SOURCE, "machines")})
    with open(os.path.join(directory, "record", "record.jsonl"), encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["type"] == "decision":
                yield {job["job"]: (job["state"], job["gets"]) for job in line["jobs"]}


def main():
    lent = returned = 0
    before = None # of the lender's present or last stretch
    last = {}
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as directory:
        for now in decisions(directory):
            if len(now) < 2 or now[2][0] != "malleable":
                continue
            was, state = last.get(1, ("",))[0], now[1][0]
            if was == "malleable" and state == "serial":
                before = last
                lent += now[2][1] != last[2][1]
            elif was == "serial" and state == "malleable" and before:
                assert now == before, (before, now)
                returned += 1
            last = now
    assert lent == returned == STRETCHES, (lent, returned)


main()
