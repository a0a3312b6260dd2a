#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport: charts and page, the latter also in a browser if there is one
(chromium; nothing of the package needs it)."""

import base64
import hashlib
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.environ.get("abs_top_srcdir", "."),
                                "tests", "support"))
from fakesacct import ReportTest, record, run  # noqa: E402

T = 1795242461
HOSTILE = "</script><script>alert(1)</script>\"'&<b>\x1b]]>"
ROWS = [
    run(42, (T, T, T + 60), "ep", record(mean_cores="1.20", partners=43,
                                         alone_s="50.00")),
    run(43, (T, T + 10, T + 90), "cg", record(
        mean_cores="0.80", partners=42, program="cg",
        hot="sparse::matrix_vector_product@cg_solver_part.c:1087*0.62,makea@cg.c:41*0.2")),
    run(44, (T + 9, T + 9, T + 30), HOSTILE, "", nodelist="n2"),
    run(45, (T + 9, "Unknown", "Unknown"), "late", state="PENDING",
        nodelist="None assigned")]
TRACE = {"traceEvents": [
    *({"ph": "M", "pid": 1, "tid": cpu, "name": "thread_name",
       "args": {"name": f"CPU {cpu}"}} for cpu in (0, 1)),
    {"ph": "X", "pid": 1, "tid": 0, "name": "job 42", "ts": 1e6, "dur": 2e6},
    {"ph": "X", "pid": 1, "tid": 1, "name": "job 43", "ts": 2e6, "dur": 2e6},
    {"ph": "X", "pid": 1, "tid": 1, "name": "job 99", "ts": 1e6, "dur": 1e6}]}
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser",
                                               "google-chrome"))), None)

# Runs in the page and leaves what it found there, as JSON.
CHECKER = r"""
"use strict";
const found = {violations: [], contrast: [], small: []};
document.addEventListener("securitypolicyviolation", function (event) {
  found.violations.push(event.violatedDirective);
});
function luminance(text) {
  const part = text.match(/[\d.]+/g).slice(0, 3).map(function (v) {
    v /= 255;
    return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4);
  });
  return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}
