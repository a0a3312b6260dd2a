#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport: what sharing gained against exclusive use, pairs, what to change; by account."""

import json
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ.get("abs_top_srcdir", "."), "tests", "support"))
from fakesacct import ReportTest, record, run  # noqa: E402

from reporting import accounting, gains, heat, programs     # noqa: E402
from reporting.job import jobs_of       # noqa: E402

T = 1795242461
MARKUP = "<i>x</i>"


def pair(first, names, times, alone, **more):
    """Two jobs from FIRST on that ran beside each other; TIMES are (submit, start, end)."""
    return [run(first + i, tuple(T + t for t in times[i]), names[i], record(
        partners=first + 1 - i, alone_s=f"{alone[i]:.2f}", core_s="50.00",
        mean_cores="2.00", **more), alloccpus="8") for i in range(2)]


class Gains(ReportTest):
    def html(self, rows):
        self.assertEqual(self.text(rows, "-a", "--html", self.path("p.html")), "")
        return self.read("p.html")

    # ---- against exclusive use

    def test_exclusive(self):
        """Both at once in 60 s; one after the other 40 s and 40 s."""
        text = self.html(pair(42, ("ep", "cg"), ((0, 0, 60), (0, 0, 60)), (40, 40)))
        for part in ("25% shorter", "Makespan, shared: 60 s", "Makespan, exclusive: 80 s",
                     "Mean turnaround, exclusive: 60 s", "Mean wait, exclusive: 20 s",
                     "<strong>As long</strong>mean turnaround"):
            self.assertIn(part, text)

    def test_two_nodes(self):
        """Each node has its own queue; a job starts when it is submitted, not before."""
        rows = pair(42, ("ep", "cg"), ((0, 0, 60), (0, 0, 60)), (40, 40))
        rows += [run(50, (T + 200, T + 200, T + 230), "ep", record(alone_s="30.00"),
                     nodelist="n2")]
        comparison = gains.Comparison(self.jobs(rows))
        self.assertEqual(comparison.exclusive[0], 230)
        self.assertEqual((comparison.left_out, len(comparison.jobs)), (0, 3))

    def test_unknown(self):
        """A job whose time alone is not known takes its partners out, and it is said."""
        rows = pair(42, ("ep", "cg"), ((0, 0, 60), (0, 0, 60)), (40, 40))
        rows += [run(50, (T, T, T + 30), "new", record(partners=99))]
        comparison = gains.Comparison(self.jobs(rows))
        self.assertEqual((comparison.left_out, len(comparison.jobs)), (1, 2))
        text = self.html(rows)
        self.assertIn("What new would take alone is not known", text)
        self.assertIn("Left out: 1 of which", text)
        text = self.html([run(50, (T, T, T + 30), "new", record(partners=99))])
        self.assertNotIn("exclusive use</li>", text)
        self.assertNotIn("Sharing against exclusive use", text)

    def jobs(self, rows):
        """As commandline.gather() has them."""
        self.rows("rows", rows)
        path = self.folder + ":" + os.environ["PATH"]
        with mock.patch.dict(os.environ, {"PATH": path}):
            found = jobs_of(accounting.ask(accounting.Selection()))
        programs.set_alone(found, [], [])
        return found

    # ---- pairs

    def test_pairs(self):
        rows = pair(42, ("ep", "cg"), ((0, 0, 50), (0, 0, 80)), (40, 40)) + \
            pair(52, ("ep", MARKUP), ((200, 200, 300), (200, 200, 300)), (40, 40))
        jobs = self.jobs(rows)
        found = gains.pairs(jobs)
        self.assertEqual([(p.one, p.other, p.work) for p in found],
                         [("cg", "ep", 1.3), (MARKUP, "ep", 0.8)])
        text = self.html(rows)
        for part in ("ep beside cg: 1.25 times its time alone",
                     "cg beside ep: 2.00 times its time alone", "cg beside cg: not seen",
                     "Keep &lt;i&gt;x&lt;/i&gt; and ep apart: together they do 80% of",
                     "Pairs that pay most: cg with ep (1.30 times one alone)"):
            self.assertIn(part, text)
        self.assertNotIn(MARKUP, text)
        self.assertEqual([heat.heat_of(v) for v in (0.9, 1.1, 1.2, 1.4, 1.6, 2, 9)],
                         [0, 1, 2, 3, 4, 5, 6])

    def test_many_programs(self):
        """A map of the programs with most jobs; each cell can be told apart."""
        rows = []
        for i in range(60):
            t = 100 * i
            rows += pair(100 + 2 * i, (f"p{i:02}", f"q{i:02}"), ((t, t, t + 50), (t, t, t + 50)),
                         (40, 40))
        known = gains.slowdowns(self.jobs(rows))
        self.assertLessEqual(len({name for key in known for name in key}), gains.NAMES_MOST)
        self.html(rows)

    # ---- what to change

    def test_advice(self):
        rows = pair(42, ("static", "cg"), ((0, 90, 100), (0, 90, 100)), (10, 10), attached=0,
                    follow="static:libgomp", best_cores=3, granted=8)
        text = " ".join(gains.advice(self.jobs(rows), gains.Comparison(self.jobs(rows))))
        for part in ("static (1 job) is pinned to its cores: it contains libgomp statically",
                     "cg (1 job) has 95 % of its speed on 3 of 8 cores: --coschedule=max_cores=3",
                     "Jobs waited longer than they ran (90 s and 10 s on average)"):
            self.assertIn(part, text)
        good = self.jobs([run(50, (T, T, T + 30), "ep", record(alone_s="30.00"))])
        self.assertIn("Nothing stands out", gains.advice(good, gains.Comparison(good))[0])
        rows = []
        for i in range(40):
            rows += pair(100 + 2 * i, (f"p{i}", f"q{i}"), ((100 * i, 100 * i, 100 * i + 90),) * 2,
                         (40, 40), best_cores=3, granted=8)
        jobs = self.jobs(rows)
        said = gains.advice(jobs, gains.Comparison(jobs))
        self.assertEqual(len(said), gains.ADVICE_MOST)
        self.assertRegex(said[-1], r"There are \d+ more")

    # ---- by account

    def test_accounts(self):
        rows = [run(i, (T, T, T + 30), "ep", record(alone_s="30.00", core_s="60.00"),
                    account=account) for i, account in ((1, "lab"), (2, "bio"), (3, "lab"))]
        found = json.loads(self.text(rows, "-a", "--by", "account", "--json"))["groups"]
        self.assertEqual([(g["account"], g["jobs"], g["core_s"]) for g in found],
                         [("bio", 1, 60.0), ("lab", 2, 120.0)])
        self.assertIn("ACCOUNT", self.text(rows, "-a", "--by", "account"))
        self.assertIn('<table id="accounts">', self.html(rows))


if __name__ == "__main__":
    unittest.main()
