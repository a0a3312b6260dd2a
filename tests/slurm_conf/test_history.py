#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedhistory: what it makes of records, of garbage, of two of itself at a
time; and the files for job_submit.lua."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_slurm import FakeSlurm, GOOD, SOURCE, line, row, user_of
sys.path.insert(0, os.path.join(SOURCE, "slurm_conf"))
import placement                # noqa: E402

BUILD = os.environ["abs_top_builddir"]

RECORD = GOOD.format(program="cg", kind="memory")


def shown(fake, *options):
    """{(uid, name, program): what is known}."""
    reply = json.loads(fake.call("show", "--json", *options))
    return {(p["uid"], p["name"], p["program"]): p for p in reply["programs"]}


def check_summary(fake):
    rows = [row(i, "a job", RECORD.replace("done_s=20", f"done_s={20 + i}"))
            for i in range(5)]
    # Cancelled ones tell what it is like, not how long it is.
    rows.append(row(9, "a job", RECORD.replace("done_s=20", "done_s=1"),
                    state="CANCELLED by 1000"))
    fake.says("sacct.says", "".join(rows))
    fake.call("update")
    known = shown(fake)
    assert set(known) == {(1000, "a_job", "cg"), (1000, None, "cg")}, known
    one = known[1000, "a_job", "cg"]
    assert one["runs"] == 5 and one["class"] == "memory", one
    assert one["done_s"] == 22 and one["done_spread"] == 0.0909, one
    assert one["steps"] == 400 and one["steps_spread"] == 0, one
    assert one["alone_s"] == 19 and one["best_cores"] == 4, one
    # Read again: nothing is counted twice.
    fake.call("update")
    assert shown(fake) == known
    assert "-a -X -D" in fake.asked("sacct")
    text = fake.call("show")
    assert "a_job" in text and "memory" in text, text


def check_disagreement(fake):
    rows = [row(20 + i, "mixture", program=f"p{i % 2}") for i in range(4)]
    rows += [row(30 + i, "moody", kind=("memory", "compute")[i % 2])
             for i in range(6)]
    rows += [row(40 + i, "machines", RECORD.replace(
        "granted=8", "granted=64").replace("done_s=20", "done_s=3") if i == 5
        else RECORD) for i in range(6)]
    fake.says("sacct.says", "".join(rows))
    fake.call("update")
    known = shown(fake)
    # A job's name for two programs: no numbers, but a class.
    mixture = known[1000, "mixture", None]
    assert mixture["class"] == "memory" and "done_s" not in mixture, mixture
    assert known[1000, "moody", "cg"]["class"] is None
    machines = known[1000, "machines", "cg"]
    assert machines["done_s"] == 3 and machines["runs"] == 1, machines


def check_ults(fake):
    """A run with one thread on each core does not tell that more would do harm."""
    quiet = RECORD.replace("ults=4 ", "")
    spins = RECORD.replace("ults=4", "threads=48 ults=1")
    runs = {"spins": [spins] + [quiet + " threads=8"] * 4,
            "blind": [quiet + " threads=8"] * 4,
            "mended": [spins, quiet + " threads=48"],
            "odd": [text.replace("granted=8", "granted=")
                    for text in (spins, quiet + " threads=8")]}
    fake.says("sacct.says", "".join(
        row(100 * i + j, name, text) for i, (name, texts) in enumerate(runs.items(), 8)
        for j, text in enumerate(texts)))
    fake.call("update")
    known = shown(fake)
    assert {name: known[1000, name, "cg"].get("ults") for name in runs} == \
        {"spins": 1, "blind": None, "mended": None, "odd": None}, known


def check_earlier(fake):
    """The file of an earlier version, which did not know threads."""
    before = shown(fake)
    with contextlib.closing(sqlite3.connect(f"{fake.folder}/history.db")) as db:
        db.execute("ALTER TABLE runs DROP COLUMN threads")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    fake.says("sacct.says", "")
    fake.call("update")
    assert set(shown(fake)) == set(before)