function ratio(one, other) {
  const a = luminance(one), b = luminance(other);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
const back = getComputedStyle(document.body).backgroundColor;
document.querySelectorAll("h1,h2,p,li,strong,td,th,button,dt,dd,caption,figcaption," +
    "svg text.text,svg text.faint").forEach(function (e) {
  const style = getComputedStyle(e);
  const colour = e.closest("svg") ? style.fill : style.color;
  if (ratio(colour, back) < 4.5) found.contrast.push(e.textContent);
});
for (let i = 0; i < 8; i++) {
  const mark = document.querySelector("svg .c" + i);
  const on = document.querySelector("svg .on" + i);
  if (mark && on && ratio(getComputedStyle(mark).fill,
      getComputedStyle(on).fill) < 4.5) found.contrast.push("on" + i);
}
document.querySelectorAll("svg").forEach(function (svg) {
  if (svg.getBoundingClientRect().height < 40) found.small.push(svg.outerHTML);
});
function column(name) {
  const table = document.getElementById("jobs");
  const heads = Array.from(table.tHead.rows[0].cells);
  const at = heads.findIndex((h) => h.textContent === name);
  return {head: heads[at], values: Array.from(table.tBodies[0].rows).map(
    (row) => row.cells[at].textContent)};
}
column("Wait").head.querySelector("button").click();
found.up = column("Wait").values;
column("Wait").head.querySelector("button").click();
found.down = column("Wait").values;
found.sort = column("Wait").head.getAttribute("aria-sort");
found.loaded = performance.getEntriesByType("resource").length;
found.scripts = document.scripts.length;
found.inner = Array.from(document.querySelectorAll(".scroll")).filter(
  (e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.getAttribute("aria-label"));
for (let i = 0; i < 7; i++) {
  const mark = document.querySelector("svg .h" + i);
  const on = document.querySelector("svg .onh" + i);
  if (mark && on && ratio(getComputedStyle(mark).fill,
      getComputedStyle(on).fill) < 4.5) found.contrast.push("onh" + i);
}
found.wide = document.documentElement.scrollWidth - innerWidth;
found.back = back;
const out = document.createElement("pre");
out.id = "found";
out.textContent = JSON.stringify(found);
document.body.appendChild(out);
"""


class Elements(html.parser.HTMLParser):
    """The elements of a page, and whether each is closed."""

    VOID = {"meta", "br", "link"}

    def __init__(self, text):
        super().__init__()
        self.all, self.open, self.wrong = [], [], []
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def named(self, tag):
        return [attributes for name, attributes in self.all if name == tag]


def digest(script):
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


class Page(ReportTest):
    def page(self, rows, *arguments, **more):
        self.assertEqual(self.text(rows, "--html", self.path("p.html"),
                                   *arguments, **more), "")
        return self.read("p.html")

    def plot(self, rows, *arguments):
        self.assertEqual(self.text(rows, "--plot", self.path("p.svg"),
                                   *arguments), "")
        return ElementTree.fromstring(self.read("p.svg"))

    def trace(self, text):
        self.write("t.json", text)
        return self.path("t.json")

    # ---- bad input first

    def test_bad_files(self):
        missing = self.path("no/such/p.html")
        for arguments in (["--html", missing], ["--plot", missing + ".svg"]):
            done = self.run_with(ROWS, "42", *arguments)
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"coschedreport: {arguments[1]}: No such file "
                              "or directory\n"))
        for text in ("", "{", "[]", '{"traceEvents": [{}]}'):
            trace = self.trace(text)
            done = self.run_with(ROWS, "42", "--html", self.path("p.html"),
                                 "--trace", trace)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn(f"coschedreport: --trace {trace}: not a trace",
                          done.stderr)
            self.assertFalse(os.path.exists(self.path("p.html")))
        self.assertFalse([f for f in os.listdir(self.folder)
                          if f.startswith(".coschedreport")])

    def test_kept_on_failure(self):
        """A file that is there is replaced at once or stays."""
        self.write("p.html", "before")
        self.run_with(ROWS, "42", "--html", self.path("p.html"), "--trace",
                      self.path("missing"))
        self.assertEqual(self.read("p.html"), "before")

    # ---- the page

    def test_self_contained(self):
        text = self.page(ROWS, "--all", "--trace", self.trace(json.dumps(TRACE)))
        elements = Elements(text)
        self.assertEqual(elements.wrong, [])
        for tag, attributes in elements.all:
            self.assertNotIn(tag, ("link", "img", "iframe", "object", "base"))
            for name in ("src", "href", "action", "xlink:href", "onclick"):
                self.assertNotIn(name, attributes, tag)
        self.assertNotIn("url(", text)
        self.assertNotIn("@import", text)
        # The one script is the one that its policy allows.
        scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
        self.assertEqual(len(scripts), 1)
        policy = next(m["content"] for m in elements.named("meta")
                      if "http-equiv" in m)
        self.assertEqual(policy, "default-src 'none'; style-src "
                         "'unsafe-inline'; script-src "
                         f"'sha256-{digest(scripts[0])}'")
        self.assertNotIn("<b>", text)

    def test_accessible(self):
        elements = Elements(self.page(ROWS, "--all"))
        self.assertEqual(elements.named("html"), [{"lang": "en"}])
        for name in ("title", "main", "h1", "caption"):
            self.assertTrue(elements.named(name), name)
        self.assertTrue(all(a["scope"] == "col" for a in elements.named("th")))
        identities = [a["id"] for _, a in elements.all if "id" in a]
        self.assertEqual(len(identities), len(set(identities)))
        for svg in elements.named("svg"):
            self.assertEqual(svg["role"], "img")
            for identity in svg["aria-labelledby"].split():
                self.assertIn(identity, identities)
        for attributes in (a for t, a in elements.all
                           if a.get("class") == "scroll"):
            self.assertEqual((attributes["tabindex"], attributes["role"]),
                             ("0", "region"))
            self.assertTrue(attributes["aria-label"])

    def test_what_it_says(self):
        text = self.page(ROWS[:2], "42,43")
        for part in ("Co-scheduled jobs 42 and 43", "makespan of the 2 jobs: 90 s",
                     "Mixes", "~1.20", "2026-11-21 06:27:41 UTC", "Parallel regions",
                     ">sparse::matrix_vector_product, cg_solver_part.c:1087</td>"):
            self.assertIn(part, text)
        empty = self.page([ROWS[3]], "45")
        self.assertIn("no job of these has run and ended", empty)
        self.assertIn("job 45: has not started", empty)
        done = self.run_with([], "--html", "-")
        self.assertIn("Report on 0 jobs", done.stdout)
        self.assertIn("no job of yours", done.stderr)

    # ---- the charts

    def titles(self, root):
        return [e.text for e in root.iter() if e.tag.endswith("title")]

    def test_plot(self):
        root = self.plot(ROWS, "--all")
        titles = self.titles(root)
        self.assertIn("42 ep: 1.20 cores on average, 60 s", titles)
        self.assertIn("43 cg: waited 10 s, ran 80 s", titles)
        self.assertIn("42 ep: waited 0 s, ran 60 s, alone 50 s", titles)
        name = HOSTILE.replace("\x1b", "?")
        self.assertIn(f"44 {name}: cores not known, 21 s", titles)
        for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
            self.assertGreaterEqual(float(rect.get("width")), 0)
            self.assertLessEqual(float(rect.get("x") or 0) +
                                 float(rect.get("width")), 960.01)

    def test_stacked(self):
        """Jobs lie on each other only while both run."""
        root = self.plot(ROWS[:2], "42,43")
        heights = {}
        for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
            told = rect.find("{http://www.w3.org/2000/svg}title")
            if told is not None and "cores on average" in told.text:
                heights.setdefault(told.text[:2], []).append(
                    float(rect.get("y")) + float(rect.get("height")))
        # cg upon ep from 10 s to 60 s, on the ground afterwards.
        self.assertEqual(len(set(heights["42"])), 1)
        self.assertEqual(len(heights["43"]), 2)
        self.assertLess(heights["43"][0], heights["43"][1])
        self.assertEqual(heights["43"][1], heights["42"][0])

    def test_trace(self):
        trace = self.trace(json.dumps(TRACE))
        titles = self.titles(self.plot(ROWS, "42,43", "--trace", trace))
        self.assertIn("42 ep on CPU 0: 0.000 s to 2.000 s", titles)
        self.assertIn("43 cg on CPU 1: 1.000 s to 3.000 s", titles)
        self.assertFalse([t for t in titles if "job 99" in t])
        # None of the jobs is in it: all of it is drawn.
        titles = self.titles(self.plot(ROWS[2:3], "44", "--trace", trace))
        self.assertIn("job 99 on CPU 1: 0.000 s to 1.000 s", titles)
        self.plot(ROWS[2:3], "44", "--trace", self.trace('{"traceEvents": []}'))

    def test_many(self):
        rows = [run(i, (T + i, T + i, T + i + 30), f"p{i}",
                    record(partners=i + 1), nodelist=f"n{i % 3}")
                for i in range(1, 1001)]
        text = self.page(rows, "-a")
        self.assertIn("Only the last 300 of 1000 jobs are drawn", text)
        self.assertEqual(text.count("<td data-v=\"COMPLETED\""), 1000)
        self.assertNotIn("nodes are drawn", text)
        rows = [run(i, (T, T, T + 9), nodelist=f"n{i}") for i in range(1, 31)]
        self.assertIn("Only the first 24 of 30 nodes are drawn",
                      self.page(rows, "-a", "--all"))

    # ---- in a browser

    def browse(self, name, dark, width=400):
        """What CHECKER finds in page NAME in a window of WIDTH."""
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run",
                   f"--user-data-dir={self.path('profile')}",
                   f"--window-size={width},800",
                   f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                   "--dump-dom", f"file://{self.path(name)}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, check=False,
                                  timeout=300, env={**os.environ,
                                                    "HOME": self.folder})
        except subprocess.TimeoutExpired:
            self.skipTest(f"{BROWSER} did not end")
        if not done.stdout.strip():
            self.skipTest(f"{BROWSER} does not start here: "
                          f"{done.stderr.strip()[-200:]}")
        match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
        self.assertTrue(match, done.stdout[-2000:] + done.stderr[-2000:])
        return json.loads(html.unescape(match[1]))

    @unittest.skipUnless(BROWSER, "no chromium here: the page is not shown in "
                         "a browser")
    def test_in_browser(self):
        page = self.page(ROWS, "--all", "--trace",
                         self.trace(json.dumps(TRACE)))
        self.assertIn("Turnaround", page)
        policy = f"script-src 'sha256-{digest(CHECKER)}' "
        checked = page.replace("script-src ", policy).replace(
            "</body>", f"<script>{CHECKER}</script></body>")
        self.write("checked.html", checked)
        backs = set()
        for dark in (False, True):
            found = self.browse("checked.html", dark)
            for name in ("violations", "contrast", "small"):
                self.assertEqual(found[name], [], name)
            self.assertEqual((found["loaded"], found["scripts"]), (0, 2))
            # A narrow window: charts and tables scroll, the page does not.
            self.assertLessEqual(found["wide"], 0)
            # What is not known goes last, whichever way is up.
            self.assertEqual(found["up"], ["<1 s", "<1 s", "10 s", "-"])
            self.assertEqual(found["down"], ["10 s", "<1 s", "<1 s", "-"])
            self.assertEqual(found["sort"], "descending")
            backs.add(found["back"])
        self.assertEqual(len(backs), 2, backs)
        # At 1280 pixels nothing scrolls sideways, nor does the page at 800.
        rows = [run(i, (T + i, T + i, T + i + 60), ("ep.sh", "cg.sh")[i % 2], record(
            mean_cores="1.20", partners=i ^ 1, alone_s="50.00", **{"class": "compute"}),
            user=("ann", "bob")[i % 2]) for i in range(100, 140)]
        self.write("checked.html", self.page(rows, "-a").replace(
            "script-src ", policy).replace("</body>", f"<script>{CHECKER}</script></body>"))
        for width in (800, 1280):
            found = self.browse("checked.html", False, width)
            self.assertLessEqual(found["wide"], 0)
            self.assertEqual(found["contrast"], [])
        self.assertEqual(found["inner"], [])


if __name__ == "__main__":
    unittest.main()
