#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""reproduce.py: results are kept, an interrupted run goes on, and what is
reported is what coschedsim said."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("abs_top_builddir", os.getcwd()))
SOURCE = os.path.abspath(os.environ.get("abs_top_srcdir", os.getcwd()))
COSCHEDSIM = os.path.join(BUILD, "simulator", "coschedsim")


class Reproduce(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="reproduce.")
        self.addCleanup(directory.cleanup)
        self.out = directory.name

    def reproduce(self, *words, status=0):
        done = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "simulator", "reproduce.py"),
             BUILD, SOURCE, self.out, *words], capture_output=True, text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def content(self, *path):
        with open(os.path.join(self.out, *path), encoding="utf-8") as file:
            return file.read()

    def test_kept_results_are_used(self):
        first = self.reproduce("--only", "case-study")
        self.assertIn("1 scenarios, 0 of them known", first)
        self.assertNotIn("ep-ft-bs", first, "progress is for terminals")
        data = json.loads(self.content("evaluation.json"))
        page = self.content("evaluation-simulated.md")
        self.assertIn("1 scenarios, 1 of them known",
                      self.reproduce("--only", "case-study"))
        self.assertEqual(json.loads(self.content("evaluation.json")), data)
        native = data["case-study"]["results"]["native"][0]
        corun = data["case-study"]["results"]["corun"][0]
        ntt = corun["makespan_s"] / native["makespan_s"]
        self.assertIn(f"| `corun` | {ntt:.3f} |", page)
        # What was begun only, or of another program, is not a result.
        (name,) = os.listdir(os.path.join(self.out, "runs"))
        kept = os.path.join(self.out, "runs", name)
        with open(kept, encoding="utf-8") as file:
            text = file.read()
        for damaged in (text[:100], text.replace('"key": "', '"key": "0')):
            with open(kept, "w", encoding="utf-8") as file:
                file.write(damaged)
            self.assertIn("0 of them known",
                          self.reproduce("--only", "case-study"))

    def test_unknown_set(self):
        self.assertIn("--only none", self.reproduce("--only", "none", status=2))


if __name__ == "__main__":
    if not os.path.exists(COSCHEDSIM):
        print("SKIP: coschedsim was not built")
        sys.exit(77)
    unittest.main()
