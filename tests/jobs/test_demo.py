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
for folder in ("plot", "slurm_conf", "slurm_conf/testcluster", "coschedeval"):
    sys.path.insert(0, os.path.join(SOURCE, folder))
sys.dont_write_bytecode = True

import charts           # noqa: E402
import coretrace        # noqa: E402
import demo             # noqa: E402
import rounds           # noqa: E402
import svgchart         # noqa: E402
import turnaround       # noqa: E402

MIX = "ep + cg"


def runs_of(mode, *jobs, mix=MIX, verified=True, number=1):
    """JOBS are (name, submitted, started, finished)."""
    return [turnaround.Run(mix, mode, *job, verified=verified, round=number) for job in jobs]


# ep alone takes 10 s, cg 5 s.
BATCH = runs_of("batch", ("ep", 100, 100, 110), ("cg", 100, 110, 115))
NATIVE = runs_of("native", ("ep", 200, 200, 216), ("cg", 201, 201, 215))
OURS = runs_of("coschedule", ("ep", 300, 300, 312), ("cg", 300, 300, 308))


def three(*groups, spread=(0.99, 1.0, 1.01)):
    """Each of GROUPS in three rounds, in which all takes a little less or longer."""
    found = []
    for number, factor in enumerate(spread, 1):
        for group in groups:
            begin = min(r.submitted for r in group)
            found += runs_of(group[0].mode, *[
                (r.job, *[begin + factor * (t - begin) for t in (r.submitted, r.started,
                                                                 r.finished)])
                for r in group], number=number)
    return found


class Measures(unittest.TestCase):
    def value(self, measure, runs, mode):
        return rounds.relative(measure, runs, MIX, mode).value

    def test_turnaround_counts_waiting(self):
        self.assertEqual([r.turnaround for r in BATCH], [10, 15])

    def test_makespan_is_from_first_submission_to_last_end(self):
        self.assertEqual(turnaround.makespan(NATIVE), 16)
        self.assertEqual(turnaround.makespan(BATCH), 15)

    def test_ntt_is_from_first_start_to_last_end(self):
        late = runs_of("passive", ("ep", 400, 407, 419), ("cg", 400, 411, 423))
        runs = BATCH + NATIVE + OURS + late
        for mode, ntt in (("native", 1), ("batch", 15 / 16), ("coschedule", 12 / 16),
                          ("passive", 1)):
            self.assertAlmostEqual(self.value(turnaround.total_time, runs, mode), ntt)

    def test_normalised_turnaround(self):
        runs = BATCH + NATIVE + OURS
        for mode, value in (("native", 1), ("batch", 25 / 30), ("coschedule", 20 / 30)):
            self.assertAlmostEqual(self.value(turnaround.total_turnaround, runs, mode), value)

    def test_hmean_speedup(self):
        # Speedups 1/2 and 1/4: 2 / (2 + 4).
        self.assertAlmostEqual(turnaround.hmean_speedup([2, 8], [1, 2]), 1 / 3)
        self.assertEqual(turnaround.hmean_speedup([7], [7]), 1)

    def test_hmean_is_against_the_node_alone(self):
        runs = BATCH + OURS
        # ep 10/12, cg 5/8
        self.assertAlmostEqual(rounds.hmean(runs, MIX, "coschedule"), 2 / (12 / 10 + 8 / 5))
        # waiting counts in the turnaround, not in the time alone
        self.assertAlmostEqual(rounds.hmean(runs, MIX, "batch"), 2 / (1 + 15 / 5))

    def test_measures_need_their_reference(self):
        self.assertIsNone(rounds.relative(turnaround.makespan, OURS, MIX, "coschedule"))
        self.assertIsNone(rounds.hmean(OURS, MIX, "coschedule"))
        self.assertIsNone(rounds.relative(turnaround.makespan, OURS + NATIVE, "other", "native"))

    def test_a_job_that_did_not_end_has_no_measures(self):
        runs = NATIVE + runs_of("coschedule", ("ep", 300, 300, 312), ("cg", 300, 300, 0))
        self.assertIsNone(rounds.relative(turnaround.makespan, runs, MIX, "coschedule"))
        self.assertIn("was not measured", rounds.verdict(runs, MIX))
        rows = rounds.records(runs)
        self.assertEqual([r["turnaround_s"] for r in rows[2:]], [12, None])
        self.assertEqual([r["makespan_s"] for r in rows[2:]], [None, None])

    def test_rounds_that_are_not_complete_do_not_count(self):
        runs = three(NATIVE, OURS)
        runs[-1].finished = 0
        self.assertEqual(rounds.relative(turnaround.makespan, runs, MIX, "coschedule").count, 2)

    def test_records(self):
        row = rounds.records(OURS)[1]
        self.assertEqual({key: row[key] for key in list(row)[:6]}, {
            "mix": MIX, "mode": "coschedule", "job": "cg", "turnaround_s": 8,
            "makespan_s": 12, "verified": True})
        self.assertEqual(row["runs"], [{"round": 1, "verified": True, "turnaround_s": 8,
                                        "makespan_s": 12}])
        row = rounds.records(three(NATIVE, OURS))[2]
        self.assertEqual((row["job"], row["turnaround_s"], len(row["runs"])), ("ep", 12, 3))
        self.assertAlmostEqual(row["makespan_to_native"]["ratio"], 0.75)


