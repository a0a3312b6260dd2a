#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport with recorded output of sacct (Slurm 22.05)."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("abs_top_srcdir") or os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))))
REPORT = os.path.join(SOURCE, "slurm_conf", "coschedreport")
COMPLETION = os.path.join(SOURCE, "slurm_conf", "completions", "coschedreport")

FINAL = ("cosched/1 state=final policy=nupoco mean_cores=1.51 final_cores=1 "
         "sections=1 parallel_s=6.63 core_s=10.00 partners=43,44 decisions=5 "
         "attached=1")
ZEROS = ("policy=nupoco mean_cores=0.00 final_cores=0 sections=0 "
         "parallel_s=0.00 core_s=0.00 partners=42 decisions=1 attached=0")

# job|raw|user|state|submit|start|end|partition|nodes|name|comment, as
# recorded but for the separator, which is a control character.
EP = f"42|42|ann|COMPLETED|1795242461|1795242463|1795242468|cosched|n1|ep|{FINAL}"
CG = ("43|43|ann|FAILED|1795242462|1795242462|1795242470|cosched|n1|cg|cosched/1 "
      "state=final policy=nupoco mean_cores=1.00 final_cores=2 sections=4 "
      "parallel_s=1.69 core_s=8.71 partners=- decisions=1 attached=1")
CANCELLED = ("44|44|ann|CANCELLED by 0|1795242461|1795242461|1795242464|cosched"
             "|n1|sl|cosched/1 state=final policy=nupoco mean_cores=0.48 "
             "final_cores=1 sections=0 parallel_s=0.00 core_s=1.58 "
             "partners=43,42 decisions=3 attached=0")
PENDING = "45|45|ann|PENDING|1795242464|Unknown|Unknown|normal|None assigned|plain|"
NEVER = ("45|45|ann|CANCELLED by 0|1795242464|None|1795242480|normal|None assigned|"
         "plain|")
# The same within the second of its submission.
NEVER_SOON = NEVER.replace("None|1795242480", "1795242464|1795242464")
RUNNING = ("42|42|ann|RUNNING|1795242461|1795242461|Unknown|cosched|n1|ep|"
           "cosched/1 state=running policy=nupoco mean_cores=1.20 "
           "final_cores=1 sections=1 parallel_s=1.00 core_s=1.20 partners=- "
           "decisions=2 attached=1")
# Shorter than the agent's first look, and just ended.
SHORT = ("46|46|ann|COMPLETED|1795242464|1795242464|1795242464||n1|allocation|"
         f"cosched/1 state=running {ZEROS}")
SHORT_FINAL = ("46|46|ann|COMPLETED|1795242464|1795242464|1795242464|cosched|"
               f"n1|short|cosched/1 state=final {ZEROS}")
PLAIN = "47|47|ann|COMPLETED|1795242464|1795242464|1795242474|normal|n1|plain|"
ARRAY = [f"37_{i}|{raw}|ann|COMPLETED|1795242399|1795242400|1795242405|cosched|"
         f"n1|wrap|{FINAL}" for i, raw in ((1, 38), (2, 39), (3, 37))]

