#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Run fuzz targets in turn, keep what they find, and say how much they tried."""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROUND_S = 300  # a turn of one target, at most
FLAGS = ["-print_final_stats=1", "-rss_limit_mb=2048", "-timeout=60", "-max_len=8192",
         "-detect_leaks=1"]
# Inputs that are a life of the state machine, step by step: long ones from the start.  In the
# same time half the executions, and 9 % more edges.
LONG = {"server": ["-len_control=0", "-max_len=1024"]}
# One input needs little memory and few frames: 10 to 40 % faster than the defaults.
ASAN = "quarantine_size_mb=16:malloc_context_size=8"


class Target:
    """A libFuzzer program tests/X/fuzz_NAME, or a script tests/X/fuzz_NAME.py."""

    def __init__(self, program, keep):
        self.program = program
        self.script = program.endswith(".py")
        folder, name = os.path.split(program)
        self.name = name.replace("fuzz_", "", 1).replace(".py", "")
        top = os.environ.get("abs_top_srcdir", ".")
        folder = os.path.relpath(folder, top) if self.script else folder
        self.seeds = os.path.join(top, folder, "corpus", self.name)
        self.words = self.seeds + ".dict"
        self.kept = os.path.join(keep, self.name)
        self.crashes = os.path.join(keep, "crashes")
        self.runs = self.added = self.edges = self.seconds = 0
        self.found = []

    def command(self, seconds, corpora):
        if self.script:
            return [self.program, str(max(1, int(seconds)))]
        words = [f"-dict={self.words}"] if os.path.isfile(self.words) else []
        return [os.path.abspath(self.program), *FLAGS, *LONG.get(self.name, []),
                f"-max_total_time={int(seconds)}",
                f"-artifact_prefix={self.crashes}/{self.name}-", *words, *corpora]

    def run(self, seconds):
        """Run for SECONDS; what it wrote, which names the fault if there was one."""
        for folder in (self.kept, self.crashes):
            os.makedirs(folder, exist_ok=True)
        corpora = [d for d in (self.kept, self.seeds) if os.path.isdir(d)]
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory()) as scratch:
            done = subprocess.run(
                self.command(seconds, corpora), env={
                    **os.environ, "TMPDIR": scratch,
                    "ASAN_OPTIONS": f"{ASAN}:{os.environ.get('ASAN_OPTIONS', '')}"},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", check=False)
        self.seconds += time.monotonic() - begin
        self.runs += number(r"(?:number_of_executed_units: *|^fuzz_\w+: )(\d+)", done.stdout)
        self.edges = max(self.edges, number(r" cov: (\d+)", done.stdout))
        if done.returncode:
            file = re.search(r"Test unit written to (\S+)", done.stdout)
            self.found.append({"file": file[1] if file else None, "what": reason(done.stdout)})
        return done.stdout

    def row(self):
        return {"target": self.name, "executions": self.runs, "seconds": round(self.seconds, 1),
                "per_second": round(self.runs / self.seconds) if self.seconds else 0,
                "edges": self.edges, "kept": len(glob.glob(self.kept + "/*")),
                "found": self.found}


def memory():
    """Where files cost least."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def number(pattern, text):
    """The last match."""
    return int(([0] + re.findall(pattern, text, re.M))[-1])


def reason(output):
    """The lines that tell best what went wrong."""
    told = re.findall(r"^(?:.*: not so: .*|SUMMARY: .*|.*runtime error: .*|==\d+== ?ERROR: .*"
                      r"|.*Error: .*|Falsifying example.*)$", output, re.M)
    return "; ".join(told[:3]) or output[-500:]


def table(rows):
    """For people."""
    form = "{target:12} {executions:>12} {per_second:>8} {seconds:>9} {edges:>7} {kept:>6} {n:>5}"
    print(form.format(target="target", executions="executions", per_second="per s",
                      seconds="seconds", edges="edges", kept="kept", n="found"))
    for row in rows:
        print(form.format(n=len(row["found"]), **row))
    print(f"{sum(r['executions'] for r in rows)} executions,"
          f" {sum(len(r['found']) for r in rows)} faults")
    for row in rows:
        for fault in row["found"]:
            print(f"{row['target']}: {fault['file'] or 'no input'}: {fault['what']}")


def save(targets, keep, path):
    """Add what was run since the last time to the executions of all runs with KEEP, by target,
    which are returned, and write the table to PATH (None: nowhere)."""
    counts = os.path.join(keep, "executions.json")
    try:
        with open(counts, encoding="utf-8") as f:
            ever = json.load(f)
    except (OSError, ValueError):
        ever = {}
    for target in targets:
        ever[target.name] = ever.get(target.name, 0) + target.runs - target.added
        target.added = target.runs
    os.makedirs(keep, exist_ok=True)
    write(counts, ever)
    if path:
        write(path, {"targets": [t.row() for t in targets], "executions_ever": ever})
    return ever


def write(path, value):
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1, sort_keys=True)
    os.replace(path + ".new", path)


def fuzz(targets, seconds, jobs, turn, after):
    """Each target for its part of SECONDS on JOBS CPUs, in turns, with AFTER() after each; one
    with a fault waits for its mend."""
    share = seconds * jobs / len(targets)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while True:
            todo = [t for t in targets if not t.found and t.seconds < share]
            if not todo:
                return
            for _ in pool.map(lambda t: t.run(max(1, min(turn, share - t.seconds))), todo):
                after()


def distil(target, most, largest=4096):
    """Make TARGET's seeds the smallest inputs that reach what all kept ones do."""
    with tempfile.TemporaryDirectory(dir=memory()) as to:
        regressions = glob.glob(target.seeds + "/regression-*")
        for path in regressions:
            shutil.copy(path, to)
        subprocess.run([os.path.abspath(target.program), "-merge=1", "-rss_limit_mb=2048", to,
                        target.kept, target.seeds],
                       env={**os.environ, "TMPDIR": to + "/.."}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        new = sorted((p for p in glob.glob(to + "/*") if "/regression-" not in p),
                     key=os.path.getsize)
        new = [p for p in new if os.path.getsize(p) <= largest]
        step = max(1, len(new) / max(1, most))
        new = [new[int(i * step)] for i in range(min(most, len(new)))]
        os.makedirs(target.seeds, exist_ok=True)
        for path in new:
            shutil.copy(path, os.path.join(target.seeds, os.path.basename(path)[:12]))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--hours", type=float, default=1, help="for all targets together")
    p.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="side by side")
    p.add_argument("--turn", type=int, default=ROUND_S, help="seconds of one target at a time")
    p.add_argument("--only", help="names of targets, with commas between")
    p.add_argument("--keep", default="fuzz", help="directory for what is found")
    p.add_argument("--json", help="the table as a file")
    p.add_argument("--distil", type=int, metavar="N",
                   help="fuzz nothing; add the N most telling of the kept inputs to the seeds")
    p.add_argument("program", nargs="+")
    args = p.parse_args()
    targets = [Target(program, args.keep) for program in args.program]
    only = args.only.split(",") if args.only else [t.name for t in targets]
    targets = [t for t in targets if t.name in only]
    if not targets:
        sys.exit(f"fuzz: no such target: {args.only}")
    if args.distil is not None:
        for target in targets:
            if not target.script:
                distil(target, args.distil)
        return
    fuzz(targets, args.hours * 3600, args.jobs, args.turn,
         lambda: save(targets, args.keep, args.json))
    table([t.row() for t in targets])
    ever = save(targets, args.keep, args.json)
    print(f"with earlier runs: {sum(ever.values())} executions")
    sys.exit(any(t.found for t in targets))


if __name__ == "__main__":
    main()
