#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""simulator/bound: lower bounds of makespans that are known, and some that policies reach."""

import json
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("abs_top_builddir", os.getcwd())
SOURCE = os.environ.get("abs_top_srcdir", os.getcwd())
SERVICE_US = 0.02
INTEL = os.path.join(SOURCE, "machines", "intel-e7-8870v3-4x18.json")
INTEL_PROGRAMS = os.path.join(SOURCE, "simulator", "workloads", "intel-e7-8870v3.json")
POLICIES = "corun,nupoco,greedy,moca,equal,batch"


def machine(cores):
    """One LLC domain and one controller."""
    return {"name": "small", "source": "made up",
            "llc_domains": [{"cpus": f"0-{cores - 1}", "memory": 0}],
            "numa_nodes": [{"service_us": SERVICE_US}]}


def job(name, *regions):
    return {"name": name, "phases": [{"regions": [
        {"name": str(i), **region} for i, region in enumerate(regions)]}]}


class Bound(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="bound.")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def write(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        return path

    def call(self, on, library, *jobs):
        scenarios = self.write("jobs.json", {"scenarios": [{"name": "x", "jobs": list(jobs)}]})
        return subprocess.run([os.path.join(BUILD, "simulator", "bound"), on, library, scenarios],
                              capture_output=True, text=True, check=False)

    def bound(self, cores, *jobs):
        done = self.call(self.write("machine.json", machine(cores)), INTEL_PROGRAMS, *jobs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["bound_s"]

    def test_linear_speeds(self):
        """Work over cores, whoever has them."""
        jobs = [job("a", {"work_s": 24}), job("b", {"work_s": 8})]
        self.assertAlmostEqual(self.bound(8, *jobs), 4, 4)
        self.assertAlmostEqual(self.bound(8, *jobs, job("c", {"work_s": 16})), 6, 4)

    def test_serial_regions(self):
        """One core each: what is serial lasts, and the other core is for others."""
        serial = {"kind": "serial", "work_s": 4}
        self.assertAlmostEqual(self.bound(2, job("a", serial), job("b", {"work_s": 2})), 4, 4)
        self.assertAlmostEqual(self.bound(2, job("a", serial), job("b", {"work_s": 6})), 5, 4)
        self.assertAlmostEqual(self.bound(2, job("a", serial, {"work_s": 2}),
                                          job("b", {"work_s": 6})), 6, 4)

    def test_saturated_memory(self):
        """All requests, one after the other."""
        region = {"work_s": 8, "read_per_us": 200, "llc_per_us": 200}
        busy_s = 2 * 8e6 * 200 * SERVICE_US * 1e-6
        bound = self.bound(8, job("a", region), job("b", region))
        self.assertGreater(bound, 0.9999 * busy_s)
        self.assertLess(bound, 1.01 * busy_s)

    def test_no_policy_is_below(self):
        for programs in (["BT", "FT"], ["BT", "KM"], ["PR", "SVM"]):
            done = self.call(INTEL, INTEL_PROGRAMS, *({"program": p} for p in programs))
            self.assertEqual(done.returncode, 0, done.stderr)
            bound = json.loads(done.stdout)["bound_s"]
            simulated = json.loads(subprocess.run(
                [os.path.join(BUILD, "simulator", "coschedsim"), "run", "--json", "--machine",
                 INTEL, "--library", INTEL_PROGRAMS, "--policy", POLICIES,
                 os.path.join(self.directory, "jobs.json")],
                capture_output=True, text=True, check=True).stdout)
            for one in simulated:
                self.assertGreater(one["makespan_s"], bound, one)
            # Nor is it far below: 22 % where serial stages of both are to be filled.
            self.assertLess(min(one["makespan_s"] for one in simulated), 1.25 * bound)

    def test_refusals(self):
        done = self.call(self.write("machine.json", machine(2)), INTEL_PROGRAMS,
                         *(job(name, {"work_s": 1}) for name in "abcd"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("x: 4 jobs, at most 3", done.stderr)
        done = self.call("no-such-machine", INTEL_PROGRAMS, job("a", {"work_s": 1}))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no-such-machine", done.stderr)


if __name__ == "__main__":
    unittest.main()
