#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Two of the papers' scenarios: policies come in the papers' order.  (All of
them, and amdahl, which does not: docs/evaluation.md.)"""

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
POLICIES = ["native", "scalability", "nupoco"]
CHOSEN = ["05-bt-ft-ep", "08-bt-km"]


class Order(unittest.TestCase):
    def test_nupoco_beats_the_others_in_geomean(self):
        shipped = os.path.join(SOURCE, "simulator", "scenarios", "nupoco.json")
        with open(shipped, encoding="utf-8") as file:
            scenarios = json.load(file)
        scenarios["library"] = os.path.join(SOURCE, "simulator", "workloads",
                                            "amd-opteron-6380.json")
        scenarios["scenarios"] = [s for s in scenarios["scenarios"]
                                  if s["name"] in CHOSEN]
        self.assertEqual(len(scenarios["scenarios"]), len(CHOSEN))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(scenarios, file)
            file.flush()
            done = subprocess.run(
                [COSCHEDSIM, "run", file.name, "--machine",
                 os.path.join(SOURCE, "machines", "amd-opteron-6380-8x8.json"),
                 "--policy", ",".join(POLICIES), "--json"],
                capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        mean = dict.fromkeys(POLICIES, 0.0)
        for result in json.loads(done.stdout):
            mean[result["policy"]] += math.log(result["makespan_s"])
        mean = {p: math.exp(m / len(CHOSEN)) for p, m in mean.items()}
        for policy in POLICIES[:-1]:
            self.assertLess(mean["nupoco"], mean[policy], mean)


if __name__ == "__main__":
    if not os.path.exists(COSCHEDSIM):
        print("SKIP: coschedsim was not built")
        sys.exit(77)
    unittest.main()
