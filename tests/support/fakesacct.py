# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport with a sacct that prints what a test recorded."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
import unittest
from typing import NamedTuple
from unittest import mock

SOURCE = os.environ.get("abs_top_srcdir") or os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))))
REPORT = os.path.join(SOURCE, "slurm_conf", "coschedreport")

sys.path[:0] = [os.path.join(SOURCE, folder) for folder in ("slurm_conf", "plot")]

from reporting import commandline   # noqa: E402

# As slurm_conf/reporting/accounting.py asks for them, and slurmrows.py after that.
FIELDS = ("jobid", "jobidraw", "cluster", "uid", "user", "account", "state",
          "submit", "start", "end", "suspended", "partition", "nodelist",
          "alloccpus", "alloctres", "totalcpu", "jobname", "submitline",
          "admincomment", "systemcomment")

END = "\0"      # of a field: the fake sacct puts what it was told in its place

# Prints the file named after what is asked for: "past" (only completed jobs),
# "j-IDS" where that exists, else "rows".
SACCT = r"""#!/bin/sh
dir=$(dirname "$0")
echo "$SLURM_TIME_FORMAT $*" >>"$dir/asked"
! [ -e "$dir/fail" ] || { cat "$dir/fail" >&2; exit 1; }
file=rows fields= delimiter='|'
while [ $# -gt 0 ]; do
    case $1 in
        --delimiter=*) delimiter=${1#*=} ;;
        -s) file=past ;;
        -o) fields=$2 ;;
        -j) [ -e "$dir/j-$2" ] && file=j-$2 ;;
    esac
    shift
done
case $fields in jobid,*) echo "$fields" >"$dir/fields" ;; esac
! [ -e "$dir/$file" ] || LC_ALL=C sed "s/\\x00/$delimiter/g" "$dir/$file"
"""
SACCTMGR = """#!/bin/sh
echo cosched
echo other
"""


def row(**values):
    """A row of sacct from VALUES; the rest is as of an ordinary job."""
    given = {
        "jobidraw": values["jobid"].split("_")[0], "cluster": "cosched",
        "uid": os.getuid(), "user": "ann", "account": "lab", "state": "COMPLETED",
        "suspended": "00:00:00", "partition": "cosched", "nodelist": "n1",
        "alloccpus": "2", "alloctres": "billing=2,cpu=2,mem=2G,node=1",
        "totalcpu": "00:00:00", "jobname": "ep", "submitline": "",
        "admincomment": "", "systemcomment": "", **values}
    return END.join(str(given[name]) for name in FIELDS) + END


def run(jobid, times, name="ep", comment="", **more):
    """A row of job JOBID, with TIMES (submit, start, end)."""
    submit, start, end = times
    return row(jobid=str(jobid), submit=submit, start=start, end=end,
               jobname=name, admincomment=comment, **more)


def record(state="final", **values):
    """The agent's line."""
    given = {"policy": "nupoco", "mean_cores": "1.00", "final_cores": 1,
             "regions": 1, "parallel_s": "1.00", "core_s": "5.00",
             "partners": "-", "decisions": 1, "attached": 1, **values}
    return f"cosched/1 state={state} " + \
        " ".join(f"{k}={v}" for k, v in given.items())


class Done(NamedTuple):
    """What came of a run."""
    returncode: int
    stdout: str
    stderr: str


class ReportTest(unittest.TestCase):
    """A directory with a sacct, and coschedreport run with it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cosched-report.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in (("sacct", SACCT), ("sacctmgr", SACCTMGR)):
            self.write(name, text)
            os.chmod(self.path(name), 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def rows(self, name, rows):
        """What sacct shall print when it is asked for NAME."""
        self.write(name, "".join(r + "\n" for r in rows))

    def run_with(self, rows, *arguments, past=(), env=None):
        """What coschedreport does when sacct prints ROWS, and PAST of
        completed jobs."""
        self.rows("rows", rows)
        self.rows("past", past)
        env = {"TZ": "UTC", "PATH": self.folder + ":" + os.environ["PATH"],
               **(env or {})}
        out, errors = io.StringIO(), io.StringIO()
        try:
            with mock.patch.dict(os.environ, env), \
                    contextlib.redirect_stdout(out), \
                    contextlib.redirect_stderr(errors):
                time.tzset()
                status = commandline.main(list(arguments))
        except SystemExit as end:       # of argparse
            status = end.code
        finally:
            time.tzset()
        return Done(status, out.getvalue(), errors.getvalue())

    def run_process(self, rows, *arguments, env=None):
        """The same as a process of its own."""
        self.rows("rows", rows)
        env = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8",
               "PATH": self.folder + ":" + os.environ["PATH"], **(env or {})}
        return subprocess.run([REPORT, *arguments], env=env, text=True,
                              encoding="utf-8", check=False,
                              capture_output=True, stdin=subprocess.DEVNULL)

    def text(self, rows, *arguments, **more):
        """What it prints; it must succeed and not complain."""
        done = self.run_with(rows, *arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def asked(self):
        """sacct's command lines so far."""
        return self.read("asked").splitlines()