SACCT = """#!/bin/sh
echo "$SLURM_TIME_FORMAT $*" >"$(dirname "$0")/asked"
cat "$(dirname "$0")/rows"
test ! -e "$(dirname "$0")/fail" ||
    { echo "sacct: error: no connection" >&2; exit 1; }
"""


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cosched-report.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        sacct = self.path("sacct")
        with open(sacct, "w", encoding="ascii") as file:
            file.write(SACCT)
        os.chmod(sacct, 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_with(self, rows, *arguments):
        """The completed process of coschedreport when sacct prints ROWS."""
        with open(self.path("rows"), "w", encoding="utf-8") as file:
            file.writelines(row.replace("|", "\x1f", 10) + "\n" for row in rows)
        env = {**os.environ, "TZ": "UTC",
               "PATH": self.folder + ":" + os.environ["PATH"]}
        return subprocess.run([REPORT, *arguments], env=env, text=True,
                              check=False, capture_output=True,
                              stdin=subprocess.DEVNULL)

    def text(self, rows, *arguments):
        done = self.run_with(rows, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def jobs(self, rows, *arguments):
        return json.loads(self.text(rows, "--json", *arguments))["jobs"]

    def asked(self):
        with open(self.path("asked"), encoding="ascii") as file:
            return file.read()

    # ---- bad input first

    def test_bad_arguments(self):
        for bad in ("x", "0", "-3", "12x", "12.batch", "12_", "1,,2", ""):
            done = self.run_with([EP], "--", bad)
            self.assertEqual(done.returncode, 2, bad)
            self.assertIn("not a job id", done.stderr)
        self.assertEqual(self.run_with([EP], "--bogus").returncode, 2)
        done = self.run_with([EP], "--json", "--csv")
        self.assertEqual(done.returncode, 2)
        self.assertFalse(os.path.exists(self.path("asked")))

    def test_unknown_job(self):
        done = self.run_with([EP], "42", "99")
        self.assertEqual(done.returncode, 1)
        self.assertIn("job 99: not in Slurm's accounting", done.stderr)
        self.assertNotIn("42", done.stderr)
        self.assertIn("1.51", done.stdout)

    def test_sacct_fails(self):
        with open(self.path("fail"), "w", encoding="ascii"):
            pass
        done = self.run_with([], "42")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr,
                         "coschedreport: sacct: error: no connection\n")

    def test_no_sacct(self):
        env = {**os.environ, "PATH": self.folder}
        os.unlink(self.path("sacct"))
        done = subprocess.run([sys.executable, REPORT,
                               "42"], env=env, text=True, check=False,
                              capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr,
                         "coschedreport: sacct: not found in PATH; it is a "
                         "part of Slurm (Debian: slurm-client)\n")

    def test_records_out_of_order(self):
        for comment, word in (
                ("cosched/1 state=final mean_cores=many", "mean_cores=many"),
                ("cosched/1 state=final partners=1,x", "partners=1,x"),
                ("cosched/2 state=final cores=3", "version 2"),
                ("a note of the site", "no record"),
                ("", "no record")):
            job, = self.jobs([EP.replace(FINAL, comment)], "42")
            self.assertIsNone(job["mean_cores"], comment)
            self.assertIn(word, job["notes"][0])
            self.assertEqual(job["turnaround_s"], 7)

    def test_hostile_names(self):
        out = self.text([EP.replace("|ep|", "|\x1b[31mred|")], "42")
        self.assertNotIn("\x1b", out)
        self.assertIn("?[31mred", out)
        job, = self.jobs([EP.replace("|ep|", "|a b,c|")], "42")
        self.assertEqual(job["name"], "a b,c")

    def test_comment_of_several_lines(self):
        rows = [EP.replace(FINAL, "a note\nin two lines | " + FINAL), CG]
        self.assertEqual([j["mean_cores"] for j in self.jobs(rows, "42", "43")],
                         [1.51, 1.0])

    # ---- what is not known is not zero

    def test_short_job(self):
        job, = self.jobs([SHORT], "46")
        for key in ("mean_cores", "final_cores", "sections", "core_s", "name"):
            self.assertIsNone(job[key], key)
        self.assertEqual(job["turnaround_s"], 0)
        self.assertIn("ask again", job["notes"][0])
        row = self.text([SHORT], "46").splitlines()[1].split()
        self.assertEqual(row[:3], ["46", "-", "COMPLETED"])
        self.assertEqual(row[6:], ["<1", "s", "<1", "s", "-", "-", "-", "-", "42"])

        job, = self.jobs([SHORT_FINAL], "46")
        self.assertIsNone(job["final_cores"])
        self.assertIn("before the agent had given it cores", job["notes"][0])

    def test_not_ended(self):
        job, = self.jobs([RUNNING], "42")
        self.assertIsNone(job["end"])
        self.assertIsNone(job["turnaround_s"])
        self.assertEqual((job["record"], job["mean_cores"]), ("interim", 1.2))
        self.assertIn("still running", job["notes"][0])
        out = self.text([RUNNING, CG], "42", "43")
        self.assertIn("makespan: not known before the end of job 42", out)

    def test_not_started(self):
        for row, note in ((PENDING, "has not started"),
                          (NEVER, "ended before it started"),
                          (NEVER_SOON, "ended before it started")):
            job, = self.jobs([row], "45")
            self.assertIsNone(job["start"])
            self.assertIsNone(job["wait_s"])
            self.assertEqual(job["notes"], [note])

    # ---- good input

    def test_one_job(self):
        job, = self.jobs([EP], "42")
        self.assertEqual(job, {
            "job": "42", "name": "ep", "user": "ann", "state": "COMPLETED",
            "submit": 1795242461, "start": 1795242463, "end": 1795242468,
            "wait_s": 2, "run_s": 5, "turnaround_s": 7, "record": "final",
            "policy": "nupoco", "mean_cores": 1.51, "final_cores": 1,
            "sections": 1, "parallel_s": 6.63, "parallel_share": 1.0,
            "core_s": 10.0,
            "partners": [43, 44], "decisions": 5, "attached": True,
            "notes": []})
        self.assertNotIn("makespan", self.text([EP], "42"))
        asked = self.asked()
        self.assertTrue(asked.startswith("%s "), asked)
        self.assertIn("-j 42", asked)
        self.assertNotIn("-u", asked.split())

    def test_mix(self):
        out = json.loads(self.text([EP, CG], "--json", "42,43"))
        self.assertEqual(out["mix"], {"jobs": 2, "makespan_s": 9,
                                      "total_turnaround_s": 15,
                                      "not_ended": []})
        self.assertIn("-j 42,43", self.asked())
        text = self.text([EP, CG], "42", "43")
        self.assertIn("makespan of the 2 jobs: 9 s, total turnaround 15 s",
                      text)
        self.assertEqual(text.splitlines()[2].split()[-3:],
                         ["4", "19%", "nobody"])

    def test_cancelled_and_held(self):
        job, = self.jobs([CANCELLED], "44")
        self.assertEqual(job["state"], "CANCELLED")
        self.assertEqual(job["attached"], False)
        self.assertIn("held to its share by affinity", job["notes"][0])

    def test_array(self):
        self.assertEqual(len(self.jobs(ARRAY, "37")), 3)
        self.assertEqual(len(self.jobs(ARRAY[1:2], "37_2")), 1)
        self.assertEqual(len(self.jobs(ARRAY[1:2], "39")), 1)

    def test_without_jobids(self):
        text = self.text([EP, PLAIN, CG])
        self.assertNotIn("plain", text)
        self.assertNotIn("makespan", text)
        self.assertNotIn("-j", self.asked())
        self.assertIn(f"-u {os.getuid()} -S midnight", self.asked())
        self.assertIn("no co-scheduled job", self.text([PLAIN]))
        self.assertEqual(self.jobs([PLAIN]), [])

    def test_several_days(self):
        self.assertIn("11-21 ", self.text(
            [EP, CG.replace("1795242470", "1795342470")], "42", "43"))

    def test_energy(self):
        """Columns that are there only where something was measured."""
        with_energy = EP + " energy_j=250.5"
        job, other = self.jobs([with_energy, CG], "42", "43")
        self.assertEqual((job["energy_j"], job["energy_delay_js"]),
                         (250.5, 1252.5))
        self.assertIsNone(other["energy_j"])
        out = self.text([with_energy, CG], "42", "43")
        self.assertEqual(out.splitlines()[0].split()[-2:], ["ENERGY*", "EDP*"])
        self.assertEqual(out.splitlines()[1].split()[-4:],
                         ["250", "J", "1.25e+03", "Js"])
        self.assertEqual(out.splitlines()[2].split()[-2:], ["-", "-"])
        self.assertIn("* estimated", out)
        job, = self.jobs([CG], "43")
        self.assertNotIn("energy_j", job)
        self.assertNotIn("ENERGY", self.text([CG], "43"))
        header = self.text([with_energy], "--csv", "42").splitlines()[0]
        self.assertTrue(header.endswith(",energy_j,energy_delay_js"), header)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(
            self.text([EP, SHORT_FINAL, PENDING], "--csv", "42", "46", "45"))))
        self.assertEqual([r["mean_cores"] for r in rows], ["1.51", "", ""])
        self.assertEqual(rows[0]["partners"], "43 44")
        self.assertEqual([r["attached"] for r in rows], ["1", "0", ""])
        self.assertEqual(rows[2]["turnaround_s"], "")

    def test_parallel_share(self):
        for old, new, share in (("parallel_s=6.63", "parallel_s=0.00", 0.0),
                                ("parallel_s=6.63", "parallel_s=3.31", 0.5),
                                ("parallel_s=6.63", "parallel_s=9.00", 1.0),
                                ("parallel_s=6.63 ", "", None)):
            job, = self.jobs([EP.replace(old, new)], "42")
            self.assertEqual(job["parallel_share"], share, new)

    def test_version(self):
        with open(os.path.join(SOURCE, "configure.ac"),
                  encoding="utf-8") as file:
            version = re.search(r"AC_INIT\(\[coschedule\], \[([^]]+)\]",
                                file.read())[1]
        self.assertEqual(self.run_with([], "--version").stdout,
                         f"coschedreport {version}\n")

    def test_completion(self):
        def complete(word):
            script = ('. "$1"; COMP_WORDS=(coschedreport "$2"); COMP_CWORD=1; '
                      '_coschedreport; printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(
                ["bash", "-c", script, "bash", COMPLETION, word], text=True,
                env={"PATH": self.folder + ":" + os.environ["PATH"]},
                check=True, capture_output=True).stdout.split()
        with open(self.path("rows"), "w", encoding="ascii") as file:
            file.write("42\n37_1\n43\n")
        self.assertEqual(complete("4"), ["42", "43"])
        self.assertEqual(complete("37"), ["37_1"])
        self.assertEqual(complete("--j"), ["--json"])


if __name__ == "__main__":
    unittest.main()
