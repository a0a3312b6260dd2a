#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The scenarios of the tree are what make_scenarios.py makes; random mixes
depend on the seed and on nothing else."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("abs_top_srcdir", os.getcwd())
SCENARIOS = os.path.join(SOURCE, "simulator", "scenarios")


def make(directory, *options):
    subprocess.run([sys.executable,
                    os.path.join(SCENARIOS, "make_scenarios.py"), directory,
                    *options], check=True)


def content(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Mixes(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mixes.")
        self.addCleanup(self.directory.cleanup)

    def random(self, seed, count):
        make(self.directory.name, "--seed", str(seed), "--random", str(count))
        return content(self.directory.name, "random.json")

    def test_tree_is_what_was_made(self):
        make(self.directory.name)
        made = sorted(os.listdir(self.directory.name))
        self.assertEqual(made, ["big.json", "case-study.json", "moca.json",
                                "nupoco.json", "thesis.json"])
        for name in made:
            self.assertEqual(content(self.directory.name, name),
                             content(SCENARIOS, name), name)

    def test_random_mixes(self):
        one = self.random(7, 5)
        self.assertEqual(one, self.random(7, 5))
        self.assertNotEqual(one, self.random(8, 5))
        scenarios = json.loads(self.random(1, 100))["scenarios"]
        self.assertEqual(len({s["name"] for s in scenarios}), 100)
        for s in scenarios:
            self.assertTrue(2 <= len(s["jobs"]) <= 4)


if __name__ == "__main__":
    unittest.main()