class Text(unittest.TestCase):
    def test_table(self):
        wrong = runs_of("passive", ("ep", 400, 400, 410), ("cg", 400, 400, 0), verified=False)
        OURS[0].recorded_s = 12
        lines = rounds.table(BATCH + NATIVE + OURS + wrong).splitlines()
        self.assertEqual([line.split() for line in lines[0:1] + lines[6:]], [
            ["mix", "mode", "job", "turnaround", "by", "sacct", "makespan",
             "NTT", "norm.", "turnaround", "Hmean", "result"],
            ["ep", "+", "cg", "coschedule", "ep", "12.00", "s", "12", "s",
             "12.00", "s", "0.75", "0.67", "0.71", "verified"],
            ["cg", "8.00", "s", "-", "verified"],
            ["ep", "+", "cg", "passive", "ep", "10.00", "s", "-", "-", "-", "-", "-", "WRONG"],
            ["cg", "-", "-", "WRONG"]])
        columns = {line.index("verified") for line in lines[2:8]}
        self.assertEqual(columns, {lines[0].index("result")})

    def test_verdict_names_gain_loss_and_noise(self):
        passive = runs_of("passive", ("ep", 0, 0, 11), ("cg", 0, 0, 8))
        self.assertRegex(
            rounds.verdict(three(BATCH, NATIVE, OURS), MIX),
            r"\Aep \+ cg: co-scheduling ends 25 % ± \d earlier than time sharing and ends 20 % ± "
            r"\d earlier than the best simple way \(batch\)\Z")
        self.assertRegex(
            rounds.verdict(three(BATCH, NATIVE, passive, OURS), MIX),
            r"and ends 9 % ± \d later than the best simple way \(passive\)\Z")
        noisy = three(NATIVE) + three(OURS, spread=(1.2, 0.8, 1.9))
        self.assertRegex(rounds.verdict(noisy, MIX),
                         r"co-scheduling shows no difference to time sharing \(within \d+ %\), "
                         r"which is the best simple way\Z")

    def test_verdict_without_comparison(self):
        self.assertEqual(rounds.verdict(OURS, MIX),
                         "ep + cg: there is nothing to compare with")


class Picture(unittest.TestCase):
    def test_it_is_drawn_from_the_records(self):
        runs = BATCH + OURS
        for run, job in zip(OURS, "78"):
            run.jobid = job
        rows = rounds.records(runs, [coretrace.Segment(0, 0, 4, "7"),
                                     coretrace.Segment(1, 1, 3, "8")])
        self.assertEqual([row.get("cores") for row in rows],
                         [None, None, [[0, 0, 4]], [[1, 1, 3]]])
        root = ElementTree.fromstring(svgchart.document(charts.of(rows)))
        texts = [e.text for e in root.iter() if e.tag.endswith(("text", "title"))]
        for wanted in (MIX, "ep on CPU 0: 0.000 s to 4.000 s", "CPU 1", "batch",
                       f"{turnaround.makespan(OURS):.1f}"):
            self.assertIn(wanted, texts)


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
        self.assertIn("--rounds: 0 is not", self.refuse("--rounds", "0"))
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
