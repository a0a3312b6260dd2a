#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What every chart is drawn with, and what reads the agent's trace."""

import os
import stat
import sys
import tempfile
import unittest
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.environ.get("abs_top_srcdir", "."), "plot"))
sys.dont_write_bytecode = True

import coretrace        # noqa: E402
import svgchart         # noqa: E402

SPACE = "{http://www.w3.org/2000/svg}"


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
    named(7, "job 7", pid=2), span(7, "serial", 5e6, 1e6, pid=2),
    span(1, "job 7", 8e6, 0),
]}


class Trace(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(coretrace.parse(TRACE), [
            (0, 5, 6, "7"), (0, 6, 8, "8"), (1, 5, 8, "7"), (1, 9, 10, "9")])

    def test_select_counts_from_the_first_of_the_jobs(self):
        segments = coretrace.parse(TRACE)
        self.assertEqual(coretrace.select(segments, ["8", "9"]),
                         [(0, 0, 2, "8"), (1, 3, 4, "9")])
        self.assertEqual(coretrace.select(segments, ["1"]), [])
        self.assertEqual(len(coretrace.select(segments, None)), 4)

    def test_bad_traces_are_refused_by_name(self):
        for text in ("", "[]", "{}", '{"traceEvents": [{}]}',
                     '{"traceEvents": [{"ph": "X"}]}', '{"traceEvents": 3}'):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                with self.assertRaisesRegex(coretrace.TraceError,
                                            f"^{file.name}: not a trace"):
                    coretrace.read(file.name)
        with self.assertRaisesRegex(coretrace.TraceError, "^/nonexistent/t"):
            coretrace.read("/nonexistent/t")


class Chart(unittest.TestCase):
    def draw(self, *pictures, title=""):
        return ElementTree.fromstring(
            svgchart.document(list(pictures), title).encode())

    def texts(self, root, tag="text"):
        return [e.text for e in root.iter(SPACE + tag)]

    def within(self, root):
        """Every box lies within the picture; groups move down only."""
        width, height = float(root.get("width")), float(root.get("height"))
        for group in root.iter(SPACE + "g"):
            down = float(group.get("transform").split()[1].rstrip(")"))
            for rect in group.iter(SPACE + "rect"):
                self.assertGreaterEqual(float(rect.get("x")), 0)
                self.assertLessEqual(float(rect.get("x")) +
                                     float(rect.get("width")), width + 0.01)
                self.assertLessEqual(float(rect.get("y")) + down +
                                     float(rect.get("height")), height + 0.01)
            for text in group.iter(SPACE + "text"):
                self.assertLess(float(text.get("y")) + down, height)

    def test_ticks(self):
        for end, right in ((0, [0]), (0.9, [0, 0.2, 0.4, 0.6, 0.8]),
                           (6, [0, 1, 2, 3, 4, 5, 6]),
                           (13, [0, 2, 4, 6, 8, 10, 12]),
                           (100, [0, 20, 40, 60, 80, 100]),
                           (1e-3, [0, 2e-4, 4e-4, 6e-4, 8e-4, 1e-3])):
            self.assertEqual(svgchart.ticks(end), right)
        self.assertEqual(svgchart.ticks(8, 1, 4), [2, 4, 6, 8])
        self.assertEqual(svgchart.ticks(1, -1, 4), [-1, -0.5, 0, 0.5, 1])

    def test_colours_are_classes_that_exist(self):
        rules = svgchart.style(svgchart.LIGHT)
        for number in range(3 * len(svgchart.COLOURS)):
            for name in svgchart.line_class(number).split():
                self.assertIn(f".{name} {{", rules)
        self.assertEqual(len({svgchart.line_class(i) for i in range(14)}), 14)

    def test_cores(self):
        picture = svgchart.Picture("a < b & c", "who had what")
        svgchart.cores(picture, coretrace.select(coretrace.parse(TRACE), None),
                       {"7": "ep <7>", "8": "cg"})
        other = svgchart.Picture("second")
        svgchart.cores(other, [], {})
        root = self.draw(picture, other)
        for wanted in ("a < b & c", "ep <7>", "cg", "job 9", "CPU 0", "CPU 1",
                       "nobody had a CPU", "seconds since the first allotment"):
            self.assertIn(wanted, self.texts(root))
        self.assertIn("ep <7> on CPU 1: 0.000 s to 3.000 s",
                      self.texts(root, "title"))
        self.assertIn("who had what", self.texts(root, "desc"))
        self.within(root)

    def test_many_cores_and_jobs(self):
        many = [coretrace.Segment(cpu, 0, 1 + cpu, str(cpu % 41))
                for cpu in range(256)] + [coretrace.Segment(3, 4, 9, "")]
        picture = svgchart.Picture("many")
        svgchart.cores(picture, many, {"40": "first"})
        root = self.draw(picture)
        self.within(root)
        self.assertIn("several jobs on CPU 3: 4.000 s to 9.000 s",
                      self.texts(root, "title"))
        labels = [float(t.get("y")) for t in root.iter(SPACE + "text")
                  if t.text.startswith("CPU ")]
        self.assertGreater(len(labels), 8)
        self.assertGreaterEqual(min(b - a for a, b in
                                    zip(labels, labels[1:])), 10)

    def test_too_many_changes(self):
        most = svgchart.MOST_SEGMENTS
        picture = svgchart.Picture("changes")
        svgchart.cores(picture, [coretrace.Segment(0, i, i + 1, "1")
                                 for i in range(most + 7)], {})
        root = self.draw(picture)
        self.assertIn("the last 7 changes are not drawn", self.texts(root))
        self.assertLess(len(list(root.iter(SPACE + "rect"))), most + 9)

    def test_bars_are_as_long_as_their_values(self):
        picture = svgchart.Picture("bars")
        svgchart.bars(picture, [("batch", 16.1, "shared"), ("ours", 12, "text"),
                                ("none", 0, "c0")], "makespan, seconds")
        root = self.draw(picture)
        widths = {r.get("class"): float(r.get("width"))
                  for r in root.iter(SPACE + "rect")}
        self.assertAlmostEqual(widths["text"] / widths["shared"], 12 / 16.1, 2)
        self.assertEqual(widths["c0"], 0)
        for wanted in ("batch", "16.1", "ours", "12.0", "makespan, seconds"):
            self.assertIn(wanted, self.texts(root))
        self.within(root)

    def test_panels(self):
        panel = svgchart.Panel("p", x_label="cores", y_label="speedup")
        panel.line([(1, 1), (2, 1.8), (4, 3)], "s0")
        panel.dots([(1, 1), (4, 2.9)], "c1")
        low = svgchart.Panel("low", captions=[(0.5, "a rather long caption"),
                                              (1.5, "another one, as long")],
                             x=(0, 2), note="beneath")
        low.bars([(0.1, 0.8, 3), (1.1, 0.8, -1)], "c2")
        empty = svgchart.Panel("empty")
        picture = svgchart.Picture("grid")
        svgchart.grid(picture, [panel, low, empty], 2,
                      [("model", "s0", "line"), ("measured", "c1", "dots")])
        self.assertEqual(panel.x, (1, 4))
        self.assertEqual(panel.y, (0, 3))
        self.assertLessEqual(low.y[0], -1)
        root = self.draw(picture, title="all")
        for wanted in ("p", "cores", "speedup", "model", "measured", "beneath",
                       "a rather long caption", "grid", "all"):
            self.assertIn(wanted, self.texts(root))
        dots = [float(c.get("cy")) for c in root.iter(SPACE + "circle")
                if c.find(SPACE + "title") is not None]
        self.assertEqual(len(dots), 2)
        self.assertGreater(dots[0], dots[1])
        slanted = [t for t in root.iter(SPACE + "text")
                   if "caption" in t.text and t.get("transform")]
        self.assertEqual(len(slanted), 1)
        self.within(root)

    def test_matrix(self):
        picture = svgchart.Picture("matrix")
        svgchart.matrix(picture, [[1, 2.5], [None, 4]], ["r0", "r1"],
                        ["c0", "c1"])
        texts = self.texts(self.draw(picture))
        for wanted in ("1.00", "2.50", "4.00", "r0", "c1"):
            self.assertIn(wanted, texts)


class Writing(unittest.TestCase):
    def test_at_once_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.svg")
            svgchart.write(path, "one\n")
            svgchart.write(path, "tw\u2026\n")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "tw\u2026\n")
            mask = os.umask(0)
            os.umask(mask)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o666 & ~mask)
            with self.assertRaises(OSError):
                svgchart.write(folder, "a directory")
            with self.assertRaises(OSError):
                svgchart.write(os.path.join(folder, "no", "a.svg"), "")
            self.assertEqual(os.listdir(folder), ["a.svg"])
        svgchart.write("/dev/null", "a device")


if __name__ == "__main__":
    unittest.main()
