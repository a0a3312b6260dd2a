#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport: each job, with what sacct (Slurm 22.05) was seen to print."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import unittest
from random import Random
from unittest import mock

sys.path.insert(0, os.path.join(os.environ.get("abs_top_srcdir", "."),
                                "tests", "support"))
from fakesacct import (FIELDS, REPORT, SOURCE, ReportTest, record,  # noqa: E402
                       run)

import jobrecord  # noqa: E402
import slurmrows  # noqa: E402

COMPLETION = os.path.join(SOURCE, "slurm_conf", "completions", "coschedreport")

# Times as recorded.
T = 1795242461
ZEROS = record(mean_cores="0.00", final_cores=0, regions=0, parallel_s="0.00",
               core_s="0.00", partners=42, attached=0)
FINAL = record(mean_cores="1.51", parallel_s="6.63", core_s="10.00",
               partners="43,44", decisions=5)
EP = run(42, (T, T + 2, T + 7), comment=FINAL)
CG = run(43, (T + 1, T + 1, T + 9), "cg", record(
    final_cores=2, regions=4, parallel_s="1.69", core_s="8.71"),
    state="FAILED")
CANCELLED = run(44, (T, T, T + 3), "sl", record(
    mean_cores="0.48", regions=0, parallel_s="0.00", core_s="1.58",
    partners="43,42", attached=0), state="CANCELLED by 0")
PENDING = run(45, (T + 3, "Unknown", "Unknown"), "plain", state="PENDING",
              partition="normal", nodelist="None assigned", alloccpus=0,
              alloctres="")
NEVER = run(45, (T + 3, "None", T + 19), "plain", state="CANCELLED by 0",
            partition="normal", nodelist="None assigned", alloccpus=0)
# The same within the second of its submission.
NEVER_SOON = run(45, (T + 3, T + 3, T + 3), "plain", state="CANCELLED by 0",
                 partition="normal", nodelist="None assigned", alloccpus=0)
RUNNING = run(42, (T, T, "Unknown"), comment=record("running", mean_cores="1.20",
              core_s="1.20"), state="RUNNING")
# Shorter than the agent's first look, and just ended.
SHORT = run(46, (T + 3, T + 3, T + 3), "allocation",
            ZEROS.replace("final", "running", 1), partition="")
SHORT_FINAL = run(46, (T + 3, T + 3, T + 3), "short", ZEROS)
PLAIN = run(47, (T + 3, T + 3, T + 13), "plain", partition="normal")
ARRAY = [run(f"37_{i}", (T, T + 1, T + 6), "wrap", FINAL, jobidraw=raw)
         for i, raw in ((1, 38), (2, 39), (3, 37))]
# As "sacct -D" shows a job that was requeued twice.
REQUEUED = [run(9, (T, T, T + 3), state="REQUEUED"),
            run(9, (T + 4, T + 125, T + 130), state="NODE_FAIL"),
            run(9, (T + 131, T + 140, T + 146), comment=FINAL)]


