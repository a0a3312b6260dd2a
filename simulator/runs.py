# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Runs of coschedsim for `make reproduce`: several at a time, and kept.

A run is one scenario.  Its results, one for each policy, are kept beside the
digest of all that they depend on (the program, machine, programs, jobs and
options), so that an interrupted or changed evaluation runs only what it has
to, and what is in several sets is run once."""

import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "plot"))
import progress


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
    place = os.path.join(directory, f"{s.seed}-{s.random}")
    if not os.path.exists(place):
        os.mkdir(place)
        subprocess.run([sys.executable,
                        os.path.join(scenarios, "make_scenarios.py"), place,
                        "--seed", str(s.seed), "--random", str(s.random)],
                       check=True)
    return os.path.join(place, "random.json")


class Run:
    """A scenario (as in its file) under some policies.  Sets that have the same
    jobs on the same machine share it."""

    def __init__(self, args, s, file, scenario):
        self.set, self.scenario = s.name, scenario["name"]
        self.jobs, self.policies = len(scenario["jobs"]), []
        program = os.path.join(args.build, "simulator", "coschedsim")
        machine = os.path.join(args.source, "machines", s.machine + ".json")
        library = os.path.join(args.source, "simulator", "workloads",
                               s.library + ".json")
        options = list(s.options) + (["--wait", s.wait] if s.wait else [])
        self.command = [program, "run", file, "--scenario", self.scenario,
                        "--machine", machine, "--library", library, "--json",
                        *options]
        same = {k: v for k, v in scenario.items()
                if k not in ("name", "source", "paper")}
        self.key = hashlib.sha256(json.dumps(
            [digest(program), digest(machine), digest(library), same,
             options], sort_keys=True).encode()).hexdigest()
        self.kept = os.path.join(args.out, "runs", self.key[:24] + ".json")
        self.results = self.known()

    def known(self):
        """{policy: result} of what was run before."""
        try:
            with open(self.kept, encoding="utf-8") as file:
                kept = json.load(file)
        except (OSError, ValueError):
            return {}
        return kept["results"] if kept.get("key") == self.key else {}

    def missing(self):
        return [p for p in self.policies if p not in self.results]

    def make(self):
        command = self.command + ["--policy", ",".join(self.missing())]
        done = subprocess.run(command, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
        self.results.update({r["policy"]: r for r in json.loads(done.stdout)})
        os.makedirs(os.path.dirname(self.kept), exist_ok=True)
        fresh = self.kept + ".new"
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump({"key": self.key, "results": self.results}, file)
        os.replace(fresh, self.kept)  # whole, or not there


def runs_of(args, sets, directory):
    """({key: run}, {set: {scenario: run}})."""
    runs, places = {}, {}
    for s in sets:
        path = scenario_file(args, s, directory)
        with open(path, encoding="utf-8") as file:
            scenarios = json.load(file)["scenarios"]
        places[s.name] = {}
        for scenario in scenarios:
            if not s.keep(scenario["name"]):
                continue
            run = Run(args, s, path, scenario)
            run = runs.setdefault(run.key, run)
            run.policies += [p for p in s.policies if p not in run.policies]
            places[s.name][scenario["name"]] = run
    return runs, places


def run_all(args, sets, directory):
    """({set: {policy: {scenario: result}}}, runs made now) of all SETS, args.jobs
    at a time, those of most jobs first."""
    runs, places = runs_of(args, sets, directory)
    missing = [run for run in runs.values() if run.missing()]
    print(f"  {len(runs)} scenarios, {len(runs) - len(missing)} of them known",
          file=sys.stderr)
    with progress.Progress("reproduce", len(missing)) as shown, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        shown.show("simulating")
        futures = {pool.submit(run.make): run
                   for run in sorted(missing, key=lambda r: -r.jobs)}
        try:
            for future in concurrent.futures.as_completed(futures):
                future.result()
                shown.step(f"{futures[future].set} {futures[future].scenario}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {s.name: {policy: {scenario: {**run.results[policy],
                                         "scenario": scenario}
                              for scenario, run in places[s.name].items()}
                     for policy in s.policies} for s in sets}, len(missing)
