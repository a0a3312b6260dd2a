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
sys.path.insert(0, os.path.join(SOURCE, "slurm_conf"))
sys.path.insert(0, os.path.join(SOURCE, "slurm_conf/testcluster"))
sys.dont_write_bytecode = True

import corechart        # noqa: E402
import demo             # noqa: E402
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


def span(tid, name, ts, dur, pid=1):
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": ts,
            "dur": dur}


def named(tid, name, pid=1):
    return {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name",
            "args": {"name": name}}


# As the agent writes it: CPUs in process 1, the jobs' states in process 2.
TRACE = {"displayTimeUnit": "ms", "traceEvents": [
    {"ph": "M", "pid": 1, "tid": 0, "name": "process_name",
     "args": {"name": "CPUs"}},
    {"ph": "C", "pid": 2, "name": "cores of job 7", "ts": 5e6,
     "args": {"cores": 2}},
    named(0, "CPU 0"), span(0, "job 7", 5e6, 1e6), span(0, "job 8", 6e6, 2e6),
    named(1, "CPU 1"), span(1, "job 7", 5e6, 3e6), span(1, "job 9", 9e6, 1e6),
    named(7, "job 7", pid=2), span(7, "clean 1f+40", 5e6, 1e6, pid=2),
    span(1, "job 7", 8e6, 0),
]}


class Picture(unittest.TestCase):
    def test_parse_trace(self):
        self.assertEqual(corechart.parse_trace(TRACE), [
            (0, 5, 6, "7"), (0, 6, 8, "8"), (1, 5, 8, "7"), (1, 9, 10, "9")])

    def test_select_counts_from_the_first_of_the_jobs(self):
        segments = corechart.parse_trace(TRACE)
        self.assertEqual(corechart.select(segments, ["8", "9"]),
                         [(0, 0, 2, "8"), (1, 3, 4, "9")])
        self.assertEqual(corechart.select(segments, ["1"]), [])

    def test_bad_traces_are_refused_by_name(self):
        for text in ("", "[]", "{}", '{"traceEvents": [{}]}',
                     '{"traceEvents": [{"ph": "X"}]}', '{"traceEvents": 3}'):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                with self.assertRaisesRegex(corechart.TraceError,
                                            f"^{file.name}: not a trace"):
                    corechart.read_trace(file.name)
        with self.assertRaisesRegex(corechart.TraceError, "^/nonexistent/t"):
            corechart.read_trace("/nonexistent/t")

    def test_ticks(self):
        for end, right in ((0, [0]), (0.9, [0, 0.2, 0.4, 0.6, 0.8]),
                           (6, [0, 1, 2, 3, 4, 5, 6]),
                           (13, [0, 2, 4, 6, 8, 10, 12]),
                           (100, [0, 20, 40, 60, 80, 100]),
                           (1e-3, [0, 2e-4, 4e-4, 6e-4, 8e-4, 1e-3])):
            self.assertEqual(corechart.ticks(end), right)

    def draw(self, *panels):
        return ElementTree.fromstring(corechart.draw(list(panels)).encode())

    def test_picture_is_well_formed_and_complete(self):
        panel = corechart.Panel("a < b & c", corechart.parse_trace(TRACE),
                                [("batch", 16.1), ("coschedule", 12.0)],
                                {"7": "ep <7>", "8": "cg"})
        root = self.draw(panel, corechart.Panel("second", []))
        space = "{http://www.w3.org/2000/svg}"
        texts = [t.text for t in root.iter(space + "text")]
        for wanted in ("a < b & c", "ep <7>", "cg", "job 9", "CPU 0", "CPU 1",
                       "batch", "16.1", "coschedule", "12.0", "no trace",
                       "seconds since the first allotment",
                       "makespan, seconds"):
            self.assertIn(wanted, texts)
        titles = [t.text for t in root.iter(space + "title")]
        self.assertIn("ep <7> on CPU 1: 5.000 s to 8.000 s", titles)
        bars = {r.get("fill"): float(r.get("width"))
                for r in root.iter(space + "rect") if r.get("height") ==
                f"{corechart.BAR_HEIGHT:.2f}"}
        self.assertAlmostEqual(bars[corechart.STRONG] / bars[corechart.WEAK], 12 / 16.1, 2)

    def test_everything_lies_within_the_picture(self):
        many = [corechart.Segment(cpu, 0, 1 + cpu, str(cpu % 11))
                for cpu in range(256)]
        root = self.draw(corechart.Panel("many", many, [("x", 3.0)]),
                         corechart.Panel("none", [], []))
        height = float(root.get("height"))
        for element in root.iter():
            for end, size in (("x", "width"), ("y", "height")):
                if element.tag.endswith("rect"):
                    reach = float(element.get(end)) + float(element.get(size))
                    self.assertLessEqual(reach, float(root.get(size)) + 0.01)
        labels = [float(t.get("y")) for t in root.iter()
                  if (t.text or "").startswith("CPU ")]
        self.assertGreater(len(labels), 8)
        self.assertGreaterEqual(min(b - a for a, b in
                                    zip(labels, labels[1:])), 10)
        self.assertLess(max(labels), height)


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
