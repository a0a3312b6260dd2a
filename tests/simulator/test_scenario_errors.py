#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Whatever is wrong in a file of scenarios, coschedsim names file, line and key:
tried with each key of the schema."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ.get("abs_top_builddir", os.getcwd())
SOURCE = os.environ.get("abs_top_srcdir", os.getcwd())
COSCHEDSIM = os.path.join(BUILD, "simulator", "coschedsim")
MACHINE = os.path.join(SOURCE, "machines", "uma-1x8.json")

with open(os.path.join(SOURCE, "docs", "scenario.schema.json"),
          encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)
DEFS = SCHEMA["$defs"]
PHASE = DEFS["phases"]["items"]["properties"]
FIGURE = SCHEMA["properties"]["paper"]["additionalProperties"]["properties"]

REGION = {"name": "s", "source": "x", "kind": "parallel", "work_s": 1,
           "read_per_us": 1, "write_per_us": 1, "prefetch_per_us": 1,
           "placement": "local", "llc_per_us": 4, "llc_loss": 0.1,
           "imbalance": 0.1, "sync_share": 0.1, "barriers": 2,
           "object": "o", "offset": 64}
PHASES = [{"repeat": 1, "regions": [REGION]}]
JOB = {"name": "a", "arrival_s": 1, "scale": 1, "malleable": True,
       "sleeps": False, "threads": 4, "min_cores": 1, "max_cores": 4,
       "numa_node": 0, "weight": 1, "phases": PHASES}
SCENARIO = {"name": "one", "source": "x", "history": True,
            "paper": {"nupoco": {"ntt": 1, "hmean": 1}}, "jobs": [JOB]}
FILE = {"name": "f", "source": "x", "library": "library.json",
        "programs": [{"name": "P", "source": "x", "malleable": True,
                      "sleeps": False, "phases": PHASES}],
        "scenarios": [SCENARIO, {"name": "two", "jobs": [{"program": "P"}]}]}

# Where each object of the schema is, and its keys.
PLACES = [
    ([], {k: v for k, v in SCHEMA["properties"].items()
          if k not in ("jobs", "paper", "history")}),
    (["programs", 0], DEFS["program"]["properties"]),
    (["scenarios", 0], {k: SCHEMA["properties"][k]
                        for k in ("name", "source", "history", "paper",
                                  "jobs")}),
    (["scenarios", 0, "paper", "nupoco"], FIGURE),
    (["scenarios", 0, "jobs", 0], {k: v for k, v in
                                   DEFS["job"]["properties"].items()
                                   if k != "program"}),
    (["scenarios", 0, "jobs", 0, "phases", 0], PHASE),
    (["scenarios", 0, "jobs", 0, "phases", 0, "regions", 0],
     DEFS["region"]["properties"]),
]
WRONG = {"string": [3, True, [], {}, None, ""],
         "number": ["1", True, [], {}, None],
         "integer": ["1", True, [], {}, None, 1.5],
         "boolean": ["yes", 1, [], {}, None],
         "array": ["x", 1, True, {}, None],
         "object": ["x", 1, True, [], None],
         "enum": ["none of them", 1, [], {}, None]}


def text_path(path):
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.lstrip(".")


def bad_values(rule):
    if "$ref" in rule:
        rule = DEFS[rule["$ref"].rsplit("/", 1)[1]]
    out = list(WRONG["enum" if "enum" in rule else rule["type"]])
    if "minimum" in rule:
        out.append(rule["minimum"] - 1)
    if "maximum" in rule:
        out.append(rule["maximum"] + 1)
    if "exclusiveMinimum" in rule:
        out.append(rule["exclusiveMinimum"])
    if "exclusiveMaximum" in rule:
        out.append(rule["exclusiveMaximum"])
    if rule.get("minItems"):
        out.append([])
    return out


class Errors(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="scenario.")
        self.addCleanup(directory.cleanup)
        self.file = os.path.join(directory.name, "mix.json")
        library = os.path.join(directory.name, "library.json")
        with open(library, "w", encoding="utf-8") as out:
            json.dump({"programs": FILE["programs"]}, out)

    def run_text(self, text):
        with open(self.file, "w", encoding="utf-8") as out:
            out.write(text)
        return subprocess.run([COSCHEDSIM, "run", self.file, "--scenario",
                               "one", "--machine", MACHINE, "--limit",
                               "1e-9"], capture_output=True, text=True,
                              check=False)

    def refused(self, document, path, key):
        """DOCUMENT has something wrong with KEY of the object at PATH."""
        text = json.dumps(document, indent=1)
        done = self.run_text(text)
        where = text_path(path + [key])
        self.assertEqual(done.returncode, 1, (where, done))
        first = f"coschedsim: {self.file}:"
        self.assertTrue(done.stderr.startswith(first), (where, done.stderr))
        line, _, rest = done.stderr[len(first):].partition(": ")
        self.assertTrue(rest.startswith(where), (where, done.stderr))
        self.assertEqual(done.stderr.count("\n"), 1)
        # The line has the key, or begins the value around it.
        self.assertIn(f'"{key}":', text.split("\n")[int(line) - 1],
                      done.stderr)

    def change(self, path, key, value):
        document = json.loads(json.dumps(FILE))
        place = document
        for step in path:
            place = place[step]
        place[key] = value
        return document

    def test_the_file_is_good(self):
        # Not done in no time, which is the only thing that is wrong with it.
        self.assertIn("not done after", self.run_text(json.dumps(FILE)).stderr)

    def test_wrong_values(self):
        count = 0
        for path, keys in PLACES:
            for key, rule in keys.items():
                for value in bad_values(rule):
                    with self.subTest(path=text_path(path), key=key,
                                      value=value):
                        self.refused(self.change(path, key, value), path, key)
                        count += 1
        self.assertGreater(count, 200)

    def test_unknown_keys(self):
        for path, keys in PLACES:
            wrong = next(iter(keys)) + "s"
            with self.subTest(path=text_path(path)):
                self.refused(self.change(path, wrong, 1), path, wrong)

    def test_keys_given_twice(self):
        for key in ("work_s", "threads", "repeat", "ntt", "library"):
            text = json.dumps(FILE, indent=1)
            found = text.index(f'"{key}":')
            line = text[found:text.index("\n", found)].rstrip(",")
            done = self.run_text(text[:found] + line + ",\n " + text[found:])
            with self.subTest(key=key):
                self.assertEqual(done.returncode, 1, done)
                self.assertRegex(done.stderr, r"mix\.json:\d+: .*" + key)

    def test_no_json(self):
        text = json.dumps(FILE, indent=1)
        for cut in (1, len(text) // 2, len(text) - 2):
            done = self.run_text(text[:cut])
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"mix\.json:\d+: ")

    def test_numa_node_that_the_machine_lacks(self):
        path = ["scenarios", 0, "jobs", 0]
        done = self.run_text(json.dumps(self.change(path, "numa_node", 1)))
        self.assertEqual(done.returncode, 1, done)
        for word in (self.file, "one", "numa_node", "1"):
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    if not os.path.exists(COSCHEDSIM):
        print("SKIP: coschedsim was not built")
        sys.exit(77)
    unittest.main()
