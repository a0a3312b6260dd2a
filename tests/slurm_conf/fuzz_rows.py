#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""usage: fuzz_rows.py [SECONDS]

What users write, on its way through sacct, squeue and AdminComment into the
history, job_submit.lua's file and reports: a row never changes its user, and no
text ends a program.  Without SECONDS a few examples, the same each time; with, new
ones for so long.  Needs Debian's python3-hypothesis (so not /usr/bin/env)."""

import contextlib
import csv
import importlib.machinery
import importlib.util
import io
import json
import os
import sqlite3
import sys
import tempfile
import time
import traceback
from unittest import mock

SOURCE = os.environ.get("abs_top_srcdir") or os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, folder) for folder in ("slurm_conf", "plot")]
sys.dont_write_bytecode = True

try:
    from hypothesis import HealthCheck, given, settings, strategies as st
except ImportError:
    print("SKIP: no python3-hypothesis")
    sys.exit(77)

import jobrecord                                            # noqa: E402
import slurmrows                                            # noqa: E402
from reporting import accounting, commandline, job, listing     # noqa: E402


def load_history():
    """coschedhistory, which is no module by its name."""
    path = os.path.join(SOURCE, "slurm_conf", "coschedhistory")
    loader = importlib.machinery.SourceFileLoader("coschedhistory", path)
    spec = importlib.util.spec_from_loader("coschedhistory", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


history = load_history()
USERS = {3000000001: "fuzz-ann", 3000000002: "fuzz-bob"}      # nobody's here
BEGIN = 1795242461
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0
SETTINGS = settings(max_examples=100 if SECONDS else 40, database=None, deadline=None,
                    derandomize=not SECONDS, suppress_health_check=list(HealthCheck))
CHECKS = []
executions = 0

# ---- what users write ----------------------------------------------------------

KEYS = [*jobrecord.KEYS, "state", "sections", "weight"]
WORDS = st.one_of(
    st.sampled_from(["cosched/1", "cosched/2", "cosched-job/1", "state=final",
                     "state=running", "attached=1", "class=memory", "follow=static:x",
                     "partners=1,2", "granted=8", "done_s=1e400", "steps=1e15",
                     "hot=+x@y.c:1*0.5,-z*1,@a*0.1"]),
    st.builds("{}={}".format, st.sampled_from(KEYS), st.one_of(
        st.integers(-9, 1 << 70), st.floats(), st.text(max_size=9))))
FORGED = st.builds(
    lambda separator, uid, ended: "\n" + separator.join(
        ("c", "7", str(uid), USERS[uid], "COMPLETED", "1", "2", "forged",
         "cosched/1 state=final attached=1 program=forged")) + ended,
    st.sampled_from(["\x1f", "|", "\x1f\n", "\t", "\x1f0f\x1f"]),
    st.sampled_from(sorted(USERS)), st.sampled_from(["", "\n", "\x1f\n", "|\n"]))
# Bytes of a C string, as Python shows those that are not UTF-8.
LETTERS = st.characters(blacklist_characters="\0", blacklist_categories=("Cs",))
BYTES = st.binary(max_size=12).map(
    lambda b: b.replace(b"\0", b"").decode(errors="surrogateescape"))
TEXTS = st.lists(st.one_of(
    FORGED, BYTES, st.text(LETTERS, max_size=12), WORDS.map(
        lambda w: w.replace("\0", "")),
    st.sampled_from(["\n", "\r", "\t", "\x1f", "|", " ", "=", "+", "-", "@", "%",
                     "\u2028", "<script>", "]]>", "&amp;", "'", '"', ","])),
    max_size=6).map("".join)


@st.composite
def comments(draw, uid):
    """A record; its program names the user, so that it shows whose it became."""
    words = draw(st.lists(WORDS, max_size=6))
    words = [w for w in words if not w.startswith("program=")]
    text = " ".join(["cosched/1", "state=final", "attached=1", "granted=8", *words,
                     f"program=of-{uid}"])
    return (draw(st.one_of(st.just(""), TEXTS)) + " " + text).replace("\0", "")


@st.composite
def jobs(draw):
    """Rows as Slurm knows them: each is of one of the two users."""
    found = []
    for number in range(draw(st.integers(0, 5))):
        uid = draw(st.sampled_from(sorted(USERS)))
        start = BEGIN + draw(st.integers(0, 9000))
        found.append({
            "jobid": str(number + 10), "jobidraw": str(number + 10), "cluster": "c",
            "uid": str(uid), "user": USERS[uid], "account": "lab",
            "state": draw(st.sampled_from(["COMPLETED", "FAILED", "REQUEUED",
                                           "RUNNING", "CANCELLED by 0", ""])),
            "submit": str(BEGIN), "start": str(start),
            "end": draw(st.sampled_from([str(start + 9), "Unknown", str(start)])),
            "suspended": "00:00:00", "partition": draw(st.sampled_from(["p", ""])),
            "nodelist": draw(st.sampled_from(["n1", "None assigned"])),
            "alloccpus": "2", "alloctres": "billing=2,cpu=2",
            "totalcpu": "00:00:01", "nodes": "n1",
            "jobname": draw(TEXTS), "submitline": draw(TEXTS),
            "admincomment": draw(st.one_of(comments(uid), TEXTS)),
            "systemcomment": draw(TEXTS)})
    for found_job in found:
        found_job["name"] = found_job["jobname"]
    return found


def printed(rows, fields, separator):
    """As Slurm prints ROWS."""
    return "".join("".join(row[field] + separator for field in fields) + "\n"
                   for row in rows)


@contextlib.contextmanager
def slurm(rows):
    """Slurm's commands print ROWS, as they are asked to."""
    def run(*command, errors="replace", env=None):
        if command[0] == "squeue":
            separator = command[-1].split("%")[1][1:]
            text = printed(rows, slurmrows.SQUEUE, separator)
        else:
            separator = command[3].partition("=")[2]
            text = printed(rows, command[5].split(","), separator)
        return text.encode(errors="surrogateescape").decode(errors=errors)
    with mock.patch.object(slurmrows, "run", run):
        yield


def replaced(text):
    return text.encode(errors="surrogateescape").decode(errors="replace")


# ---- what must hold --------------------------------------------------------------

def fuzzed(*strategies):
    """Call the function with values of STRATEGIES."""
    def decorate(check):
        @settings(SETTINGS)
        @given(st.tuples(*strategies))
        def run(values):
            global executions
            executions += 1
            check(*values)
        CHECKS.append(run)
        return check
    return decorate


@fuzzed(jobs(), st.integers(0, 1 << 30), TEXTS)
def check_split(rows, cut, garbage):
    """What Slurm printed is read as it was, also if it was cut."""
    fields, separator = accounting.FIELDS, slurmrows._separator()
    text = printed(rows, fields, separator)
    expected = [{field: row[field] for field in fields} for row in rows]
    assert slurmrows.split(text, separator, fields) == expected
    part = slurmrows.split(text[:cut % (len(text) + 1)] + garbage, separator, fields)
    for got, want in zip(part, expected):
        # Of a row that was cut behind its last field all fields are there.
        assert got == want, (got, want)


@fuzzed(jobs())
def check_history(rows):
    """Runs, lines for job_submit.lua and classes stay with their users."""
    with slurm(rows):
        runs = history.ask_sacct(0)
        running = history.running_jobs("p")
    assert sorted((uid, name) for on in running.values() for uid, name in on) == \
        sorted((int(row["uid"]), history.safe(row["jobname"])) for row in rows)
    whose = {int(row["jobidraw"]): row for row in rows}
    assert len({run["job"] for run in runs}) == len(runs) <= len(rows)
    for run in runs:
        row = whose[run["job"]]
        assert str(run["uid"]) == row["uid"] and run["user"] == row["user"]
        assert run["name"] == history.safe(row["jobname"])
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.row_factory = sqlite3.Row
        history.prepare(db, "memory")
        history.add_runs(db, runs)
        history.prune(db, BEGIN)
        check_programs(history.programs_text(db))


def check_programs(text):
    """The file of equal lines, each of one user."""
    head, *lines = text.encode("ascii").split(b"\n")[:-1]
    assert head.split()[-1] == b"count=%d" % len(lines)
    assert {len(line) for line in (head, *lines)} == {len(head)} and \
        64 <= len(head) + 1 <= 4096
    assert lines == sorted(lines)
    for line in lines:
        uid = line.split()[0]
        for program in line.split(b"of-")[1:]:
            # A program's name may be another user's word; a record's may not.
            assert program.startswith(uid) or b"=of-" + program not in line, line


@fuzzed(jobs(), st.sampled_from(commandline.BY))
def check_reports(rows, by):
    """Each job is its user's; no text breaks a table, or means something to a
    terminal, a spreadsheet or a browser."""
    with slurm(rows):
        found = job.jobs_of(accounting.ask(accounting.Selection()))
    assert [(j.job, j.user, j.name) for j in found] == [
        (row["jobid"], row["user"], replaced(row["jobname"])) for row in rows
        if not (row["partition"] == "" and row["jobname"] == "allocation")]
    for form in ("--json", "--csv", None):
        arguments = [w for w in ("-a", "--all", "--by", by, form) if w]
        with slurm(rows), contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()):
            assert commandline.main(arguments) == 0
        text = out.getvalue()
        if form == "--json":
            json.loads(text)
        elif form == "--csv":
            check_csv(text)
        else:
            assert text.replace("\n", "").isprintable(), text


