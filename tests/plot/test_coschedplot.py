#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedplot: what it refuses, what it draws, its documentation."""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

SOURCE = os.environ["abs_top_srcdir"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
sys.path.insert(0, os.path.join(SOURCE, "plot"))
sys.dont_write_bytecode = True
import charts           # noqa: E402
import programdocs      # noqa: E402
import svgchart         # noqa: E402

PROGRAM = os.path.join(SOURCE, "plot", "coschedplot")
COSCHEDMODEL = os.path.join(os.environ["abs_top_builddir"], "coschedmodel",
                            "coschedmodel")
REMOVE = object()

STATION = {"chart": "station", "points": [
    {"rho": rho, "cores": n, "speedup": n / (1 + rho * n)}
    for rho in (0.1, 0.5) for n in (1, 2, 3)]}
SPEEDUP = {"chart": "speedup", "points": [
    {"loop": "S", "llc_domains": 1, "speedup": 1, "measured": 1},
    {"loop": "S", "llc_domains": 2, "speedup": 1.9, "measured": 1.7},
    {"loop": "T", "llc_domains": 1, "speedup": 1}]}
UTILISATION = {"chart": "utilisation", "points": [
    {"first": 1, "cpu": 0.5, "memory": 0.2, "utilisation": 0.7},
    {"first": 2, "cpu": 0.6, "memory": 0.2, "utilisation": 0.8}]}
MACHINE = {
    "name": "box", "llc_domains": [{"cpus": "0-3", "memory": 1},
                                 {"cpus": "4-6,8", "memory": 0}],
    "numa_nodes": [{"service_us": 0.005}, {"service_us": {"read": 0.007}}],
    "links": [{"from": 0, "to": 1, "service_us": 0.02, "one_way": True}]}
CALIBRATED = {**MACHINE, "calibration": {"runs": [
    {"llc_domain": node, "memory": memory, "kernel": "read", "stride": stride,
     "us": 10, "reads": 1000, "writes": 0, "prefetches": 250}
    for node, memory in ((0, 1), (1, 0), (1, 1)) for stride in (8, 64)]}}
NODE = {"memory": 0, "d": 0.05, "critical": 0.1, "poisson": False,
        "histogram": {"low": 3, "width": 2, "measured": [0.25, 0.75],
                      "expected": [0.4, 0.5]}}
KS = {"chart": "ks", "metric": "memory", "regions": [
    {"region": "job 7", "nodes": [NODE, {"memory": 1, "samples": 9}]}]}
COMPARE = [{"scenario": "two", "policy": p, "ntt": ntt, "varied": {}}
           for p, ntt in (("native", 1.0), ("corun", 0.75))]
SWEEP = [{"scenario": s, "policy": "corun", "ntt": ntt,
          "varied": {"epoch": epoch, "seed": "1"}}
         for s, epoch, ntt in (("a", "20ms", 0.5), ("b", "20ms", 2.0),
                               ("a", "1s", 0.7))]
RUN = [{"scenario": "two", "policy": "corun", "makespan_s": 4.0,
        "jobs": [{"name": "ep", "end_s": 4.0}, {"name": "cg", "end_s": 3.0}],
        "allocation": [{"time_s": 0.0, "job": 0, "cpus": "0-1"},
                       {"time_s": 1.0, "job": 1, "cpus": "1"},
                       {"time_s": 2.0, "job": 0, "cpus": "0"},
                       {"time_s": 3.0, "job": 1, "cpus": ""},
                       {"time_s": 4.0, "job": 0, "cpus": ""}]}]
DEMO = [{"mix": "ep + cg", "mode": mode, "job": job, "turnaround_s": 3.0, "makespan_s": span,
         "verified": True, "makespan_to_native": None,
         "runs": [{"round": 1, "makespan_s": span}, {"round": 2, "makespan_s": 5.5},
                  {"round": 3, "makespan_s": None}]}
        for mode, span in (("native", 4.0), ("coschedule", 3.5), ("passive", None))
        for job in ("ep", "cg")]
DEMO[2]["cores"], DEMO[3]["cores"] = [[0, 0, 3.5]], [[1, 0, 2], [1, 2.5, 3]]
TRACE = {"traceEvents": [
    {"ph": "M", "pid": 1, "tid": 0, "name": "thread_name",
     "args": {"name": "CPU 0"}},
    {"ph": "X", "pid": 1, "tid": 0, "name": "job 42", "ts": 1e6, "dur": 2e6}]}

# Input, where a value of it is changed, the value, the complaint.
BAD = (
    (STATION, "chart", "pie", "chart: pie: unknown, one of station, speedup"),
    (STATION, "chart", 3, "chart: must be a text"),
    (STATION, "chart", REMOVE, "has nothing that can be drawn"),
    (STATION, "points", [], "points: is empty: nothing to draw"),
    (STATION, "points", REMOVE, "points: is missing"),
    (STATION, "points", 7, "points: must be an array"),
    (STATION, "points.4", 7, "points[4]: must be an object"),
    (STATION, "points.4.cores", REMOVE, "points[4].cores: is missing"),
    (STATION, "points.4.speedup", "x", "points[4].speedup: must be a finite"),
    (STATION, "points.4.speedup", True, "points[4].speedup: must be a finite"),
    (UTILISATION, "points.0.cpu", None, "points[0].cpu: must be a finite"),
    (MACHINE, "numa_nodes", REMOVE, "numa_nodes: is missing"),
    (MACHINE, "numa_nodes.1.service_us.read", REMOVE,
     "numa_nodes[1].service_us.read: is missing"),
    (MACHINE, "llc_domains.0.memory", 2, "llc_domains[0].memory: must be from 0 to 1"),
    (MACHINE, "llc_domains.0.cpus", "0-", "llc_domains[0].cpus: 0-: not a list"),
    (MACHINE, "links.0.to", 9, "links[0].to: must be from 0 to 1"),
    (CALIBRATED, "calibration.runs", [], "calibration.runs: is empty"),
    (CALIBRATED, "calibration.runs.1.us", 0,
     "calibration.runs[1]: has no time or no requests"),
    (CALIBRATED, "calibration.runs.1.stride", "x",
     "calibration.runs[1].stride: must be a finite number"),
    (KS, "metric", REMOVE, "metric: is missing"),
    (KS, "regions.0.nodes.0.histogram.width", "x",
     "regions[0].nodes[0].histogram.width: must be a finite number"),
    (KS, "regions.0.nodes.0.histogram.expected", [],
     "regions[0].nodes[0].histogram: measured and expected must be equally"),
    (KS, "regions.0.nodes.0.histogram.measured.1", None,
     "regions[0].nodes[0].histogram.measured[1]: must be a finite number"),
    (KS, "regions.0.nodes.0.histogram", REMOVE,
     "regions: nothing was counted: nothing to draw"),
    (COMPARE, "1.ntt", "x", "[1].ntt: must be a finite number"),
    (COMPARE, "0.policy", REMOVE, "[0].policy: is missing"),
    (SWEEP, "1.ntt", 0, "[1].ntt: must be above 0"),
    (RUN, "0.allocation.1.job", 2, "[0].allocation[1].job: must be from 0 to 1"),
    (RUN, "0.allocation", [], "[0].allocation: is empty: nothing to draw"),
    (RUN, "0.allocation", REMOVE, "an array of something else than the demo's"),
    (DEMO, "0.makespan_to_native", REMOVE, "an array of something else than the demo's"),
    (DEMO, "1.mix", REMOVE, "[1].mix: is missing"),
    (DEMO, "1.makespan_s", "x", "[1].makespan_s: must be a finite number"),
    (DEMO, "1.runs", [], "[1].runs: is empty"),
    (DEMO, "2.cores.0", [1, 2], "[2].cores[0]: must be CPU, start and end"),
    (DEMO, "2.cores.0.1", "x", "[2].cores[0]: must be a finite number"),
    (TRACE, "traceEvents", [], "traceEvents: nobody had a CPU"),
    (TRACE, "traceEvents.1.ts", REMOVE, "not a trace: KeyError('ts')"),
)
TEXTS = (
    ("", "not JSON: "), ("{", "not JSON: "), ("\xff", "not JSON: "),
    ("[" * 100000, "not JSON: "), ("3", "must be an object or an array"),
    ("[]", "is an empty array"), ("[1]", "an array of something else"),
    ('{"chart": "station", "points": [{"cores": NaN}]}',
     "not JSON: NaN is not a number of JSON"),
    ('{"chart": "station", "points": [{"cores": 1, "speedup": 1e999}]}',
     "points[0].speedup: must be a finite number"),
)


def run(*words, text=""):
    return subprocess.run([PROGRAM, *words], input=text.encode("latin-1"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)


def changed(document, path, value):
    """DOCUMENT with the member at PATH set to VALUE."""
    at = result = copy.deepcopy(document)
    *steps, last = (int(s) if s.isdigit() else s for s in path.split("."))
    for step in steps:
        at = at[step]
    if value is REMOVE:
        del at[last]
    else:
        at[last] = value
    return result


class Bad(unittest.TestCase):
    def refused(self, done, complaint, status=1):
        error = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (status, b""), error)
        self.assertTrue(error.startswith(f"coschedplot: {complaint}"),
                        (complaint, error))
        self.assertEqual(error.count("\n"), 1, error)

    def test_members(self):
        for document, path, value, complaint in BAD:
            with self.assertRaises(charts.InputError, msg=path) as caught:
                charts.of(changed(document, path, value))
            self.assertTrue(str(caught.exception).startswith(complaint),
                            (complaint, str(caught.exception)))
        document, path, value, complaint = BAD[0]
        self.refused(run(text=json.dumps(changed(document, path, value))),
                     f"standard input: {complaint}")

    def test_texts(self):
        for text, complaint in TEXTS:
            self.refused(run(text=text), f"standard input: {complaint}")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "in.json")
            self.refused(run(file), f"{file}: No such file or directory")
            self.refused(run(folder), f"{folder}: Is a directory")
            with open(file, "w", encoding="utf-8") as out:
                out.write("{")
            self.refused(run(file), f"{file}: not JSON")
            with open(file, "w", encoding="utf-8") as out:
                json.dump(STATION, out)
            nowhere = os.path.join(folder, "no", "a.svg")
            self.refused(run(file, "-o", nowhere),
                         f"{nowhere}: No such file or directory")
            picture = os.path.join(folder, "a.svg")
            with open(picture, "w", encoding="utf-8") as out:
                out.write("before")
            self.refused(run(os.path.join(folder, "none"), "-o", picture),
                         os.path.join(folder, "none"))
            with open(picture, encoding="utf-8") as kept:
                self.assertEqual(kept.read(), "before")

    def test_command_line(self):
        for words, complaint in (
                (["-o", "a.png"], "--output a.png: only .svg can be written"),
                (["--frog"], "unrecognized arguments: --frog"),
                (["a", "b"], "unrecognized arguments: b")):
            done = run(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(complaint, done.stderr.decode())


class Drawn(unittest.TestCase):
    def draw(self, data):
        root = ElementTree.fromstring(svgchart.document(charts.of(data)))
        self.assertTrue(root.tag.endswith("svg"))
        for mark in root.iter():
            for name in ("x", "y", "width", "height", "points", "cx"):
                self.assertNotIn("nan", mark.get(name, ""))
        return root

    def texts(self, data):
        return [e.text for e in self.draw(data).iter() if e.text]

    def count(self, root, tag, classes):
        return sum(e.tag.endswith(tag) and e.get("class") == classes
                   for e in root.iter())

    def test_curves(self):
        root = self.draw(STATION)
        self.assertEqual(self.count(root, "circle", "c0"), 3)
        self.assertEqual(self.count(root, "circle", "c1"), 3)
        texts = self.texts(STATION)
        for wanted in ("rho 0.1", "rho 0.5", "cores", "speedup over one core"):
            self.assertIn(wanted, texts)
        self.assertIn("speedup, T", self.texts(SPEEDUP))
        self.assertIn("measured, S", self.texts(SPEEDUP))
        self.assertNotIn("measured, T", self.texts(SPEEDUP))
        self.assertIn("memory", self.texts(UTILISATION))
        alone = {"chart": "station", "points": STATION["points"][:1]}
        self.assertIn("rho 0.1", self.texts(alone))

    def test_many_curves_differ(self):
        root = self.draw({"chart": "station", "points": [
            {"rho": i / 100, "cores": n, "speedup": n} for i in range(14)
            for n in (1, 2)]})
        lines = {e.get("class") for e in root.iter()
                 if e.tag.endswith("polyline") and e.get("class")[0] == "s"}
        self.assertEqual(len(lines), 14)

    def test_machine(self):
        texts = self.texts(MACHINE)
        for wanted in ("box", "memory 0: 5 ns", "memory 1: 7 ns",
                       "LLC 0: 4 cores", "LLC 1: 4 cores", "20 >"):
            self.assertIn(wanted, texts)
        self.assertNotIn("stride (bytes)", texts)
        texts = self.texts(CALIBRATED)
        for wanted in ("stride (bytes)", "requests per microsecond", "8.00",
                       "8: 125", "64: 125"):
            self.assertIn(wanted, texts)
        self.assertEqual(texts.count("8.00"), 3)
        old = json.dumps(CALIBRATED).replace("llc_domain", "cpu_node").replace(
            "numa_nodes", "mem_nodes")
        self.assertEqual(self.texts(json.loads(old)), texts)

    def test_ks(self):
        texts = self.texts(KS)
        self.assertIn("memory 0: D 0.050, critical 0.100: rejected", texts)
        self.assertEqual(texts.count("job 7"), 1)
        many = {**KS, "regions": KS["regions"] * 70}
        self.assertEqual(self.texts(many).count("job 7"), 64)
        self.assertTrue(any("Only the first 64 of 70 samples" in t
                            for t in self.texts(many)))
        flat = changed(KS, "regions.0.nodes.0.histogram.width", 0)
        self.assertIn("job 7", self.texts(flat))

    def test_comparison(self):
        texts = self.texts(COMPARE)
        for wanted in ("two native", "two corun", "1.000", "0.750"):
            self.assertIn(wanted, texts)
        texts = self.texts(SWEEP)
        for wanted in ("epoch", "corun seed=1", "0.02: 1", "1: 0.7"):
            self.assertIn(wanted, texts)    # 1: the geomean of 0.5 and 2
        words = changed(SWEEP, "0.varied.epoch", "long")
        self.assertIn("a corun epoch=long seed=1", self.texts(words))

    def test_allocation(self):
        texts = self.texts(RUN)
        for wanted in ("two under corun: 4.0 s",
                       "ep on CPU 0: 0.000 s to 4.000 s",
                       "ep on CPU 1: 0.000 s to 1.000 s",
                       "several jobs on CPU 1: 1.000 s to 2.000 s",
                       "cg on CPU 1: 2.000 s to 3.000 s"):
            self.assertIn(wanted, texts)
        self.assertEqual(sum(" on CPU " in t for t in texts), 4)

    def test_demo(self):
        texts = self.texts(DEMO)
        for wanted in ("ep + cg", "ep on CPU 0: 0.000 s to 3.500 s", "cg on CPU 1: 2.500 s to "
                       "3.000 s", "native: 4.0", "native: 4.0 to 5.5", "coschedule: 3.5 to 5.5"):
            self.assertIn(wanted, texts)
        self.assertNotIn("passive", texts)      # it did not end
        self.assertIn("nobody had a CPU", self.texts(DEMO[:2]))

    def test_trace(self):
        self.assertIn("job 42 on CPU 0: 0.000 s to 2.000 s", self.texts(TRACE))

    def test_output(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "a.svg")
            done = run("-o", picture, text=json.dumps(TRACE))
            self.assertEqual((done.returncode, done.stdout), (0, b""))
            with open(picture, "rb") as file:
                self.assertEqual(file.read(), run(text=json.dumps(TRACE)).stdout)

    def test_what_coschedmodel_prints(self):
        env = {**os.environ, "COSCHED_MACHINES": os.path.join(SOURCE, "machines")}

        def ask(*words, text=""):
            return json.loads(subprocess.run(
                [COSCHEDMODEL, *words], input=text, env=env, check=True,
                universal_newlines=True, stdout=subprocess.PIPE).stdout)

        self.assertIn("rho 2", self.texts(ask("station", "--rho", "0.1,2",
                                              "--cores", "9")))
        mix = {"machine": "uma-1x8", "jobs": [{"name": "A", "rho": 0},
                                            {"name": "B", "rho": 0.5}]}
        self.assertIn("cores of the first job", self.texts(
            ask("utilisation", "--sweep", text=json.dumps(mix))))
        for name in os.listdir(env["COSCHED_MACHINES"]):
            if name.endswith(".json") and "schema" not in name:
                shown = ask("machine", "show", name[:-5])
                self.assertEqual(
                    sum(t.startswith("memory ") for t in self.texts(shown)),
                    len(shown["numa_nodes"]), name)


class Documented(unittest.TestCase):
    def test_completion(self):
        def complete(*words):
            return programdocs.complete("plot/completions/coschedplot",
                                        "coschedplot", *words)
        self.assertEqual(complete("--o"), {"--output"})
        self.assertIn("README.md", complete("READ"))

    def test_kinds_are_on_the_page(self):
        page = programdocs.read("docs/coschedplot.1").replace("\\-", "-")
        for command in ("station", "speedup", "utilisation --sweep",
                        "machine show", "compare --json", "sweep --json",
                        "run --explain --json", "trace", "coschedmodel ks", "./demo --json"):
            self.assertIn(command, page)
            self.assertIn(command.split()[0], run("--help").stdout.decode())


if __name__ == "__main__":
    unittest.main()