def check_garbage(fake):
    before = shown(fake)
    rows = [row(60, "g", text) for text in (
        "", "a note", "cosched/2 state=final attached=1", "cosched/1",
        RECORD.replace("final", "running"), RECORD.replace("attached=1",
                                                           "attached=0"))]
    rows += [row(61, "g", uid="-1"), row(62, "g", end="Unknown"),
             row(63, "g", start="x"), "x\n", "\0" * 30 + "\n", "\udcff\n",
             "\0" * 7 + "\n"]
    fake.says("sacct.says", "".join(rows))
    fake.call("update")
    assert shown(fake) == before, "garbage was taken for records"
    bad = RECORD
    for was, to in (("rho=0.5", "rho=nan"), ("steps=400", "steps=-1"),
                    ("done_s=20", "done_s=1e99"), ("ults=4", "ults=x"),
                    ("class=memory", "class=bogus"), ("granted=8", "granted="),
                    ("alone_s=19", "alone_s=inf"),
                    ("program=cg", "program=c\"g|x")):
        assert was in bad
        bad = bad.replace(was, to)
    fake.says("sacct.says", row(64, "x\ty'\"; DROP TABLE runs; --\u00e4", bad)
              + row(65, "n\n2", RECORD))
    fake.call("update")
    known = shown(fake)
    name = "x_y____DROP_TABLE_runs__--__"
    one = known[1000, name, ""]
    assert one["class"] is None and one.get("rho") is None, one
    assert one.get("done_s") is None and one.get("steps") is None, one
    fake.file("programs").encode("ascii")


def check_forged(fake):
    """A user's texts give no rows to anybody else, whatever separator they have;
    nor does a number that is another user's."""
    before, now = shown(fake), int(time.time())
    head, tail = ("c", 90, 1000, user_of(1000)), ("COMPLETED", now - 9, now)
    rows = []
    for separator in ("\x1f", "|", "\t", "\x1f00\x1f"):
        for fields in ((*head, "victim", *tail, RECORD),
                       (*head, *tail, "victim", RECORD)):
            forged = separator.join(map(str, fields))
            for text in (f"\n{forged}\n", f"x{separator}\n{forged}{separator}\n",
                         f"\n{forged}{separator}\n" * 2):
                rows += [row(91, text, uid=2001), row(92, "x", text, uid=2001)]
    fake.says("sacct.says", "".join(rows))
    fake.call("update")
    known = shown(fake)
    assert {k: v for k, v in known.items() if k[0] == 1000} == before, known
    assert any(key[0] == 2001 for key in known), known
    fake.call("forget", "--user", "2001")
    fake.says("sacct.says", row(93, "x", uid=0, user="ann") +
              row(94, "x", uid=2002, user="root"))
    fake.call("update")
    assert shown(fake) == before, "users of another number"


def check_programs(fake):
    """Lines of equal length in the order of their bytes."""
    text = fake.file("programs")
    head = text.split("\n")[0].split()
    assert head[0] == "cosched-programs/1", head
    width, count = (int(w.split("=")[1]) for w in head[1:])
    lines = [text[i:i + width] for i in range(0, len(text), width)]
    assert len(lines) == count + 1
    assert all(line.endswith("\n") and "\n" not in line[:-1] for line in lines)
    keys = [line.split("\t")[0] for line in lines[1:]]
    assert keys == sorted(set(keys)), keys
    assert os.stat(f"{fake.folder}/programs").st_mode & 0o777 == 0o600
    assert os.stat(fake.db).st_mode & 0o777 == 0o600


