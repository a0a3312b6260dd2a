#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport: what sharing gained, by runs alone and by native sharing."""

import csv
import io
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ.get("abs_top_srcdir", "."),
                                "tests", "support"))
from fakesacct import ReportTest, record, run  # noqa: E402

T = 1795242461
SUBMIT = "sbatch --coschedule ep.sh "
# Two jobs that shared a node.
EP = run(42, (T, T, T + 60), "ep.sh", record(core_s="70.00", partners=43),
         submitline=SUBMIT + "30")
CG = run(43, (T, T + 10, T + 90), "cg.sh", record(core_s="90.00", partners=42),
         submitline="sbatch --coschedule cg.sh")
MIX = [EP, CG]


def alone(jobid, seconds, name="ep.sh", line="sbatch --exclusive ep.sh 30",
          **more):
    """An ordinary run with the node for itself, long ago."""
    begin = T - 1000 * jobid
    return run(jobid, (begin, begin, begin + seconds), name, submitline=line,
               partition="normal", **more)


ALONE = [alone(1, 50), alone(2, 40), alone(3, 30, line="sbatch ep.sh 8"),
         alone(4, 64, "cg.sh", "sbatch cg.sh")]


class Mixes(ReportTest):
    def report(self, rows, *arguments, **more):
        return json.loads(self.text(rows, "--json", *arguments, **more))

    def slowdowns(self, rows, *arguments, **more):
        return [j["slowdown"]
                for j in self.report(rows, *arguments, **more)["jobs"]]

    def test_best_run_alone(self):
        out = self.report(MIX, "42,43", past=ALONE)
        ep, cg = out["jobs"]
        self.assertEqual((ep["alone_s"], ep["alone_job"], ep["alone_by"],
                          ep["slowdown"]), (40, "2", "run", 1.5))
        self.assertEqual(ep["slowdown_error"], 0.062)   # 1.5 (1/60 + 1/40)
        self.assertEqual((cg["alone_job"], cg["slowdown"]), ("4", 1.25))
        self.assertIn("-s CD", self.asked()[1])
        self.assertIn("-u ann --name cg.sh,ep.sh -S 2026-10-22T06:27:41 -E now",
                      self.asked()[1])
        mix = out["mix"]
        # Speedups 40 / 60 and 64 / 90.
        self.assertEqual((mix["in_turn_s"], mix["makespan_s"], mix["hmean"]),
                         (104, 90, 0.688))
        text = self.text(MIX, "42,43", past=ALONE)
        self.assertIn("alone, one after the other: 104 s; the makespan is 13% "
                      "shorter", text)
        self.assertIn("Hmean 0.69\n", text)
        self.assertIn("slowdown: against the best run alone: ep.sh 40 s (job "
                      "2), cg.sh 64 s (job 4)", text)
        self.assertIn("1.5±0.1", text)

    def test_not_alone(self):
        """Runs that say nothing of the program alone on such a node."""
        for past in ([], [alone(1, 50, alloccpus=1)],
                     [alone(1, 50, state="FAILED")],
                     [alone(1, 50, user="bob")],
                     [alone(1, 50, suspended="00:00:10")],
                     [alone(1, 50, cluster="other")],
                     [alone(1, 50, comment=record(partners=7))],
                     # Two ordinary jobs on one node at a time.
                     [alone(1, 50), alone(1, 50).replace("1\0001", "5\0005", 1)]):
            self.assertEqual(self.slowdowns([EP], "42", past=past), [None], past)
        # Ran in the same second only.
        after = run(5, (T - 950, T - 950, T - 900), "x", partition="normal")
        self.assertEqual(self.slowdowns([EP], "42", past=[alone(1, 50), after]),
                         [1.2])
        self.assertEqual(self.slowdowns([EP], "42", past=[
            alone(1, 50, comment=record())]), [1.2])
        self.assertIn("slowdown: not known of job 42: no run of its program "
                      "alone within 30 days", self.text([EP], "42"))

    def test_run_among_the_jobs(self):
        """Runs alone of the same day, which are also among the earlier ones."""
        for arguments in (["-u", "ann"], ["-u", "ann", "--all"]):
            jobs = self.report([*MIX, *ALONE], *arguments, past=ALONE)["jobs"]
            self.assertEqual([(j["alone_job"], j["slowdown"]) for j in jobs
                              if j["record"]], [("2", 1.5), ("4", 1.25)])

    def test_itself_alone(self):
        """A job that is the best run alone itself."""
        rows = [run(42, (T, T, T + 5), comment=record())]
        job, = self.report(rows, "42")["jobs"]
        self.assertEqual((job["alone_job"], job["slowdown"],
                          job["slowdown_error"]), ("42", 1, 0))
        self.assertNotIn("slowdown:", self.text(rows, "42"))

    def test_programs(self):
        """What is a run of the same program, and what may be another."""
        def slowdown(name, line, past_line):
            job = run(42, (T, T, T + 60), name, record(partners=43),
                      submitline=line)
            return self.slowdowns([job], "42", past=[
                alone(1, 50, name, past_line)]) == [1.2]
        for name, line, past_line, same in (
                ("ep.sh", "sbatch a/ep.sh 1", "sbatch -p x ./ep.sh 1", True),
                ("ep.sh", "sbatch ep.sh 1", "sbatch ep.sh 2", False),
                ("ep", "sbatch ep.sh 1", "sbatch x/ep.sh 2", False),
                ("ep", "sbatch -J ep x.sh 1", "sbatch -J ep y.sh 2", True),
                ("ep", "sbatch -J ep --wrap ./a", "sbatch --wrap=./a", True),
                ("wrap", "sbatch --wrap ./a 1", "sbatch -n1 --wrap ./a 1", True),
                ("wrap", "sbatch --wrap ./a 1", "sbatch --wrap ./a 2", False),
                ("wrap", "", "", False), ("bash", "srun", "srun", False),
                ("ep", "", "", True), ("ep", 'sbatch "ep', 'sbatch "ep', True)):
            self.assertEqual(slowdown(name, line, past_line), same,
                             (line, past_line))

    def test_named_runs(self):
        self.rows("j-2", [alone(2, 40, alloccpus=64)])
        self.rows("j-9", [])
        self.assertEqual(self.slowdowns([EP], "42", "--alone", "2",
                                        "--history", "0"), [1.5])
        self.assertNotIn("-s CD", self.read("asked"))
        done = self.run_with([EP], "42", "--alone", "9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--alone: job 9: not in Slurm's accounting", done.stderr)

    def test_agents_estimate(self):
        """Where no run is known, what the record says."""
        job = EP.replace("attached=1", "attached=1 alone_s=48.00 alone_share=0.2")
        out = self.report([job], "42")["jobs"][0]
        self.assertEqual((out["alone_s"], out["alone_by"], out["alone_job"],
                          out["slowdown"], out["slowdown_error"]),
                         (48, "estimate", None, 1.25, None))
        text = self.text([job], "42")
        self.assertIn(" ~1.25 ", text)
        self.assertIn("~ is against the agent's estimate", text)
        self.assertEqual(self.slowdowns([job], "42", past=ALONE), [1.5])

    # ---- native sharing

    def native(self, first, begin, ep_s, cg_s):
        """The mix under policy native."""
        return [run(first, (begin, begin, begin + ep_s), "ep.sh",
                    record(policy="native", partners=first + 1),
                    submitline=SUBMIT + "30"),
                run(first + 1, (begin, begin, begin + cg_s), "cg.sh",
                    record(policy="native", partners=first),
                    submitline="sbatch --coschedule cg.sh")]

    def test_native(self):
        past = [*self.native(20, T - 9000, 100, 100),
                *self.native(30, T - 5000, 110, 90)]
        mix = self.report(MIX, "42,43", past=past)["mix"]
        # The first starts at once, the last ends after 90 s; native 110 s.
        self.assertEqual((mix["ntt"], mix["normalised_turnaround"],
                          mix["native_jobs"]), (0.818, 0.75, ["30", "31"]))
        self.assertIn("NTT 0.82, normalised turnaround 0.75 (native: jobs 30 and "
                      "31)",
                      self.text(MIX, "42,43", past=past))
        # Other programs are another mix.
        mix = self.report(MIX, "42,43", past=past[:1])["mix"]
        self.assertIsNone(mix["ntt"])
        self.assertIsNone(mix["normalised_turnaround"])

    def test_native_named(self):
        self.rows("j-50,51", [run(50, (T, T, T + 100), "x"),
                              run(51, (T, T, T + 200), "y")])
        mix = self.report(MIX, "42,43", "--native", "50,51")["mix"]
        self.assertEqual((mix["ntt"], mix["normalised_turnaround"],
                          mix["native_jobs"]), (0.45, 0.5, ["50", "51"]))

    def test_errors_of_short_jobs(self):
        """Whole seconds leave much open in mixes of a few seconds."""
        rows = [run(42, (T, T, T + 4), "ep", record(partners=43)),
                run(43, (T, T, T + 8), "cg", record(partners=42))]
        past = [alone(1, 2, "ep", ""), alone(2, 4, "cg", "")]
        self.rows("j-50,51", [run(50, (T, T, T + 6), "x"),
                              run(51, (T, T, T + 6), "y")])
        mix = self.report(rows, "42,43", "--native", "50,51", past=past)["mix"]
        # 0.5 (2 (1/4 + 1/2) + 2 (1/8 + 1/4)) / 4, 8/6 (1/8 + 1/6) and
        # 2 (1/12 + 1/12).
        self.assertEqual((mix["hmean"], mix["hmean_error"], mix["ntt"],
                          mix["ntt_error"], mix["normalised_turnaround"],
                          mix["normalised_turnaround_error"]),
                         (0.5, 0.281, 1.333, 0.389, 1, 0.333))
        self.assertIn("Hmean 0.5±0.3, NTT 1.3±0.4, normalised turnaround "
                      "1.0±0.3 (native: jobs 50 and 51)",
                      self.text(rows, "42,43", "--native", "50,51", past=past))

    # ---- groups

    def test_by_mix(self):
        third = run(44, (T + 5, T + 95, T + 99), "x", record())
        out = self.report([*MIX, third], "-a", "--by", "mix", past=ALONE)
        self.assertEqual(out["by"], "mix")
        first, second = out["groups"]
        self.assertEqual((first["jobs"], first["makespan_s"], first["in_turn_s"],
                          first["node_core_s"]), (["42", "43"], 90, 104, 180))
        self.assertEqual(second["jobs"], ["44"])
        text = self.text([*MIX, third], "-a", "--by", "mix", past=ALONE)
        self.assertEqual(text.splitlines()[1].split(), [
            "42,43", "ep.sh,cg.sh", "06:27:41", "90", "s", "150", "s", "160",
            "280", "180", "104", "s", "0.69"])

    def test_by_program_and_user(self):
        bob = run(44, (T, T, T + 10), "ep.sh", record(core_s="8.00"), user="bob")
        rows = [*MIX, bob]
        out = self.report(rows, "-a", "--by", "program", past=ALONE)["groups"]
        self.assertEqual([(g["user"], g["name"], g["arguments"]) for g in out],
                         [("ann", "cg.sh", ""), ("ann", "ep.sh", "30"),
                          ("bob", "ep.sh", "")])
        self.assertEqual((out[1]["alone_s"], out[1]["mean_slowdown"],
                          out[1]["beside"]), (40, 1.5, {"cg.sh": 1.5}))
        text = self.text(rows, "-a", "--by", "program", past=ALONE)
        self.assertIn("cg.sh:1.50", text)
        ann, bobs = self.report(rows, "-a", "--by", "user")["groups"]
        self.assertEqual((ann["user"], ann["jobs"], ann["core_s"],
                          ann["alloc_core_s"], ann["core_share"], ann["billed"],
                          ann["mean_wait_s"]),
                         ("ann", 2, 160, 280, 0.571, 280, 5))
        self.assertEqual(bobs["core_s"], 8)
        self.assertIn("USER  JOBS", self.text(rows, "-a", "--by", "user"))
        listed = list(csv.DictReader(io.StringIO(
            self.text(rows, "-a", "--by", "program", "--csv", past=ALONE))))
        self.assertEqual(listed[1]["beside"], "cg.sh=1.5")

    # ---- size

    def test_many_jobs(self):
        """Thousands of jobs, each beside others: no cost that grows with the
        square.  Reads 4,000 rows, not by the clock but by what is printed."""
        rows = [run(i, (T + i, T + i, T + i + 20), f"p{i % 7}",
                    record(partners=",".join(str(p) for p in (i - 1, i + 1))),
                    nodelist=f"n{i % 100}", user=f"u{i % 9}")
                for i in range(1, 4001)]
        out = self.report(rows, "-a", "--by", "mix")
        self.assertEqual(len(out["jobs"]), 4000)
        self.assertEqual(len(out["groups"]), 1)
        self.assertEqual(len(out["groups"][0]["jobs"]), 4000)
        text = self.text(rows, "-a")
        self.assertEqual(text.count(" COMPLETED "), 4000)
        # One line for what is said of all, not one for each.
        self.assertLess(len(text.splitlines()), 4010)

    def test_many_numbers(self):
        """No command line of sacct becomes too long."""
        self.run_with([], *(str(i) for i in range(1, 9001)))
        lists = [line.split("-j ")[1].split(",") for line in self.asked()]
        self.assertEqual([len(ids) for ids in lists], [4000, 4000, 1000])


if __name__ == "__main__":
    unittest.main()
