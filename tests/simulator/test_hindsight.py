#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""hindsight.py climbs to a best that is known: that of a stand-in for coschedsim whose makespans
follow a formula."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.environ.get("abs_top_srcdir", os.getcwd()))

# Best, and 100 s, under nupoco, with 17 cores at least for the first job, while the last one waits
# for the first one's end.
STANDIN = """#!{python}
import json, sys
policies = sys.argv[sys.argv.index("--policy") + 1].split(",")
with open(sys.argv[-1]) as file:
    scenarios = json.load(file)["scenarios"]
found = []
for scenario in scenarios:
    first, last = scenario["jobs"][0], scenario["jobs"][-1]
    for policy in policies:
        makespan = (100 + abs(first.get("min_cores", 1) - 17) + 10 * (policy != "nupoco") +
                    5 * (last.get("arrival_s", 0) != 60) + 50 * (policy == "native"))
        found.append({{"scenario": scenario["name"], "policy": policy, "makespan_s": makespan,
                      "jobs": [{{"end_s": 60}} for _ in scenario["jobs"]]}})
print(json.dumps(found))
"""
BOUND = """#!{python}
print('{{"bound_s": 90}}')
"""


class Hindsight(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="hindsight.")
        self.addCleanup(directory.cleanup)
        self.build = directory.name
        self.out = os.path.join(self.build, "hindsight.json")
        os.mkdir(os.path.join(self.build, "simulator"))
        for name, text in (("coschedsim", STANDIN), ("bound", BOUND)):
            program = os.path.join(self.build, "simulator", name)
            with open(program, "w", encoding="utf-8") as file:
                file.write(text.format(python=sys.executable))
            os.chmod(program, 0o755)

    def search(self):
        return subprocess.run(
            [sys.executable, os.path.join(SOURCE, "simulator", "hindsight.py"), self.build, SOURCE,
             self.out, "--only", "nupoco-amd", "--rounds", "1"], capture_output=True,
            text=True, check=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}).stdout

    def test_finds_the_best(self):
        page = self.search()
        with open(self.out, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(len(found), 10)
        for result in found.values():
            self.assertEqual(result["found"], 100, result)
            self.assertEqual(result["how"]["policy"], "nupoco")
            self.assertEqual(result["how"]["least"][0], 17)
            self.assertEqual(result["how"]["start"][-1], 60)
        # Without hindsight: one core at least, nobody waits.
        self.assertIn(f"| {131 / 181:.3f} | {121 / 181:.3f} | {100 / 181:.3f} | "
                      f"{90 / 181:.3f} |", page)
        # What was found is not searched for again.
        os.remove(os.path.join(self.build, "simulator", "coschedsim"))
        self.assertEqual(self.search(), page)


if __name__ == "__main__":
    unittest.main()
