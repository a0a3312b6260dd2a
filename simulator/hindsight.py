#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What a policy could gain on the papers' sets, knowing everything: a search with hindsight.

A candidate says which policy divides, whether it knows how long jobs take alone, how many cores
each job has at least (all of them: a fixed division until a job ends), its weight, and when it
starts.  Each is one simulation.  The search climbs from the best of all policies, one of these at
a time, until a round over all of them gains less than 0.1 %.  Beside it stands a lower bound of the
makespan (bound.c).  OUT keeps what was found."""

import argparse
import concurrent.futures
import itertools
import json
import os
import subprocess
import tempfile

import evaluation as ev
import runs

FREE = "corun:loss:1;regret:1"  # bets are won, with hindsight
POLICIES = [FREE, "corun", "nupoco", "greedy", "equal", "moca"]
STEPS = (16, 4)
WEIGHTS = (0.6, 1.6)
GAIN = 0.999


class Search:
    """Of the best way to run SCENARIO of the set S."""

    def __init__(self, args, s, scenario):
        self.jobs, self.best = scenario["jobs"], None
        self.cores = int(ev.TITLE[s.machine].split("-")[1])
        machine = os.path.join(args.source, "machines", s.machine + ".json")
        library = os.path.join(args.source, "simulator", "workloads", s.library + ".json")
        program = os.path.join(args.build, "simulator", "")
        self.simulate = [program + "coschedsim", "run", "--json", "--machine", machine,
                         "--library", library]
        self.bound = [program + "bound", machine, library]

    @staticmethod
    def ask(command, scenarios):
        """What COMMAND prints about SCENARIOS."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"scenarios": scenarios}, file)
            file.flush()
            done = subprocess.run([*command, file.name], check=False, capture_output=True,
                                  text=True)
        if done.returncode != 0:
            raise runs.Failed(done.stderr.strip())
        return json.loads(done.stdout)

    def run(self, policies, scenarios):
        """Results of SCENARIOS under POLICIES, those of a scenario together."""
        return self.ask([*self.simulate, "--policy", ",".join(policies)], scenarios)

    def scenario(self, name, candidate):
        jobs = [{**job, "min_cores": least, "weight": weight, "arrival_s": start}
                for job, least, weight, start in
                zip(self.jobs, candidate["least"], candidate["weight"], candidate["start"])]
        return {"name": name, "source": "hindsight.py", "history": candidate["history"],
                "jobs": jobs}

    def try_all(self, candidates):
        """The best of CANDIDATES, which have one policy or else one scenario."""
        policies = list(dict.fromkeys(c["policy"] for c in candidates))
        apart = candidates if len(policies) == 1 else candidates[:1]
        found = self.run(policies, [self.scenario(str(i), c) for i, c in enumerate(apart)])
        for candidate, result in zip(candidates, found):
            candidate["makespan"] = result["makespan_s"]
            candidate["ends"] = [job["end_s"] for job in result["jobs"]]
        return min(candidates, key=lambda c: c["makespan"])

    def neighbours(self):
        """Lists of candidates that differ from the best so far in one thing."""
        best = self.best
        def with_job(key, job, value):
            return {**best, key: [value if i == job else old for i, old in enumerate(best[key])]}
        yield [{**best, "policy": policy} for policy in POLICIES]
        for job in range(len(self.jobs)):
            best, least = self.best, self.best["least"][job]
            room = self.cores - sum(best["least"]) + least
            values = {1, room} | {least + sign * step for step in STEPS for sign in (-1, 1)}
            starts = {0.0} | {end for i, end in enumerate(best["ends"]) if i != job}
            yield ([with_job("least", job, v) for v in sorted(values) if 0 < v <= room] +
                   [with_job("weight", job, best["weight"][job] * f) for f in WEIGHTS] +
                   [with_job("start", job, v) for v in sorted(starts)])
        best = self.best
        yield [{**best, "history": not best["history"]}] + [
            {**best, "least": [least + step * ((i == a) - (i == b))
                               for i, least in enumerate(best["least"])]}
            for a, b in itertools.permutations(range(len(self.jobs)), 2)
            for step in STEPS if step < best["least"][b]]

    def climb(self, rounds):
        """{"native", "corun", "policy", "found", "bound": makespans, "how": candidate}."""
        plain = {"name": "plain", "source": "hindsight.py", "jobs": self.jobs}
        known = {r["policy"]: r["makespan_s"] for r in self.run(ev.POLICIES, [plain])}
        count = len(self.jobs)
        self.best = self.try_all([{"policy": policy, "history": False, "least": [1] * count,
                                   "weight": [1.0] * count, "start": [0.0] * count}
                                  for policy in POLICIES])
        for _ in range(rounds):
            before = self.best["makespan"]
            for candidates in self.neighbours():
                # Someone has to start at once: makespans are from the first start.
                candidates = [c for c in candidates if min(c["start"]) == 0]
                self.best = min(self.best, self.try_all(candidates),
                                key=lambda c: c["makespan"])
            if self.best["makespan"] > GAIN * before:
                break
        policy = min(known.values())
        return {"native": known["native"], "corun": known["corun"], "policy": policy,
                "found": min(policy, self.best["makespan"]),
                "bound": self.ask(self.bound, [plain])["bound_s"], "how": self.best}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", metavar="BUILD", help="with coschedsim")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("out", metavar="OUT", help="JSON: what was found so far")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count())
    parser.add_argument("--only", action="append", default=[], metavar="SET")
    parser.add_argument("--rounds", type=int, metavar="N", default=2)
    args = parser.parse_args()
    found, places, waiting = {}, {}, {}
    if os.path.exists(args.out):
        with open(args.out, encoding="utf-8") as file:
            found = {key: result for key, result in json.load(file).items() if "bound" in result}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for s in ev.sets(0, 0):
            if not s.paper or s.name == "case-study" or (args.only and s.name not in args.only):
                continue
            with open(runs.scenario_file(args, s, None), encoding="utf-8") as file:
                scenarios = [x for x in json.load(file)["scenarios"] if s.keep(x["name"])]
            for scenario in scenarios:
                key = f"{s.machine} {json.dumps(scenario['jobs'])}"
                places.setdefault(s, []).append(key)
                if key not in found and key not in waiting.values():
                    waiting[pool.submit(Search(args, s, scenario).climb, args.rounds)] = key
        for future in concurrent.futures.as_completed(waiting):
            found[waiting[future]] = future.result()
            with open(args.out + ".new", "w", encoding="utf-8") as file:
                json.dump(found, file, indent=1)
            os.replace(args.out + ".new", args.out)
    rows = [[s.title, ev.TITLE[s.machine]] + [
        f"{ev.geomean([found[k][way] / found[k]['native'] for k in keys]):.3f}"
        for way in ("corun", "policy", "found", "bound")] for s, keys in places.items()]
    print(ev.table(["set", "machine", "`corun`", "best policy", "found", "bound"], rows), end="")


if __name__ == "__main__":
    main()
