#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The programs of jobs/: right results, wrong results, bad arguments."""

import json
import os
import re
import subprocess
import tempfile
import unittest

LOSING = os.path.abspath("tests/jobs/.libs/losing.so")
FIGURES = {"ep": "mops", "pinned": "mops", "cg": "solves_per_s",
           "stream": "gb_per_s", "blackscholes": "mprices_per_s",
           "bt": "steps_per_s", "sp": "steps_per_s", "lu": "steps_per_s",
           "ft": "steps_per_s", "is": "mkeys_per_s", "kmeans": "mpoints_per_s",
           "mg": "cycles_per_s", "sparselu": "dense_gflops",
           "streamcluster": "mpoints_per_s", "ua": "steps_per_s"}
if not os.path.exists("jobs/mg"):  # no Fortran compiler
    del FIGURES["mg"]
OWN_CLASS = "bt", "lu", "sp"
OPENMP = [program for program in FIGURES if program != "pinned"]


def run(program, *arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    return subprocess.run([f"jobs/{program}", *arguments],
                          env={**clean, **environment}, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=300)


class Programs(unittest.TestCase):
    def assert_passes(self, done, program, size, threads, repeat=1):
        self.assertEqual(done.stderr, "")
        self.assertRegex(
            done.stdout,
            rf"\APASS {program} class={size} time_s=\d+\.\d{{3}} "
            rf"threads={threads} repeat={repeat} (step_s=\S+ )?"
            rf"{FIGURES[program]}=\S+\n\Z")
        self.assertEqual(done.returncode, 0)

    def test_small_classes_verify(self):
        for program in OPENMP:
            # Threads that spin for each other, and more of them than CPUs, take long where
            # others compute, too.
            for size, threads in (("S", 1), ("S", 2), ("W", 1)):
                if size == "S" or program not in ("sp", "lu"):  # seconds
                    with self.subTest(program, size=size, threads=threads):
                        done = run(program, "--class", size,
                                   OMP_NUM_THREADS=str(threads))
                        self.assert_passes(done, program, size, threads)

    def test_own_classes_verify(self):
        for program in OWN_CLASS:
            done = run(program, "--class", "w", OMP_NUM_THREADS="2")
            self.assert_passes(done, program, "w", 2)
        self.assertIn("cg: --class: w is not one of S, W, A, B, C",
                      run("cg", "--class", "w").stderr)

    def test_pinned_verifies(self):
        for threads in (1, 2, 3):
            with self.subTest(threads=threads):
                done = run("pinned", "--class", "S", "--threads", str(threads))
                self.assert_passes(done, "pinned", "S", threads)

    def test_static_ep_has_its_own_runtime(self):
        if not os.path.exists("jobs/ep-static"):
            self.skipTest("the compiler has no static libgomp")
        done = run("ep-static", "--class", "S", OMP_NUM_THREADS="2")
        self.assert_passes(done, "ep", "S", 2)
        done = run("ep-static", "--class", "S", LD_DEBUG="libs")
        self.assertNotIn("libgomp", done.stderr)

    def test_shared_ep_takes_the_library_it_is_given(self):
        loaded = re.compile(r"calling init: (\S+/libgomp\.so\.1)$", re.M)
        done = run("ep", "--class", "S", LD_DEBUG="libs")
        stock = loaded.search(done.stderr).group(1)
        with tempfile.TemporaryDirectory() as directory:
            os.symlink(stock, f"{directory}/libgomp.so.1")
            done = run("ep", "--class", "S", LD_DEBUG="libs",
                       LD_LIBRARY_PATH=directory)
            self.assertEqual(loaded.search(done.stderr).group(1),
                             f"{directory}/libgomp.so.1")

    def test_stream_in_odd_sizes(self):
        for mb, iterations in (("1", "1"), ("7", "2"), ("5", "100")):
            done = run("stream", "--mb", mb, "--iterations", iterations,
                       "--class", "S", "--repeat", "2", OMP_NUM_THREADS="3")
            self.assert_passes(done, "stream", "S", 3, repeat=2)

    def test_repeat(self):
        for program in OPENMP:
            done = run(program, "--class", "S", "--repeat", "3",
                       OMP_NUM_THREADS="1")
            self.assert_passes(done, program, "S", 1, repeat=3)

    def test_min_time(self):
        done = run("is", "--class", "S", "--min-time", "0.5", "--json",
                   OMP_NUM_THREADS="1")
        result = json.loads(done.stdout)
        self.assertGreaterEqual(result["time_s"], 0.5)
        self.assertGreater(result["repeat"], 1)

    def test_json(self):
        for program in OPENMP:
            done = run(program, "--json", "--class", "S", OMP_NUM_THREADS="1")
            result = json.loads(done.stdout)
            self.assertEqual([key for key in result if key != "step_s"], [
                "result", "program", "class", "time_s", "threads", "repeat",
                FIGURES[program]])
            self.assertEqual(result["result"], "PASS")
            self.assertEqual(result["program"], program)
            self.assertGreater(result[FIGURES[program]], 0)

    def test_lost_iterations_are_noticed(self):
        reasons = {"ep": r"ep: sum of x is \S+, not -3\.2478\S+\n",
                   "cg": r"cg: zeta is \S+, not 8\.597\S+\n",
                   "stream": r"stream: [1-9]\d* of 500000 elements are wrong "
                             r"after 10 iterations\n",
                   "bt": r"bt: residual 0 is \S+, not 1\.703\S+\n",
                   "sp": r"sp: residual 0 is \S+, not 2\.747\S+\n",
                   "ft": r"ft: checksum 1 is .*, not .*\n",
                   "is": r"is: step 1: rank of \d+ is \d+, not \d+\n",
                   "kmeans": r"kmeans: \d+ of 20000 points are in the .*\n",
                   "mg": r"mg: norm is \S+, not 5\.307\S+\n",
                   "streamcluster": r"streamcluster: \d+ of \d+ points are .*\n",
                   "blackscholes": r"blackscholes: \d+ of 20000 prices are "
                                   r"wrong\n",
                   "ua": r"ua: the heat is \S+, not 200\n"}
        for program, reason in reasons.items():
            if program not in FIGURES:
                continue
            with self.subTest(program):
                done = run(program, "--class", "S", "--repeat", "1",
                           OMP_NUM_THREADS="2", LD_PRELOAD=LOSING)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stdout, rf"\AFAIL {program} class=S ")
                self.assertRegex(done.stderr, rf"\A{reason}\Z")

    def test_bad_arguments_are_named(self):
        table = [
            ("--class Q", "--class: Q is not one of S, W, A, B, C{}"),
            ("--class SW", "--class: SW is not one of S, W, A, B, C{}"),
            ("--class", "--class needs a value"),
            ("--repeat 0", "--repeat: 0 is not between 1 and 1e+08"),
            ("--repeat -3", "--repeat: -3 is not between 1 and 1e+08"),
            ("--repeat 1.5", "--repeat: not a whole number: 1.5"),
            ("--repeat 2x", "--repeat: not a number: 2x"),
            ("--min-time nan", "--min-time: not a number: nan"),
            ("--min-time -1", "--min-time: -1 is not between 0 and 1e+08"),
            ("--json extra", "unknown argument: extra"),
            ("-h", "unknown argument: -h"),
        ]
        own = [
            ("stream", "--mb 0", "--mb: 0 is not between 1 and 1.67772e+07"),
            ("stream", "--iterations", "--iterations needs a value"),
            ("pinned", "--threads 0", "--threads: 0 is not between 1 and 4096"),
            ("ep", "--mb 3", "unknown argument: --mb"),
        ]
        for program, line, message in own + [
                (program, *row) for program in FIGURES for row in table]:
            with self.subTest(program, line=line):
                done = run(program, *line.split())
                message = message.format(", w" if program in OWN_CLASS else "")
                self.assertEqual(done.stderr, f"{program}: {message} "
                                 f"(see {program} --help)\n")
                self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_help_lists_every_option(self):
        options = {"stream": ["--mb", "--iterations"], "pinned": ["--threads"]}
        for program in FIGURES:
            own = options.get(program, [])
            done = run(program, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertEqual(re.findall(r"^  (--\S+)", done.stdout, re.M),
                             ["--class", "--repeat", "--min-time", "--json",
                              *own, "--help"])


if __name__ == "__main__":
    unittest.main()
