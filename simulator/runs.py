# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Runs of coschedsim for `make reproduce`: several at a time, and kept.

A run is one scenario under all policies of a set.  Its result is kept beside
the digest of all that it depends on (the program, machine, programs, scenario,
policies and options), so that an interrupted or changed evaluation runs only
what it has to."""

import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import time


class Failed(Exception):
    """coschedsim refused; the text says what it was called with."""


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def scenario_file(args, s, directory):
    """The file of set S; random mixes are made into DIRECTORY."""
    scenarios = os.path.join(args.source, "simulator", "scenarios")
    if s.file:
        return os.path.join(scenarios, s.file + ".json")
    made = os.path.join(directory, "random.json")
    if not os.path.exists(made):
        subprocess.run([sys.executable,
                        os.path.join(scenarios, "make_scenarios.py"),
                        directory, "--random", str(s.random)], check=True)
    return made


class Run:
    """A scenario (as in its file) of set S."""

    def __init__(self, args, s, file, scenario):
        self.set, self.scenario = s, scenario["name"]
        self.jobs = len(scenario["jobs"])
        program = os.path.join(args.build, "simulator", "coschedsim")
        machine = os.path.join(args.source, "machines", s.machine + ".json")
        library = os.path.join(args.source, "simulator", "workloads",
                               s.library + ".json")
        options = list(s.options) + (["--wait", s.wait] if s.wait else [])
        self.command = [program, "run", file, "--scenario", self.scenario,
                        "--machine", machine, "--library", library,
                        "--policy", ",".join(s.policies), "--json", *options]
        self.key = hashlib.sha256(json.dumps(
            [digest(program), digest(machine), digest(library), scenario,
             s.policies, options], sort_keys=True).encode()).hexdigest()
        self.kept = os.path.join(args.out, "runs",
                                 f"{s.name}.{self.scenario}.json")

    def known(self):
        """{policy: result} if the run was made before, else None."""
        try:
            with open(self.kept, encoding="utf-8") as file:
                kept = json.load(file)
        except (OSError, ValueError):
            return None
        return kept["results"] if kept.get("key") == self.key else None

    def make(self):
        done = subprocess.run(self.command, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(self.command)}: {done.stderr.strip()}")
        results = {r["policy"]: r for r in json.loads(done.stdout)}
        os.makedirs(os.path.dirname(self.kept), exist_ok=True)
        fresh = self.kept + ".new"
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump({"key": self.key, "results": results}, file)
        os.replace(fresh, self.kept)  # whole, or not there
        return results


def runs_of(args, sets, directory):
    out = []
    for s in sets:
        path = scenario_file(args, s, directory)
        with open(path, encoding="utf-8") as file:
            scenarios = json.load(file)["scenarios"]
        out += [Run(args, s, path, scenario) for scenario in scenarios
                if s.keep(scenario["name"])]
    return out


class Progress:
    """A line for each run that is made, and how long the rest may take."""

    def __init__(self, count):
        self.count, self.done, self.begin = count, 0, time.monotonic()

    def line(self, run):
        self.done += 1
        spent = time.monotonic() - self.begin
        left = spent / self.done * (self.count - self.done)
        print(f"  [{self.done}/{self.count}] {run.set.name} {run.scenario}, "
              f"{spent:.0f} s, about {left:.0f} s left", file=sys.stderr,
              flush=True)


def run_all(args, sets, directory):
    """({set: {policy: {scenario: result}}}, runs made now) of all SETS, args.jobs
    at a time, those of most jobs first."""
    runs = runs_of(args, sets, directory)
    results = {run: run.known() for run in runs}
    missing = [run for run in runs if results[run] is None]
    print(f"  {len(runs)} scenarios, {len(runs) - len(missing)} of them known",
          file=sys.stderr)
    progress = Progress(len(missing))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(run.make): run
                   for run in sorted(missing, key=lambda r: -r.jobs)}
        try:
            for future in concurrent.futures.as_completed(futures):
                results[futures[future]] = future.result()
                progress.line(futures[future])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {s.name: {policy: {run.scenario: results[run][policy]
                              for run in runs if run.set is s}
                     for policy in s.policies} for s in sets}, len(missing)