def check_csv(text):
    table = list(csv.reader(io.StringIO(text, newline="")))
    assert len({len(line) for line in table}) <= 1, "lines of several lengths"
    for cell in (cell for line in table for cell in line):
        assert cell.isprintable(), repr(cell)
        for part in cell.split(";"):    # numbers of ours have no sign
            assert not part.lstrip(" \"").startswith(tuple(listing.FORMULA)), cell


@fuzzed(jobs())
def check_page(rows):
    with slurm(rows), tempfile.TemporaryDirectory(prefix="cosched-fuzz.") as folder, \
            contextlib.redirect_stdout(io.StringIO()), \
            contextlib.redirect_stderr(io.StringIO()):
        assert commandline.main(["-a", "--all", "--html", f"{folder}/p.html",
                                 "--plot", f"{folder}/p.svg"]) == 0
        with open(f"{folder}/p.html", encoding="utf-8") as file:
            text = file.read()
    assert "<script>" not in "".join(text.split("<script>\n")), "a name became code"


@fuzzed(TEXTS)
def check_record(text):
    """No comment ends the reader, and what it takes is in bounds."""
    record = jobrecord.parse(text)
    if record is not None:
        assert set(record.fields) == set(jobrecord.KEYS)
        jobrecord.sentence(record.fields["follow"])
    run = history.parse_record(text)
    for key, bounds in history.NUMBERS.items() if run else ():
        assert run[key] is None or bounds[0] <= run[key] <= bounds[1]


def main():
    end, failed = time.monotonic() + SECONDS, False
    while True:
        for check in CHECKS:
            try:
                check()
            except Exception:       # pylint: disable=W0718
                traceback.print_exc()
                failed = True
        if failed or time.monotonic() >= end:
            break
    print(f"fuzz_rows: {executions} executions")
    sys.exit(failed)


if __name__ == "__main__":
    main()
