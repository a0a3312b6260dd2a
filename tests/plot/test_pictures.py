#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The pictures of the docs are what their commands draw, and say what was simulated; a recording
is what a terminal showed."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

SOURCE, BUILD = os.environ["abs_top_srcdir"], os.environ["abs_top_builddir"]
IMAGES = os.path.join(SOURCE, "docs/images")
SVG = "{http://www.w3.org/2000/svg}"
TOUR = "# It says\nprintf 'a <b>\\n%s' \"$(printf 'x%.0s' $(seq 130))\"\n: wait 0\n" \
    ": until test -e {0} || ! touch {0}\ntty >/dev/null && echo on a terminal\n"


def run(script, *arguments, **more):
    done = subprocess.run([sys.executable, os.path.join(IMAGES, script), *arguments], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)
    return done.returncode, done.stderr


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Pictures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = os.path.join(self.folder.name, "out")

    def test_drawn(self):
        for name in "hosts", "life", "model":
            self.assertEqual(run("pictures.py", name, self.out), (0, ""))
            self.assertEqual(content(self.out), content(f"{IMAGES}/{name}.svg"), name)
        self.assertEqual(run("pictures.py", "nothing", self.out)[0], 1)

    def check_decision(self, path):
        root = ET.parse(path).getroot()
        said = next(root.iter(SVG + "desc")).text
        jobs = dict(re.findall(r"(\w+): (\d+ to \d+) cores", said))
        self.assertEqual(len(jobs), 3, said)
        cells = [re.fullmatch(r"core (\d+): (\w+)", title.text)
                 for title in root.iter(SVG + "title")]
        owners = [cell.group(2) for cell in cells if cell]
        self.assertEqual(len(owners), 32, "16 cores, before and after")
        before, after = (collections.Counter(owners[i:i + 16]) for i in (0, 16))
        self.assertEqual({job: f"{before[job]} to {after[job]}" for job in jobs}, jobs)
        self.assertNotEqual(before, after)
        speeds = re.findall(r"speed predicted (\d\.\d+), measured (\d\.\d+)", said)
        self.assertGreater(len(speeds), 1, said)
        texts = " ".join("".join(t.itertext()) for t in root.iter(SVG + "text"))
        for predicted, measured in speeds:
            self.assertIn(f"{predicted} predicted {measured} measured", texts)
            self.assertTrue(0 < float(predicted) <= 1.1 and 0 < float(measured) <= 1.1, said)

    def test_decision(self):
        """That of the docs, and a new one, which need not be the same."""
        self.check_decision(f"{IMAGES}/decision.svg")
        status, said = run("decision.py", BUILD, self.out)
        self.assertEqual(status, 0, said)
        self.check_decision(self.out)

    def test_recording(self):
        tour, ready = (os.path.join(self.folder.name, name) for name in ("tour", "ready"))
        with open(tour, "w", encoding="utf-8") as file:
            file.write(TOUR.format(ready))
        self.assertEqual(run("recording.py", "--of", tour, self.out), (0, ""))
        head, *events = map(json.loads, content(self.out + ".cast").splitlines())
        self.assertEqual((head["version"], head["width"]), (2, 120))
        self.assertTrue(all(kind == "o" for _, kind, _ in events), events)
        self.assertEqual(sorted(events, key=lambda e: e[0]), events)
        text = "".join(part for _, _, part in events)
        for words in "$ # It says\r\n", "a <b>\r\nxxx", "on a terminal\r\n":
            self.assertIn(words, text)
        self.assertNotIn("until", text)
        texts = [t.text for t in ET.parse(self.out + ".svg").getroot().iter(SVG + "text")]
        self.assertIn("a <b>", texts)
        self.assertEqual(max(map(len, texts)), 120, "long lines are folded")
        with open(tour, "w", encoding="utf-8") as file:
            file.write("false\n")
        status, said = run("recording.py", "--of", tour, self.out)
        self.assertEqual((status, said), (1, "recording: false: status 1: \n"))

    def test_recorded(self):
        """What the docs show is a recording of co-scheduled jobs."""
        head, *events = map(json.loads, content(f"{IMAGES}/first-minutes.cast").splitlines())
        text = "".join(part for _, _, part in events)
        self.assertEqual(head["version"], 2)
        for words in "sbatch --coschedule", "coschedctl jobs", "of 2 cores on average beside job":
            self.assertIn(words, text)
        ET.parse(f"{IMAGES}/first-minutes.svg")


if __name__ == "__main__":
    unittest.main()
