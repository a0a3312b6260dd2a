#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The demo's arithmetic, its table, its picture, and what it reads."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from xml.etree import ElementTree

SOURCE = os.environ.get("srcdir", ".")
for folder in ("plot", "slurm_conf", "slurm_conf/testcluster"):
    sys.path.insert(0, os.path.join(SOURCE, folder))
sys.dont_write_bytecode = True

import coretrace        # noqa: E402
import demo             # noqa: E402
import svgchart         # noqa: E402
import turnaround       # noqa: E402

MIX = "ep + cg"


def runs_of(mode, *jobs, mix=MIX, verified=True):
    """JOBS are (name, submitted, started, finished)."""
    return [turnaround.Run(mix, mode, *job, verified=verified) for job in jobs]


# ep alone takes 10 s, cg 5 s.
BATCH = runs_of("batch", ("ep", 100, 100, 110), ("cg", 100, 110, 115))
NATIVE = runs_of("native", ("ep", 200, 200, 216), ("cg", 201, 201, 215))
OURS = runs_of("coschedule", ("ep", 300, 300, 312), ("cg", 300, 300, 308))


class Measures(unittest.TestCase):
    def test_turnaround_counts_waiting(self):
        self.assertEqual([r.turnaround for r in BATCH], [10, 15])

    def test_makespan_is_from_first_submission_to_last_end(self):
        self.assertEqual(turnaround.makespan(NATIVE), 16)
        self.assertEqual(turnaround.makespan(BATCH), 15)

    def test_ntt_is_from_first_start_to_last_end(self):
        late = runs_of("passive", ("ep", 400, 407, 419), ("cg", 400, 411, 423))
        runs = BATCH + NATIVE + OURS + late
        self.assertEqual(turnaround.ntt(runs, MIX, "native"), 1)
        self.assertAlmostEqual(turnaround.ntt(runs, MIX, "batch"), 15 / 16)
        self.assertAlmostEqual(turnaround.ntt(runs, MIX, "coschedule"), 12 / 16)
        self.assertAlmostEqual(turnaround.ntt(runs, MIX, "passive"), 16 / 16)

    def test_normalised_turnaround(self):
        runs = BATCH + NATIVE + OURS
        self.assertEqual([round(turnaround.normalised_turnaround(
            runs, MIX, mode), 6) for mode in ("native", "batch", "coschedule")],
            [1, round(25 / 30, 6), round(20 / 30, 6)])

    def test_hmean_speedup(self):
        # Speedups 1/2 and 1/4: 2 / (2 + 4).
        self.assertAlmostEqual(turnaround.hmean_speedup([2, 8], [1, 2]), 1 / 3)
        self.assertEqual(turnaround.hmean_speedup([7], [7]), 1)

    def test_hmean_is_against_the_node_alone(self):
        runs = BATCH + OURS
        # ep 10/12, cg 5/8
        self.assertAlmostEqual(turnaround.hmean(runs, MIX, "coschedule"),
                               2 / (12 / 10 + 8 / 5))
        # waiting counts in the turnaround, not in the time alone
        self.assertAlmostEqual(turnaround.hmean(runs, MIX, "batch"),
                               2 / (1 + 15 / 5))

    def test_measures_need_their_reference(self):
        self.assertIsNone(turnaround.ntt(OURS, MIX, "coschedule"))
        self.assertIsNone(turnaround.normalised_turnaround(
            OURS, MIX, "coschedule"))
        self.assertIsNone(turnaround.hmean(OURS, MIX, "coschedule"))
        self.assertIsNone(turnaround.ntt(OURS + NATIVE, "other", "native"))
        self.assertIsNone(turnaround.normalised_turnaround(
            OURS + NATIVE, "other", "native"))

    def test_a_job_that_did_not_end_has_no_measures(self):
        runs = NATIVE + runs_of("coschedule", ("ep", 300, 300, 312),
                                ("cg", 300, 300, 0))
        self.assertIsNone(turnaround.ntt(runs, MIX, "coschedule"))
        self.assertIsNone(turnaround.normalised_turnaround(
            runs, MIX, "coschedule"))
        self.assertIn("was not measured", turnaround.verdict(runs, MIX)[0])
        rows = turnaround.records(runs)
        self.assertEqual([r["turnaround_s"] for r in rows[2:]], [12, None])
        self.assertEqual([r["makespan_s"] for r in rows[2:]], [None, None])

    def test_records(self):
        self.assertEqual(turnaround.records(OURS)[1], {
            "mix": MIX, "mode": "coschedule", "job": "cg", "turnaround_s": 8,
            "makespan_s": 12, "verified": True})


