#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the records of earlier runs tell the agent of a job: how long it takes alone."""

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
MACHINE = os.path.join(SOURCE, "machines", "amd-opteron-6380-8x8.json")
# A long job, and a short one that comes when the long one has run for a while.
MIX = {"name": "long-short",
       "library": os.path.join(SOURCE, "simulator", "workloads",
                               "amd-opteron-6380.json"),
       "jobs": [{"program": "SP", "name": "long", "scale": 0.3},
                {"program": "EP", "name": "short", "scale": 0.1,
                 "arrival_s": 1.5}]}


class History(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="history.")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_mix(self, *words, policy="corun", command="run", **keys):
        file = os.path.join(self.directory, "mix.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump({**MIX, **keys}, out)
        done = subprocess.run([COSCHEDSIM, command, file, "--machine", MACHINE,
                               "--policy", policy, "--json", *words],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads(done.stdout)
        for one in results:  # all but the real time of decisions
            one.pop("decide_us")
        return results

    def test_corun_is_not_worse_with_history(self):
        without = self.run_mix()[0]
        told = self.run_mix("--history")[0]
        # Who is known to take long keeps what the short job can spare.
        self.assertLess(told["makespan_s"], 0.98 * without["makespan_s"])
        self.assertEqual(told["history"], True)
        self.assertEqual([j["alone_s"] for j in told["jobs"]],
                         [j["alone_s"] for j in without["jobs"]])
        self.assertEqual(told, self.run_mix("--history")[0])

    def test_the_key_does_what_the_option_does(self):
        told = self.run_mix("--history", "--explain")
        self.assertEqual(told, self.run_mix("--explain", history=True))
        self.assertEqual(told, self.run_mix("--history", "--explain",
                                            history=False))
        compared = self.run_mix("--history", command="compare")[0]
        self.assertEqual(compared["makespan_s"], told[0]["makespan_s"])

    def test_nothing_is_told_unless_asked_for(self):
        without = self.run_mix("--explain")
        self.assertEqual(without, self.run_mix("--explain", history=False))
        self.assertNotIn("history", without[0])

    def test_who_does_not_look_at_it_does_the_same(self):
        all_told = self.run_mix("--history", policy="equal,nupoco,native")
        for told in all_told:
            self.assertTrue(told.pop("history"))
        self.assertEqual(all_told, self.run_mix(policy="equal,nupoco,native"))

    def expected(self, *words):
        """Job: what the agent's journal says that it expected, all values."""
        recording = os.path.join(self.directory, "recording" + "".join(words))
        result = self.run_mix("--record", recording, *words)[0]
        found = {}
        with open(os.path.join(recording, "record.jsonl"),
                  encoding="utf-8") as lines:
            for share in shares(map(json.loads, lines)):
                found.setdefault(share["job"], set()).add(share["expected_s"])
        return [found[j] for j in sorted(found)], [job["done_s"] for job in result["jobs"]]

    def test_the_agent_has_the_record_alone(self):
        expected, beside = self.expected("--history")
        self.assertEqual(len(expected), len(MIX["jobs"]))
        for job, seen, done in zip(MIX["jobs"], expected, beside):
            alone = self.run_mix(jobs=[job])[0]["jobs"][0]
            self.assertTrue(math.isclose(alone["done_s"], alone["turnaround_s"], rel_tol=0.01))
            self.assertTrue(math.isclose(seen.pop(), alone["done_s"], abs_tol=1e-5))
            self.assertFalse(seen)
            self.assertTrue(math.isclose(done, alone["done_s"], rel_tol=0.15))
        self.assertEqual(self.expected()[0], [{0}, {0}])


def shares(value):
    """Each object within VALUE that has "expected_s"."""
    if isinstance(value, dict):
        if "expected_s" in value:
            yield value
        value = value.values()
    elif isinstance(value, (str, int, float)) or value is None:
        return
    for inner in value:
        yield from shares(inner)


if __name__ == "__main__":
    if not os.path.exists(COSCHEDSIM):
        print("SKIP: coschedsim was not built")
        sys.exit(77)
    unittest.main()