def check_partners(fake):
    fake.says("sacct.says", "".join(
        row(70 + i, kind, kind=kind, program=kind) for i, kind in
        enumerate(("memory", "compute", "serial", "mixed"))))
    ours = ",".join(placement.FEATURES)
    fake.says("sinfo.says", "".join(
        line(node, active, available, *rest) for node, active, available, *rest in (
            ("n1", "cosched_1,big", f"big,{ours}", "FORCE:3", "idle"),
            ("n2", ours, ours, "FORCE:3", "mixed"),
            ("n3", "big", f"{ours},big", "FORCE:3", "allocated+"),
            ("n4", "cosched_3", ours, "FORCE:3", "completing"),
            ("n5", "cosched_0", ours, "FORCE:3", "mixed"),
            ("full", ours, ours, "FORCE:2", "mixed"), ("odd", ours, ours, "NO", "idle"),
            ("plain", "big", "big", "FORCE:3", "idle"), ("x", ours, ours, "FORCE:3", "down"),
            ("drained", ours, ours, "FORCE:3", "drained"))) + "garbage\n\n\0\0\0\n")
    fake.says("squeue.says", "".join(line(1000, *job) for job in (
        ("n2", "memory"), ("n3", "compute"), ("n3", "serial"), ("n4", "memory"),
        ("n4", "compute"), ("n5", "unheard of"), ("full", "memory"),
        ("full", "memory"), ("", "x\n1000|n5|memory"),
        ("", "\n1000\0n5\0memory\0\n".replace("\0", "\x1f")))) + "garbage\n\0\0\0\n\n")
    fake.call("update", "--partition", "shared")
    assert "-p shared" in fake.asked("squeue")
    assert "-p shared" in fake.asked("sinfo")
    lines = fake.file("partners").splitlines()
    assert lines[0].startswith("cosched-partners/2 time="), lines
    assert abs(int(lines[0].split("=")[1]) - time.time()) < 600
    # n2 is full of memory, n3 computes, n4 has both; the others are full or not known.
    every = "cosched_1,cosched_3,cosched_5"
    assert dict(line.partition(" ")[::2] for line in lines[1:]) == {
        "edges": "", "idle": "cosched_free", "level0": every, "level1": "cosched_5",
        "level2": "cosched_5", "level3": "cosched_1", "level4": "cosched_1",
        "level5": "cosched_1", "level6": "cosched_1"}, lines
    # Each class in one request; the site's own features stay; n4 has its one.
    assert sorted(fake.asked("scontrol").splitlines()) == [
        "update nodename=n1 activefeatures=big,cosched_free",
        "update nodename=n2,full activefeatures=cosched_5",
        "update nodename=n3 activefeatures=big,cosched_1",
        "update nodename=n5 activefeatures="], fake.asked("scontrol")


def check_pairs(fake):
    """The model's table: read back as it was written, and used; others are not."""
    fake.env["PATH"] = f"{BUILD}/coschedmodel:{fake.env['PATH']}"
    fake.env["COSCHED_MACHINES"] = f"{SOURCE}/machines"
    assert "--machine" in fake.run("pairs").stderr
    assert "no_such" in fake.run("pairs", "--machine", "no_such").stderr
    fake.call("pairs", "--machine", "uma-1x8")
    table = placement.parse(fake.file("pairs"))
    gains = table.gains
    for level in range(1, placement.PARALLEL + 1):
        assert gains[level][level] == 1, gains      # as good as turns
        assert gains[0][level] > 1.8, gains         # a serial job takes one core
        assert gains[1][level] == max(gains[1][1:level + 1]), gains
    assert gains[1][6] > gains[2][6] > gains[3][6], gains
    fake.call("export")
    edges = fake.file("partners").splitlines()[1]
    assert edges == "edges " + ",".join(f"{edge:.6g}" for edge in table.edges), edges
    for bad in ("", "cosched-pairs/2\n", fake.file("pairs").replace("0.5000", "1.5", 1),
                fake.file("pairs")[:-9], "\0" * 9999):
        with open(f"{fake.folder}/pairs", "w", encoding="ascii") as file:
            file.write(bad)
        fake.call("export")
        assert fake.file("partners").splitlines()[1] == "edges ", bad
    os.unlink(f"{fake.folder}/pairs")


def check_forget(fake):
    done = fake.run("forget")
    assert done.returncode == 1 and "--user" in done.stderr, done
    known = len(shown(fake))
    assert "forgotten" in fake.call("forget", "--name", "a job")
    assert (1000, "a_job", "cg") not in shown(fake)
    assert len(shown(fake)) == known - 1
    assert "a_job" not in fake.file("programs")
    fake.call("forget", "--program", "serial")
    assert (1000, None, "serial") not in shown(fake)
    assert shown(fake, "--program", "mixed")
    assert not shown(fake, "--user", "somebody")
    fake.call("forget", "--before", "2001-01-01")
    assert shown(fake, "--user", user_of(1000))
    fake.call("forget", "--user", "1000")
    assert not shown(fake)
    assert "count=0" in fake.file("programs")


