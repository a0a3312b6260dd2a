#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Every fuzz target with its kept inputs, and a second of new ones; faults are found."""

import concurrent.futures
import glob
import os
import tempfile
import unittest

from fuzz import Target

BUILD = os.environ["abs_top_builddir"]
SOURCE = os.environ["abs_top_srcdir"]


def programs():
    found = glob.glob(f"{SOURCE}/tests/*/fuzz_*.c") + glob.glob(f"{SOURCE}/tests/*/*/fuzz_*.c")
    return sorted(os.path.relpath(path[:-2], SOURCE) for path in found)


class Fuzz(unittest.TestCase):
    def setUp(self):
        os.chdir(BUILD)
        self.keep = tempfile.TemporaryDirectory()
        self.addCleanup(self.keep.cleanup)

    def test_all(self):
        targets = [Target(program, self.keep.name) for program in programs()]
        self.assertGreaterEqual(len(targets), 20)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outputs = list(pool.map(lambda t: t.run(1), targets))
        for target, output in zip(targets, outputs):
            with self.subTest(target.name):
                self.assertEqual(target.found, [], output[-3000:])
                self.assertGreater(target.runs, 0, output[-3000:])

    def planted(self, text):
        """What is said of the planted fault that TEXT has."""
        target = Target("tests/fuzz/planted", self.keep.name)
        os.makedirs(target.kept)
        with open(os.path.join(target.kept, "fault"), "w", encoding="utf-8") as f:
            f.write(text)
        target.run(1)
        self.assertEqual(len(target.found), 1)
        with open(target.found[0]["file"], encoding="utf-8") as f:
            self.assertEqual(f.read(), text)
        return target.found[0]["what"]

    def test_answer_that_is_not_so(self):
        self.assertIn('not so: strcmp(text, "broken") != 0', self.planted("broken"))

    def test_read_beyond_the_end(self):
        self.assertIn("heap-buffer-overflow", self.planted("cp beyond"))


if __name__ == "__main__":
    unittest.main()
