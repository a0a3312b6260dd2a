#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Policies come in the order that docs/evaluation.md promises, on a few of the
papers' scenarios.  (All of them: make reproduce.)"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ.get("abs_top_builddir", os.getcwd())
SOURCE = os.environ.get("abs_top_srcdir", os.getcwd())
COSCHEDSIM = os.path.join(BUILD, "simulator", "coschedsim")
SIMPLE = ["native", "batch", "equal"]
PAPERS = ["scalability", "amdahl", "nupoco"]
OURS = ["moca", "corun"]
CHOSEN = ["05-bt-ft-ep", "09-ft-km"]
TIE = 1.005


class Order(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shipped = os.path.join(SOURCE, "simulator", "scenarios", "nupoco.json")
        with open(shipped, encoding="utf-8") as file:
            scenarios = json.load(file)
        scenarios["library"] = os.path.join(SOURCE, "simulator", "workloads",
                                            "amd-opteron-6380.json")
        scenarios["scenarios"] = [s for s in scenarios["scenarios"]
                                  if s["name"] in CHOSEN]
        assert len(scenarios["scenarios"]) == len(CHOSEN)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(scenarios, file)
            file.flush()
            done = subprocess.run(
                [COSCHEDSIM, "run", file.name, "--machine",
                 os.path.join(SOURCE, "machines", "amd-opteron-6380-8x8.json"),
                 "--policy", ",".join(SIMPLE + PAPERS + OURS), "--json"],
                capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        cls.time = {}
        for result in json.loads(done.stdout):
            cls.time.setdefault(result["policy"], {})[result["scenario"]] = \
                result["makespan_s"]
        cls.mean = {p: math.exp(sum(map(math.log, t.values())) / len(t))
                    for p, t in cls.time.items()}

    def test_nupoco_beats_the_others_in_geomean(self):
        for policy in ("native", "scalability", "amdahl"):
            self.assertLess(self.mean["nupoco"], self.mean[policy], self.mean)

    def test_ours_beat_everybody_in_geomean(self):
        for ours in OURS:
            for policy in SIMPLE + PAPERS:
                self.assertLess(self.mean[ours], TIE * self.mean[policy],
                                (ours, policy, self.mean))

    def test_ours_are_never_worse_than_the_best_simple_way(self):
        for ours in OURS:
            for scenario in CHOSEN:
                best = min(self.time[p][scenario] for p in SIMPLE)
                self.assertLess(self.time[ours][scenario], 1.03 * best,
                                (ours, scenario, self.time))


if __name__ == "__main__":
    if not os.path.exists(COSCHEDSIM):
        print("SKIP: coschedsim was not built")
        sys.exit(77)
    unittest.main()