def check_limits(fake):
    """Old runs go, and of each program only the last ones stay."""
    old = int(time.time()) - 500 * 86400
    fake.says("sacct.says", "".join(row(i, "often") for i in range(1, 200)) +
              row(300, "old", start=old, end=old))
    assert "200 records read, 50 kept" in fake.call("update", "--verbose")
    assert shown(fake)[1000, "often", "cg"]["runs"] == 8


def check_concurrent(fake):
    """Several updates at a time, while the files are read all the time."""
    fake.says("sacct.says", "".join(row(i, f"j{i}") for i in range(200)))
    stop, broken = threading.Event(), []

    def read():
        while not stop.is_set():
            text = fake.file("programs")
            width = int(text.split("width=")[1].split()[0])
            count = int(text.split("count=")[1].split()[0])
            if len(text) != width * (count + 1):
                broken.append(text[:200])

    reader = threading.Thread(target=read)
    reader.start()
    updates = [subprocess.Popen(
        [sys.executable, "-W", "error", *command], env=fake.env,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for command in [[fake_path(), "update", "--db", fake.db]] * 4]
    errors = [update.communicate()[1] for update in updates]
    stop.set()
    reader.join()
    assert not any(errors) and not broken, (errors, broken)
    assert (1000, "j199", "cg") in shown(fake)
    assert not [n for n in os.listdir(fake.folder) if n.startswith(".")]


def fake_path():
    return os.path.join(os.environ["abs_top_srcdir"], "slurm_conf",
                        "coschedhistory")


def check_refusals(fake):
    before = shown(fake)
    fake.says("sacct.fails", "sacct: error: no slurmdbd\n")
    done = fake.run("update")
    assert done.returncode == 1 and "no slurmdbd" in done.stderr, done
    assert "Traceback" not in done.stderr
    os.unlink(f"{fake.top.name}/sacct.fails")
    assert shown(fake) == before
    for arguments, words in ((["dance"], "COMMAND"), (["update", "--since",
                                                       "now"], "now: neither"),
                             (["show", "--bogus"], "--bogus")):
        done = fake.run(*arguments)
        assert done.returncode == 2 and words in done.stderr, done
    with open(fake.db, "wb") as file:
        file.write(b"no database at all" * 1000)
    for command in ("show", "update"):
        done = fake.run(command)
        assert done.returncode == 1, done
        assert fake.db in done.stderr and "gathers it anew" in done.stderr, done
    os.unlink(fake.db)
    with contextlib.closing(sqlite3.connect(fake.db)) as db:
        db.execute("PRAGMA user_version = 9")
    done = fake.run("update")
    assert done.returncode == 1 and done.stderr == \
        f"coschedhistory: {fake.db}: made by a later coschedhistory (version 9)\n", done
    os.unlink(fake.db)
    done = fake.run("show")
    assert done.returncode == 1 and "no history yet" in done.stderr, done
    fake.call("update")
    assert shown(fake)


def check_owner(fake):
    """Called by root, it goes no further than who owns the folder could go."""
    precious = f"{fake.top.name}/precious"
    fake.says("precious", "a file of root's\n")
    os.chmod(precious, 0o644)
    os.chmod(fake.top.name, 0o755)
    os.mkdir(f"{fake.top.name}/theirs")
    fake.db = f"{fake.top.name}/theirs/history.db"
    fake.folder = os.path.dirname(fake.db)
    os.symlink(precious, fake.db)
    os.chown(fake.folder, 65534, 65534)
    done = fake.run("update")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done
    assert os.stat(precious).st_mode & 0o777 == 0o644
    os.unlink(fake.db)
    fake.call("update")
    for name in ("history.db", "programs", "partners"):
        at = os.stat(f"{fake.folder}/{name}")
        assert (at.st_uid, at.st_gid, at.st_mode & 0o777) == (65534, 65534, 0o600), name


def main():
    with FakeSlurm() as fake:
        for check in (check_summary, check_disagreement, check_ults, check_earlier, check_garbage,
                      check_forged, check_programs, check_partners, check_pairs, check_forget,
                      check_limits, check_concurrent, check_refusals):
            check(fake)
        if os.getuid() == 0:
            check_owner(fake)


main()