class Report(ReportTest):
    def jobs(self, rows, *arguments, **more):
        return json.loads(self.text(rows, "--json", *arguments, **more))["jobs"]

    # ---- bad input first

    def test_bad_arguments(self):
        for bad in ("x", "0", "-3", "12x", "12.batch", "12_", "1,,2", "", "1+", "1;",
                    "٣"):
            done = self.run_with([EP], "--", bad)
            self.assertEqual(done.returncode, 2, bad)
            self.assertIn("not a job id", done.stderr)
        for bad, message in (
                (["--bogus"], "--bogus"), (["--json", "--csv"], "--csv"),
                (["--user", "ann", "-a"], "--user and --all-users"),
                (["--user", ""], "-u/--user: must not be empty"),
                (["--native", "4,5", "3"], "--native"),
                (["--trace", "t.json"], "--trace: only with"),
                (["--by", "node"], "--by: invalid choice: 'node'"),
                (["--by", "mix", "--html", "x"], "--by mix: not with"),
                (["--history", "x"], "--history: x: not a number of days"),
                (["--history", "36501"], "36501"),
                (["--plot", "x.gif"], "--plot x.gif: only .svg"),
                (["--alone", "x"], "--alone: x: not a job id")):
            done = self.run_with([EP], *bad)
            self.assertEqual((done.returncode, done.stdout), (2, ""), bad)
            self.assertIn(message, done.stderr)
        self.assertFalse(os.path.exists(self.path("asked")))

    def test_unknown_job(self):
        done = self.run_process([EP], "42", "99")
        self.assertEqual(done.returncode, 1)
        self.assertIn("job 99: not in Slurm's accounting", done.stderr)
        self.assertNotIn("42", done.stderr)
        self.assertIn("1.51", done.stdout)

    def test_sacct_fails(self):
        for says, arguments, message in (
                ("sacct: error: no connection", ["42"],
                 "sacct: error: no connection"),
                ("Invalid time specification (pos=0): xyz", ["-S", "xyz"],
                 "--start xyz: Invalid time specification (pos=0): xyz"),
                ("Invalid time specification (pos=0): xyz", ["-E", "xyz"],
                 "--end xyz: Invalid time specification (pos=0): xyz"),
                ("sacct: error: Invalid user id: eve", ["-u", "ann,eve"],
                 "--user eve: sacct: error: Invalid user id: eve"),
                ("", ["42"], "sacct: exit status 1")):
            self.write("fail", says)
            done = self.run_with([], *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr, f"coschedreport: {message}\n")

    def test_no_sacct(self):
        env = {**os.environ, "PATH": self.folder}
        os.unlink(self.path("sacct"))
        done = subprocess.run([sys.executable, REPORT, "42"], env=env,
                              text=True, check=False, capture_output=True,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr,
                         "coschedreport: sacct: not found in PATH; it is a "
                         "part of Slurm (Debian: slurm-client)\n")

    def test_records_out_of_order(self):
        for comment, key, word in (
                ("cosched/1 state=final mean_cores=many", "mean_cores",
                 "mean_cores=many is not a number"),
                ("cosched/1 state=final mean_cores=nan", "mean_cores", "nan"),
                ("cosched/1 state=final core_s=-1", "core_s", "core_s=-1"),
                ("cosched/1 state=final core_s=1e999", "core_s", "1e999"),
                ("cosched/1 state=final regions=1_0", "regions", "1_0"),
                ("cosched/1 state=final attached=2", "attached",
                 "neither 0 nor 1"),
                ("cosched/1 state=final partners=1,x", "partners", "1,x"),
                ("cosched/1 state=gone", "policy", "state=gone"),
                ("cosched/1", "policy", "incomplete"),
                ("cosched/1 state=final regions=" + "9" * 5000, "regions",
                 "9" * 64 + "... is"),
                ("cosched/2 state=final cores=3", "record", "version 2"),
                ("xcosched/1 state=final", "record", "no record"),
                ("a note of the site", "record", "no record"),
                ("", "record", "no record")):
            job, = self.jobs([EP.replace(FINAL, comment)], "42")
            self.assertIsNone(job[key], comment)
            self.assertIn(word, job["notes"][0])
            self.assertEqual(job["turnaround_s"], 7)

    def test_old_record(self):
        record_ = jobrecord.parse("cosched/1 state=final sections=4")
        self.assertEqual((record_.fields["regions"], record_.problems), (4, []))

    def test_truncated_records(self):
        """Slurm may cut a comment anywhere."""
        for length in range(len(FINAL)):
            record_ = jobrecord.parse(FINAL[:length])
            if record_ is None:
                self.assertLess(length, len("cosched/1"))
                continue
            for key, value in record_.fields.items():
                if f" {key}=" not in FINAL[:length]:
                    self.assertIsNone(value, (key, length))
        job, = self.jobs([EP.replace(FINAL, FINAL[:60])], "42")
        self.assertEqual((job["mean_cores"], job["core_s"]), (1.51, None))

    def test_garbage(self):
        """Whatever a comment holds, the job is reported; same each time."""
        random = Random(1)
        pieces = [*FINAL.split(" "), "cosched/1", "=", "state=", "\n", " ", "\t",
                  "core_s=1e400", "partners=,", "regions=٣", "a=b=c", 
                  "x" * 300, "\u2028", "é", "mean_cores=", "class=\x1b[2J"]
        comments = [" ".join(random.choices(pieces, k=random.randint(0, 40)))
                    for _ in range(300)]
        rows = [run(i, (T, T, T + 7), comment=comment)
                for i, comment in enumerate(comments, 100)] + [CG]
        jobs = self.jobs(rows, "--all")
        self.assertEqual(len(jobs), 301)
        self.assertTrue(all(job["turnaround_s"] == 7 for job in jobs[:-1]))
        self.assertEqual(jobs[-1]["mean_cores"], 1.0)
        for form in (), ("--csv",), ("--by", "program"), ("--by", "mix"):
            out = self.text(rows, "--all", *form)
            self.assertNotIn("nan", out.lower())
            if not form:
                self.assertNotIn("\x1b", out)

    def test_newer_records(self):
        """A newer agent's record loses nothing."""
        job, = self.jobs([EP.replace(FINAL, FINAL + " class=memory rho=0.2 "
                                     "colour_x=red depth_x=0.25")], "42")
        self.assertEqual((job["program_class"], job["agent"]),
                         ("memory", {"class": "memory", "rho": 0.2,
                                     "colour_x": "red", "depth_x": 0.25}))
        # A requeued job's comment may hold the record of the run before.
        job, = self.jobs([EP.replace(FINAL, ZEROS + " " + FINAL)], "42")
        self.assertEqual(job["mean_cores"], 1.51)

    def test_regions(self):
        """Where the time went: for each job, and over all."""
        hot = " parallel_s=10.00 program=cg hot=conj_grad@cg.c:87*0.62,1f+2c*0.21,short*9e-05"
        rows = [EP.replace(FINAL, FINAL + hot),
                CG.replace("cosched/1 ", "cosched/1 program=cg hot=conj_grad@cg.c:87*1 ")]
        job = self.jobs(rows, "42,43")[0]
        self.assertEqual(job["agent"]["hot"], [
            {"region": "conj_grad, cg.c:87", "share": 0.62},
            {"region": "1f+2c", "share": 0.21}, {"region": "short", "share": 9e-05}])
        self.assertIn("hot=conj_grad, cg.c:87 62%; 1f+2c 21%; short 0%",
                      self.text(rows, "--csv", "42,43"))
        out = self.text(rows, "--by", "region", "42,43").splitlines()
        self.assertEqual([line.split() for line in out[:3]], [
            ["PROGRAM", "REGION", "JOBS", "TIME", "SHARE"],
            ["cg", "conj_grad,", "cg.c:87", "2", "7.9", "s", "68%"],
            ["cg", "1f+2c", "1", "2.1", "s", "21%"]])
        found = json.loads(self.text(rows, "--by", "region", "--json", "42,43"))["groups"]
        self.assertEqual(found[0], {"cluster": found[0]["cluster"], "program": "cg", "jobs": 2,
                                    "region": "conj_grad, cg.c:87", "parallel_s": 7.89,
                                    "share": 0.675})
        for bad in ("a*", "*1", "a*1,", "a*x", "a*1e999", "a b*1", "<b>*1", "a*-1"):
            job, = self.jobs([EP.replace(FINAL, f"{FINAL} hot={bad}")], "42")
            self.assertNotIn("hot", job["agent"])
            self.assertEqual(job["mean_cores"], 1.51)

    def test_hostile_texts(self):
        name = "\x1b[31mred"
        out = self.text([EP.replace("\x00ep\x00", f"\x00{name}\x00")], "42")
        self.assertNotIn("\x1b", out)
        self.assertIn("?[31mred", out)
        for name in ("a b,c", "two\nlines", "with|bars", "|" * 30, "é\u2028x"):
            job, other = self.jobs(
                [EP.replace("\x00ep\x00", f"\x00{name}\x00"), CG], "42", "43")
            self.assertEqual((job["name"], job["mean_cores"], other["job"]),
                             (name, 1.51, "43"))

    def test_locale(self):
        """Where the terminal has no letter for it."""
        done = self.run_process([EP.replace("\x00ep\x00", "\x00mü∞\x00")], "42",
                                env={"PYTHONIOENCODING": "ascii"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("  m??  ", done.stdout)

    def test_comment_of_several_lines(self):
        rows = [EP.replace(FINAL, "a note\nin two lines | " + FINAL + "\n\n"), CG]
        self.assertEqual([j["mean_cores"] for j in self.jobs(rows, "42", "43")],
                         [1.51, 1.0])

    # ---- what is not known is not zero

    def test_short_job(self):
        job, = self.jobs([SHORT], "46")
        for key in ("mean_cores", "final_cores", "regions", "core_s", "name",
                    "core_share", "slowdown"):
            self.assertIsNone(job[key], key)
        self.assertEqual(job["turnaround_s"], 0)
        self.assertIn("ask again", job["notes"][0])
        line = self.text([SHORT], "46").splitlines()[1].split()
        self.assertEqual(line[:3], ["46", "-", "COMPLETED"])
        self.assertEqual(line[6:], ["<1", "s", "<1", "s", *"------", "42"])
        none, = self.jobs([SHORT.replace("partners=42", "partners=-")], "46")
        self.assertIsNone(none["partners"])

        job, = self.jobs([SHORT_FINAL], "46")
        self.assertIsNone(job["final_cores"])
        self.assertIn("before the agent had given it cores", job["notes"][0])
        job, = self.jobs([SHORT_FINAL.replace("attached=0", "attached=0 started=0")], "46")
        self.assertIn("was told of none of its processes", job["notes"][0])

    def test_not_ended(self):
        job, = self.jobs([RUNNING], "42")
        self.assertIsNone(job["end"])
        self.assertIsNone(job["turnaround_s"])
        self.assertEqual((job["record"], job["mean_cores"]), ("interim", 1.2))
        self.assertIn("still running", job["notes"][0])
        # Counted until the job's first moments only.
        for key in ("core_s", "core_share", "parallel_s", "regions"):
            self.assertIsNone(job[key], key)
        out = self.text([RUNNING, CG], "42", "43")
        self.assertIn("makespan: not known before the end of job 42", out)

    def test_not_started(self):
        for line, note in ((PENDING, "has not started"),
                           (NEVER, "ended before it started"),
                           (NEVER_SOON, "ended before it started")):
            job, = self.jobs([line], "45")
            for key in ("start", "wait_s", "run_s", "alloc_core_s", "billed"):
                self.assertIsNone(job[key], key)
            self.assertEqual(job["notes"], [note])

    # ---- good input

    def test_one_job(self):
        job, = self.jobs([EP], "42")
        self.assertEqual(job, {
            "job": "42", "name": "ep", "user": "ann", "state": "COMPLETED",
            "submit": T, "start": T + 2, "end": T + 7,
            "wait_s": 2, "run_s": 5, "turnaround_s": 7, "record": "final",
            "policy": "nupoco", "mean_cores": 1.51, "final_cores": 1,
            "regions": 1, "parallel_s": 6.63, "parallel_share": 1.0,
            "core_s": 10.0, "alloc_core_s": 10, "core_share": 1.0,
            "billed": 10, "alone_s": None, "alone_by": None, "alone_job": None, "slowdown": None,
            "slowdown_error": None, "program_class": None, "partners": [43, 44], "decisions": 5,
            "attached": True, "pinned": False, "cluster": "cosched",
            "account": "lab", "partition": "cosched", "nodes": "n1",
            "alloc_cpus": 2, "runs": 1, "lost_s": 0, "suspended_s": 0,
            "agent": {}, "notes": []})
        self.assertNotIn("makespan", self.text([EP], "42"))
        first = self.asked()[0]
        self.assertTrue(first.startswith("%s "), first)
        self.assertIn("-X -D -a -j 42", first)
        self.assertEqual(self.read("fields").strip(), ",".join(FIELDS))

    def test_mix(self):
        out = json.loads(self.text([EP, CG], "--json", "42,43"))
        mix = out["mix"]
        self.assertEqual((mix["jobs"], mix["makespan_s"],
                          mix["total_turnaround_s"], mix["not_ended"]),
                         (["42", "43"], 9, 15, []))
        # Both had the node's 2 CPUs allocated, from T + 1 to T + 9.
        self.assertEqual((mix["core_s"], mix["alloc_core_s"],
                          mix["node_core_s"]), (18.71, 26, 16))
        self.assertIn("-j 42,43", self.asked()[0])
        text = self.text([EP, CG], "42", "43")
        self.assertIn("makespan of the 2 jobs: 9 s, total turnaround 15 s",
                      text)
        self.assertIn("core-seconds: 19 held of 26 allocated (72%); the nodes "
                      "had 16 meanwhile", text)
        self.assertEqual(text.splitlines()[2].split()[-3:],
                         ["4", "19%", "nobody"])

    def test_held_to_their_share(self):
        job, = self.jobs([CANCELLED], "44")
        self.assertEqual((job["state"], job["attached"], job["pinned"]),
                         ("CANCELLED", False, True))
        self.assertIn("pinned to its share by affinity", job["notes"][0])
        rows = [CANCELLED.replace("44\x0044", f"{i}\x00{i}") for i in range(50, 62)]
        lines = [line for line in self.text(rows, "-S", "now").splitlines()
                 if "pinned to its share" in line]
        self.assertEqual(len(lines), 1)
        self.assertIn("jobs 50, 51, 52, 53, 54, 55, 56, 57 and 4 more: no "
                      "program attached", lines[0])

    def test_array_and_het_job(self):
        self.assertEqual(len(self.jobs(ARRAY, "37")), 3)
        self.assertEqual(len(self.jobs(ARRAY[1:2], "37_2")), 1)
        self.assertEqual(len(self.jobs(ARRAY[1:2], "39")), 1)
        het = [run(f"2+{i}", (T, T, T + 1), jobidraw=2 + i) for i in (0, 1)]
        self.assertEqual([j["job"] for j in self.jobs(het, "2")], ["2+0", "2+1"])
        self.assertEqual(len(self.jobs(het[1:], "2+1")), 1)
        waiting = run("6_[5-9%2]", (T, "Unknown", "Unknown"), jobidraw="6",
                      state="PENDING", nodelist="None assigned")
        self.assertEqual(self.jobs([waiting], "6")[0]["job"], "6_[5-9%2]")

    def test_requeued(self):
        job, = self.jobs(REQUEUED, "9")
        self.assertEqual((job["submit"], job["start"], job["runs"],
                          job["lost_s"]), (T, T + 140, 3, 8))
        self.assertEqual((job["wait_s"], job["turnaround_s"], job["run_s"]),
                         (132, 146, 6))
        self.assertEqual(job["notes"], ["requeued 2 times: it counts from its "
                                        "first submission; 8 s ran in vain"])
        # Somebody else's job of the same number, long ago.
        job, = self.jobs([REQUEUED[0].replace("REQUEUED", "COMPLETED"),
                          REQUEUED[2]], "9")
        self.assertEqual((job["submit"], job["runs"], job["notes"]),
                         (T + 131, 1, []))

    def test_suspended(self):
        job, = self.jobs([EP.replace("00:00:00", "00:00:02", 1)], "42")
        self.assertEqual((job["run_s"], job["suspended_s"],
                          job["alloc_core_s"]), (5, 2, 6))

    def test_clusters(self):
        other = EP.replace("\x00cosched", "\x00other", 1)
        rows = [EP, other]
        self.assertEqual([j["cluster"] for j in self.jobs(rows, "-M", "all",
                                                          "42")],
                         ["cosched", "other"])
        self.assertIn("-M all", self.asked()[0])
        self.assertEqual(self.text(rows, "-M", "all").split()[1], "CLUSTER")
        self.assertNotIn("CLUSTER", self.text([EP, CG]))
        # As sbatch --parsable prints it.
        self.assertEqual(len(self.jobs([other], "42;other")), 1)
        self.assertIn("-M other -j 42", self.read("asked"))
        done = self.run_with([], "-M", "cosched,nosuch")
        self.assertEqual(done.stderr, "coschedreport: --clusters nosuch: no "
                         "such cluster in Slurm's accounting\n")

    def test_time_zone(self):
        self.assertIn(" 06:27:41 ", self.text([EP], "42"))
        self.assertIn(" 15:27:41 ", self.text([EP], "42",
                                              env={"TZ": "Asia/Tokyo"}))

    def test_selection(self):
        text = self.text([EP, PLAIN, CG])
        self.assertNotIn("plain", text)
        self.assertNotIn("makespan", text)
        asked = self.asked()[0]
        self.assertNotIn("-j", asked)
        self.assertIn(f"-u {os.getuid()} -S midnight", asked)
        self.assertIn("plain", self.text([EP, PLAIN, CG], "--all"))
        for arguments, wanted in (
                (["-u", "ann,bob"], "-u ann,bob -S midnight"),
                (["-a", "-S", "now-2days"], "-a -S now-2days"),
                (["-S", "13:00", "-E", "14:00"], "-S 13:00 -E 14:00"),
                (["42", "-u", "ann"], "-u ann -j 42")):
            os.unlink(self.path("asked"))
            self.text([EP], *arguments)
            self.assertIn(wanted, self.asked()[0])

    def test_nothing_found(self):
        for rows, arguments, message in (
                ([PLAIN], [], "no co-scheduled job of yours since midnight; 1 "
                 "other job (--all shows them)"),
                ([PLAIN, NEVER], ["-u", "ann", "-S", "9:00", "-E", "10:00"],
                 "no co-scheduled job of ann since 9:00 until 10:00; 2 other "
                 "jobs (--all shows them)"),
                ([], ["-a"], "no job of anybody since midnight in Slurm's "
                 "accounting, or none that you may see")):
            for form in ([], ["--json"], ["--csv"]):
                done = self.run_with(rows, *arguments, *form)
                self.assertEqual(done.returncode, 0)
                self.assertEqual(done.stderr, f"coschedreport: {message}\n")
        self.assertEqual(json.loads(self.run_with([], "--json").stdout),
                         {"jobs": [], "mix": None})

    def test_several_days(self):
        later = CG.replace(str(T + 9), str(T + 100009))
        self.assertIn("11-21 ", self.text([EP, later], "42", "43"))
        later = CG.replace(str(T + 9), str(T + 10000009))
        self.assertIn("2026-11-21 ", self.text([EP, later], "42", "43"))

    def test_energy(self):
        """Columns that are there only where something was measured."""
        with_energy = EP.replace(FINAL, FINAL + " energy_j=250.5")
        job, other = self.jobs([with_energy, CG], "42", "43")
        self.assertEqual((job["energy_j"], job["energy_delay_js"]),
                         (250.5, 1252.5))
        self.assertIsNone(other["energy_j"])
        out = self.text([with_energy, CG], "42", "43")
        self.assertEqual(out.splitlines()[0].split()[-3:],
                         ["ENERGY*", "EDP*", "WITH"])
        self.assertEqual(out.splitlines()[1].split()[-5:],
                         ["250", "J", "1.25e+03", "Js", "43,44"])
        self.assertEqual(out.splitlines()[2].split()[-3:], ["-", "-", "nobody"])
        self.assertIn("* estimated", out)
        job, = self.jobs([CG], "43")
        self.assertNotIn("energy_j", job)
        self.assertNotIn("ENERGY", self.text([CG], "43"))
        header = self.text([with_energy], "--csv", "42").splitlines()[0]
        self.assertTrue(header.endswith(",energy_j,energy_delay_js"), header)

    def test_cpu_time(self):
        rows = [EP.replace("00:00:00\x00ep", "1-02:03:04\x00ep"),
                EP.replace("42\x0042", "42.batch\x0042.batch", 1)]
        job, = self.jobs(rows, "--cpu", "42")
        self.assertEqual(job["cpu_s"], 93784)
        self.assertNotIn("-X", self.asked()[0].split())
        self.assertIn(" CPU ", self.text(rows, "--cpu", "42").splitlines()[0])
        job, = self.jobs([EP], "42")
        self.assertNotIn("cpu_s", job)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.text(
            [EP, SHORT_FINAL, PENDING], "--csv", "42", "46", "45"))))
        self.assertEqual([r["mean_cores"] for r in rows], ["1.51", "", ""])
        self.assertEqual(rows[0]["partners"], "43 44")
        self.assertEqual([r["attached"] for r in rows], ["1", "0", ""])
        self.assertEqual(rows[2]["turnaround_s"], "")
        formula = EP.replace("\x00ep\x00", "\x00=1+2\x00")
        self.assertIn(",'=1+2,", self.text([formula], "--csv", "42"))
        # In lists of mixes, behind what a spreadsheet leaves out, in later cells.
        for name in ("=1", "\t=1", "\r@1", "  +1", "x;-1", "\uff1d1", '";"=1'):
            rows = [EP.replace("\x00ep\x00", f"\x00{name}\x00"), CG]
            for by in ("job", "mix", "program"):
                text = self.text(rows, "--csv", "--by", by, "42,43")
                for cell in (c for line in csv.reader(io.StringIO(text))
                             for word in line for c in word.split(";")):
                    self.assertNotRegex(cell, r"""^[\s"]*[=+@\uff1d-]""", (name, by))
                    self.assertTrue(cell.isprintable(), (name, by))

    def test_parallel_share(self):
        for old, new, share in (("parallel_s=6.63", "parallel_s=0.00", 0.0),
                                ("parallel_s=6.63", "parallel_s=3.31", 0.5),
                                ("parallel_s=6.63", "parallel_s=9.00", 1.0),
                                ("parallel_s=6.63 ", "", None)):
            job, = self.jobs([EP.replace(old, new)], "42")
            self.assertEqual(job["parallel_share"], share, new)

    def test_closed_output(self):
        """As with "| head": no traceback."""
        self.rows("rows", [EP] * 5000)
        env = {**os.environ, "PATH": self.folder + ":" + os.environ["PATH"]}
        with subprocess.Popen([REPORT, "--all"], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(), "")
        self.assertEqual(process.returncode, 1)

    def test_version(self):
        with open(os.path.join(SOURCE, "configure.ac"),
                  encoding="utf-8") as file:
            version = re.search(r"AC_INIT\(\[coschedule\], \[([^]]+)\]",
                                file.read())[1]
        self.assertEqual(self.run_with([], "--version").stdout,
                         f"coschedreport {version}\n")

    def test_completion(self):
        def complete(*words):
            script = ('. "$1"; shift; COMP_WORDS=(coschedreport "$@"); '
                      'COMP_CWORD=$#; _coschedreport; '
                      'printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(
                ["bash", "-c", script, "bash", COMPLETION, *words], text=True,
                env={"PATH": self.folder + ":" + os.environ["PATH"]},
                check=True, capture_output=True).stdout.split()
        self.write("rows", "42\n37_1\n43\n")
        self.assertEqual(complete("4"), ["42", "43"])
        self.assertEqual(complete("37"), ["37_1"])
        self.assertEqual(complete("--js"), ["--json"])
        self.assertEqual(complete("--by", ""),
                         ["job", "mix", "program", "region", "user", "account"])
        self.assertEqual(complete("--alone", "4"), ["42", "43"])
        self.write("x.svg", "")
        self.assertIn("root", complete("-u", "roo"))
        self.assertEqual(complete("-M", "oth"), ["other"])


class OldSlurm(unittest.TestCase):
    """20.11, whose sacct knows no submitline, and whose slurmdbd changes no AdminComment of a job
    that has ended."""

    ROW = {"jobid": "7", "admincomment": record("running"), "systemcomment": FINAL}

    def sacct(self, *command, **_):
        fields = command[command.index("-o") + 1].split(",")
        for field in fields:
            if field not in self.ROW:
                raise slurmrows.CommandError(f'sacct: error: Invalid field requested: "{field}"')
        delimiter = command[3].partition("=")[2]
        return "".join(self.ROW[field] + delimiter for field in fields) + "\n"

    def test_row(self):
        with mock.patch.object(slurmrows, "run", self.sacct):
            rows = slurmrows.sacct(("jobid", "submitline", "admincomment"))
            self.assertEqual(rows, [{"jobid": "7", "submitline": "", "admincomment": FINAL}])


if __name__ == "__main__":
    unittest.main()