class Text(unittest.TestCase):
    def test_table(self):
        wrong = runs_of("passive", ("ep", 400, 400, 410), ("cg", 400, 400, 0),
                        verified=False)
        OURS[0].recorded_s = 12
        lines = turnaround.table(BATCH + NATIVE + OURS + wrong).splitlines()
        self.assertEqual([line.split() for line in lines[0:1] + lines[6:]], [
            ["mix", "mode", "job", "turnaround", "by", "sacct", "makespan",
             "NTT", "norm.", "turnaround", "Hmean", "result"],
            ["ep", "+", "cg", "coschedule", "ep", "12.00", "s", "12", "s",
             "12.00", "s", "0.75", "0.67", "0.71", "verified"],
            ["cg", "8.00", "s", "-", "verified"],
            ["ep", "+", "cg", "passive", "ep", "10.00", "s", "-", "-", "-", "-",
             "WRONG"],
            ["cg", "-", "-", "WRONG"]])
        columns = {line.index("verified") for line in lines[2:8]}
        self.assertEqual(columns, {lines[0].index("result")})

    def test_verdict_compares_with_the_best_simple_way(self):
        self.assertEqual(turnaround.verdict(BATCH + NATIVE + OURS, MIX), [
            "ep + cg: total turnaround: co-scheduling wins: 20.00 s, 20.0 % "
            "less than the best simple way (batch, 25.00 s)",
            "ep + cg: makespan: co-scheduling wins: 12.00 s, 20.0 % less than "
            "the best simple way (batch, 15.00 s)"])

    def test_verdict_says_where_we_lose(self):
        passive = runs_of("passive", ("ep", 0, 0, 11), ("cg", 0, 0, 8))
        lines = turnaround.verdict(BATCH + NATIVE + passive + OURS, MIX)
        self.assertIn("total turnaround: co-scheduling LOSES: 20.00 s, 5.3 % "
                      "more than the best simple way (passive, 19.00 s)",
                      lines[0])
        self.assertIn("makespan: co-scheduling LOSES: 12.00 s, 9.1 % more",
                      lines[1])

    def test_verdict_without_comparison(self):
        self.assertEqual(turnaround.verdict(OURS, MIX),
                         ["ep + cg: there is nothing to compare with"])


class Picture(unittest.TestCase):
    SEGMENTS = [coretrace.Segment(0, 0, 4, "7"), coretrace.Segment(1, 1, 3, "8")]

    def test_timeline_and_makespans_of_a_mix(self):
        runs = BATCH + OURS + runs_of("passive", ("ep", 1, 1, 0))
        for run, job in zip(OURS, "78"):
            run.jobid = job
        picture = demo.mix_picture(MIX, self.SEGMENTS, runs)
        root = ElementTree.fromstring(svgchart.document([picture]))
        texts = [e.text for e in root.iter() if e.tag.endswith("text")]
        for wanted in (MIX, "ep (job 7)", "cg (job 8)", "CPU 0", "CPU 1", "batch",
                       f"{turnaround.makespan(BATCH):.1f}", "coschedule",
                       f"{turnaround.makespan(OURS):.1f}", "makespan, seconds",
                       "seconds since the first allotment"):
            self.assertIn(wanted, texts)
        self.assertNotIn("passive", texts)      # it did not end
        titles = [e.text for e in root.iter() if e.tag.endswith("title")]
        self.assertIn("ep (job 7) on CPU 0: 0.000 s to 4.000 s", titles)

    def test_mix_without_trace(self):
        picture = demo.mix_picture(MIX, [], OURS)
        self.assertIn("nobody had a CPU", "".join(picture.parts))


class Reading(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            return demo.read_output(file.name)

    def test_output_of_a_job(self):
        self.assertEqual(
            self.read("cosched: no agent\nstarted 10.5\n"
                      "PASS ep class=A time_s=3.0\nfinished 14.25\n"),
            (10.5, 14.25, True, ["cosched: no agent"]))

    def test_output_of_a_job_that_failed(self):
        self.assertEqual(self.read("started 10.5\nFAIL ep class=A\n"),
                         (10.5, 0, False, ["FAIL ep class=A"]))
        self.assertEqual(demo.read_output("/nonexistent/output"),
                         (0, 0, False, []))

    def test_repeat(self):
        self.assertEqual(demo.choose_repeat(2.1, 8), 4)
        self.assertEqual(demo.choose_repeat(30, 8), 1)

    def refuse(self, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), \
                self.assertRaises(SystemExit) as left:
            demo.parse_arguments(["--cluster", "c", "--build", "b",
                                  *arguments])
        self.assertEqual(left.exception.code, 2)
        return errors.getvalue()

    def test_bad_arguments_are_named(self):
        self.assertIn("--modes: bogus is not one of batch, native, passive, "
                      "coschedule", self.refuse("--modes", "batch,bogus"))
        self.assertIn("--seconds: 0 is not", self.refuse("--seconds", "0"))
        self.assertIn("--seconds: nan is not", self.refuse("--seconds", "nan"))

    def test_missing_cluster_is_named(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = demo.main(["--cluster", "/nonexistent", "--build", "."])
        self.assertEqual(status, 2)
        self.assertIn("--cluster /nonexistent: no cluster", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
