#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Interleaved pages follow cores under corun, where links are what jobs wait for, and under no
other policy.  Many take their time.  Where all nodes are connected, and each controller is wanted,
they stay."""

import json
import os
import subprocess
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
PROGRAM = os.path.join(os.environ["abs_top_builddir"], "simulator", "coschedsim")


def scenario(gib):
    region = {"name": "loop", "placement": "interleaved", "work_s": 40, "read_per_us": 60,
              "llc_per_us": 180}
    return {"name": "pages", "jobs": [{"name": f"job{i}", "memory_gib": gib,
                                       "phases": [{"repeat": 10, "regions": [region]}]}
                                      for i in range(2)]}


def makespan(directory, gib, policy, machine="intel-8280-2x28-snc2"):
    file = os.path.join(directory, "pages.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(scenario(gib), out)
    done = subprocess.run([PROGRAM, "run", file, "--machine", machine, "--policy", policy,
                           "--json"], check=True, stdout=subprocess.PIPE,
                          env={**os.environ, "COSCHED_MACHINES": os.path.join(SOURCE, "machines")})
    return json.loads(done.stdout)[0]["makespan_s"]


def main():
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as directory:
        quick, slow = (makespan(directory, gib, "corun") for gib in (1, 50))
        stays = makespan(directory, 1, "equal")
        assert quick < 0.8 * stays and quick < slow, (quick, slow, stays)
        assert stays == makespan(directory, 50, "equal")
        there = [makespan(directory, gib, "corun", "intel-e7-8870v3-4x18") for gib in (1, 50)]
        assert there[0] == there[1], there


main()
