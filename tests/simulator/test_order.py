#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Policies come in the order that docs/evaluation-simulated.md promises, on a few of the
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
OURS = ["corun"]
CHOSEN = ["05-bt-ft-ep", "09-ft-km"]
# Beside a program that follows no allotment and reports nothing, whose
# behaviour has to be learned after its serial beginning.
PINNED = ["ft-lr"]
# Random mixes in which ours once were 4 to 11 % worse than equal shares: the
# longest job was slowed down, or cores stayed scattered over all LLC domains.  The
# search may go another way where a compiler rounds otherwise: so much more.
MIXES = {1: ["random-1-025"], 2: ["random-2-002"]}
ROUNDING = 1.02
# Since serial stretches lend cores, nupoco gains more than ours in 09-ft-km.
TIE = 1.01


def simulate(name, chosen, policies):
    """{policy: {scenario: seconds}} of those CHOSEN of the shipped file NAME, or
    of the file at the path NAME."""
    if not os.path.isabs(name):
        name = os.path.join(SOURCE, "simulator", "scenarios", name + ".json")
    with open(name, encoding="utf-8") as file:
        scenarios = json.load(file)
    scenarios["library"] = os.path.join(SOURCE, "simulator", "workloads",
                                        "amd-opteron-6380.json")
    scenarios["scenarios"] = [s for s in scenarios["scenarios"]
                              if s["name"] in chosen]
    assert len(scenarios["scenarios"]) == len(chosen)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenarios, file)
        file.flush()
        done = subprocess.run(
            [COSCHEDSIM, "run", file.name, "--machine",
             os.path.join(SOURCE, "machines", "amd-opteron-6380-8x8.json"),
             "--policy", ",".join(policies), "--json"],
            capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    times = {}
    for result in json.loads(done.stdout):
        times.setdefault(result["policy"], {})[result["scenario"]] = \
            result["makespan_s"]
    return times


class Order(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.time = simulate("nupoco", CHOSEN, SIMPLE + PAPERS + OURS)
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

    def check_worst(self, time, more=1):
        for ours in OURS:
            for scenario in time[ours]:
                best = min(time[p][scenario] for p in SIMPLE)
                self.assertLess(time[ours][scenario], 1.03 * more * best,
                                (ours, scenario, time))

    def test_ours_are_never_worse_than_the_best_simple_way(self):
        self.check_worst(self.time)

    def test_nor_in_random_mixes(self):
        make = os.path.join(SOURCE, "simulator", "scenarios",
                            "make_scenarios.py")
        for seed, chosen in MIXES.items():
            with tempfile.TemporaryDirectory(prefix="mixes.") as directory:
                subprocess.run([sys.executable, make, directory, "--seed",
                                str(seed), "--random", "30"], check=True)
                self.check_worst(simulate(
                    os.path.join(directory, "random.json"), chosen,
                    SIMPLE + OURS), ROUNDING)

    def test_nor_beside_pinned_programs(self):
        self.check_worst(simulate("moca", PINNED, SIMPLE + OURS))


if __name__ == "__main__":
    if not os.path.exists(COSCHEDSIM):
        print("SKIP: coschedsim was not built")
        sys.exit(77)
    unittest.main()
