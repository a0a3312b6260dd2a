#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Write the papers' scenarios, random mixes and those of big machines.

usage: make_scenarios.py OUT-DIRECTORY [--seed N] [--random COUNT]

The papers' scenarios are in the tree; this is what they were made by.  Random
mixes are made when they are wanted: equal seeds give equal files."""

import argparse
import itertools
import json
import os
import random

LIBRARY = "../workloads/amd-opteron-6380.json"


def scenario(name, source, jobs, **more):
    """JOBS: names of programs, or members of a job."""
    listed = [{"program": j} if isinstance(j, str) else j for j in jobs]
    return {"name": name, "source": source, **more, "jobs": listed}


def nupoco():
    mixes = ["BT FT", "BT SP", "FT SP", "BT FT SP", "BT FT EP", "BT SP EP",
             "FT SP EP", "BT KM", "FT KM", "SP KM"]
    return [scenario(f"{i:02d}-{m.lower().replace(' ', '-')}",
                     f"NuPoCo table 2, ({i})", m.split())
            for i, m in enumerate(mixes, 1)]


def thesis():
    """All pairs and triples of five programs; the thesis leaves out "few cases
    where the total memory consumption is more than 128GB or [...] a tail serial
    execution" and does not say which; these two are the likely ones."""
    left_out = [{"BT", "FT", "SP"}, {"SC", "KM"}]
    mixes = [m for n in (2, 3)
             for m in itertools.combinations(["BT", "FT", "SP", "SC", "KM"], n)
             if set(m) not in left_out]
    return [scenario("-".join(m).lower(), "thesis 4.4.2", m) for m in mixes]


def moca():
    """Pairs and triples; those with SVM on the Intel machine only."""
    return [scenario("-".join(m).lower(), "thesis 4.6, figures 4.18 and 4.19",
                     m)
            for n in (2, 3)
            for m in itertools.combinations(
                ["BT", "FT", "SP", "LR", "PR", "SVM"], n)]


def case_study():
    return [scenario("ep-ft-bs", "NuPoCo 7.5, figure 13: EP is first, FT joins "
                     "a bit later, then BS; the times are assumed",
                     ["EP", {"program": "FT", "arrival_s": 8},
                      {"program": "BS", "arrival_s": 24}],
                     paper={"nupoco": {"ntt": 0.81}})]


def pick(rng, items):
    # Not random.choice(): only random() is promised to stay as it is.
    return items[int(rng.random() * len(items))]


def own_region(rng, kind, work_s):
    """A region of no known program, from compute-bound to hopeless."""
    rate = 60 ** rng.random() - 1
    region = {"kind": kind, "work_s": round(work_s, 3),
               "read_per_us": round(rate * 0.5, 3),
               "write_per_us": round(rate * 0.25, 3),
               "prefetch_per_us": round(rate * 0.25, 3),
               "llc_per_us": round(rate * (1 + 2 * rng.random()), 3),
               "llc_loss": round(rng.random() * 0.8, 3),
               "placement": pick(rng, ["first-touch", "interleaved",
                                       "interleaved", "local"])}
    if kind == "parallel":
        region.update(imbalance=round(0.2 * rng.random() ** 2, 3),
                       sync_share=round(0.2 * rng.random() ** 3, 3),
                       barriers=int(1000 ** rng.random()))
    return region


def own_program(rng, name, cores):
    """Phases of a minute or so on all of CORES."""
    loops = [own_region(rng, "parallel", cores * 0.3 * (0.2 + rng.random()))
             for _ in range(1 + int(rng.random() * 4))]
    if rng.random() < 0.5:
        loops.append(own_region(rng, "serial", 0.02 + 0.3 * rng.random()))
    phases = [{"regions": [own_region(rng, "serial", 1 + 3 * rng.random())]},
              {"repeat": 5 + int(rng.random() * 25), "regions": loops}]
    return {"name": name, "phases": phases}


def random_mix(rng, name, cores, most):
    programs = ["BT", "FT", "SP", "EP", "KM", "SC", "BS", "LR", "PR", "SVM"]
    jobs = []
    for i in range(2 + int(rng.random() * (most - 1))):
        if rng.random() < 0.6:
            job = {"program": pick(rng, programs), "name": f"job{i}",
                   "scale": round(0.3 + rng.random(), 3)}
        else:
            job = own_program(rng, f"job{i}", cores)
        if rng.random() < 0.4:
            job["arrival_s"] = round(20 * rng.random(), 2)
        if rng.random() < 0.15:
            job["max_cores"] = max(2, int(cores * rng.random()))
        if rng.random() < 0.15:
            job["weight"] = pick(rng, [0.5, 2, 4])
        jobs.append(job)
    return scenario(name, "random", jobs)


def random_mixes(seed, count):
    rng = random.Random(seed)
    return [random_mix(rng, f"random-{seed}-{i:03d}", 64, 4)
            for i in range(count)]


def big():
    rng = random.Random(256)
    return [scenario("sixteen-jobs", "assumed: 256 cores, 32 LLC domains",
                     [own_program(rng, f"job{i}", 256 / 16 * 4)
                      for i in range(16)])]


def write(directory, name, what, scenarios):
    text = json.dumps({"name": what, "library": LIBRARY, "scenarios": []})
    lines = ",\n  ".join(json.dumps(s) for s in scenarios)
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.write(text[:-2] + "\n  " + lines + "\n]}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    args = parser.parse_args()
    if args.random:
        write(args.directory, "random.json", "random mixes",
              random_mixes(args.seed, args.random))
        return
    write(args.directory, "nupoco.json", "NuPoCo's ten scenarios", nupoco())
    write(args.directory, "thesis.json", "the dissertation's eighteen pairs "
          "and triples", thesis())
    write(args.directory, "moca.json", "MOCA's mixes of NPB and Spark", moca())
    write(args.directory, "case-study.json", "NuPoCo's case study",
          case_study())
    write(args.directory, "big.json", "big machines", big())


if __name__ == "__main__":
    main()
