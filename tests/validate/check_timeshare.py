#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Hold the model of time sharing to real runs on this machine.

usage: check_timeshare.py BUILD-DIRECTORY OUT.json [--seconds S]

Runs pairs of jobs/ programs (stock libgomp, as many threads as CPUs each) under
each OMP_WAIT_POLICY, measures how many times slower each is than alone, and
asks tests/validate/timeshare_rates for the same.  The slice is measured by two busy
loops on one CPU, libgomp's spinning time by its loop.  The load of the machine
before the runs is in the result: other work makes the measurement worthless."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time

# Options, and barriers of one repetition: ep is one long loop, stream of class
# W twenty triads, cg of class A 15 times 25 steps of 6 and 4 more.
PROGRAMS = {
    "ep": (["--class", "W"], 1),
    "stream": (["--class", "W"], 20),
    "cg": (["--class", "A"], 15 * (25 * 6 + 4)),
}
PAIRS = [("ep", "ep"), ("ep", "cg"), ("cg", "cg"), ("stream", "cg")]
WAITS = ["default", "active", "passive"]


def environment(wait):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("OMP_", "GOMP_", "COSCHED_"))}
    if wait != "default":
        env["OMP_WAIT_POLICY"] = wait
    return env


def run(build, programs, wait, seconds):
    """Seconds per repetition of each of PROGRAMS, run at the same time."""
    children = []
    for name in programs:
        children.append(subprocess.Popen(
            [os.path.join(build, "jobs", name), *PROGRAMS[name][0], "--json",
             "--min-time", str(seconds)], env=environment(wait),
            stdout=subprocess.PIPE, text=True))
    rates = []
    for name, child in zip(programs, children):
        out, _ = child.communicate()
        if child.returncode != 0:
            sys.exit(f"check_timeshare: {name} failed")
        result = json.loads(out)
        rates.append(result["time_s"] / result["repeat"])
    return rates


def measure_slice(seconds=2.0):
    """How long a thread keeps its CPU beside one other: two loops on one CPU."""
    cpu = min(os.sched_getaffinity(0))
    loop = [sys.executable, "-c",
            f"import os, time\nos.sched_setaffinity(0, [{cpu}])\n"
            f"end = time.monotonic() + {seconds}\n"
            "while time.monotonic() < end: pass\n"
            "print(open('/proc/self/status').read())"]
    children = [subprocess.Popen(loop, stdout=subprocess.PIPE, text=True)
                for _ in range(2)]
    switches = 0
    for child in children:
        out, _ = child.communicate()
        found = re.search(r"^nonvoluntary_ctxt_switches:\s*(\d+)", out,
                          re.MULTILINE)
        switches += int(found.group(1))
    return seconds / max(1, switches)


def predict(build, cores, slice_s, spin_s, wake_s, gaps):
    out = subprocess.run(
        [os.path.join(build, "tests/validate/timeshare_rates"), str(cores),
         f"{slice_s:.6f}", str(spin_s), f"{wake_s:.7f}",
         *(f"{g:.7f}" for g in gaps)],
        capture_output=True, text=True, check=True)
    return [float(x) for x in out.stdout.split()]


def measure(build, seconds, rounds):
    """Seconds per repetition, the least of ROUNDS, of all programs alone and in
    pairs: {(wait, (program,...)): [...]}.  What else runs on the machine can
    only add to it."""
    alone = [(name,) for name in PROGRAMS]
    best = {}
    for _ in range(rounds):
        for wait in WAITS:
            for group in alone + PAIRS:
                times = run(build, group, wait, seconds)
                old = best.get((wait, group), times)
                best[wait, group] = [min(a, b) for a, b in zip(old, times)]
                time.sleep(0.1)
    return best


def compare(build, best, params):
    rows = []
    for pair in PAIRS:
        for wait in WAITS:
            alone = [best[wait, (name,)][0] for name in pair]
            gaps = [a / PROGRAMS[name][1] for a, name in zip(alone, pair)]
            spin = {"default": params["spin_s"], "active": "inf",
                    "passive": 0}[wait]
            predicted = predict(build, params["cores"], params["slice_s"],
                                spin, params["wake_s"], gaps)
            rows += [{"pair": list(pair), "wait": wait, "program": name,
                      "gap_s": round(gap, 7), "measured": round(t / a, 3),
                      "predicted": guess}
                     for name, gap, t, a, guess in zip(
                         pair, gaps, best[wait, pair], alone, predicted)]
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    rates = os.path.join(args.build, "tests/validate/timeshare_rates")
    spin = subprocess.run([rates, "--spin"], capture_output=True, text=True,
                          check=True)
    params = {"cores": len(os.sched_getaffinity(0)),
              "slice_s": round(measure_slice(), 6),
              "spin_s": float(spin.stdout)}
    best = measure(args.build, args.seconds, args.rounds)
    # What a barrier costs more if all sleep: from cg, which has most of them.
    params["wake_s"] = round(max(0, best["passive", ("cg",)][0] -
                                 best["active", ("cg",)][0]) /
                             PROGRAMS["cg"][1] / 2, 7)
    rows = compare(args.build, best, params)
    result = {"machine": f"{params['cores']} CPUs, Linux "
              f"{platform.release().split('-')[0]}", "load": load,
              "params": params, "rounds": args.rounds, "rows": rows}
    with open(args.out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(f"load {load:.1f}, slice {params['slice_s'] * 1e3:.2f} ms, spin "
          f"{params['spin_s'] * 1e3:.2f} ms, wake {params['wake_s'] * 1e6:.1f} us")
    for row in rows:
        print(f"{'+'.join(row['pair']):10} {row['wait']:8} {row['program']:7}"
              f" gap {row['gap_s'] * 1e3:9.3f} ms  slower {row['measured']:6.2f}"
              f"  model {row['predicted']:6.2f}")


if __name__ == "__main__":
    main()
