#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Draws what a decision of the agent looks like: cores before and after, speeds predicted and then
measured.  The agent's own code decides, about simulated jobs on the machine of NuPoCo's case study.

usage: decision.py BUILD FILE"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "../..")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "plot"), os.path.join(SOURCE, "coschedeval")]
import svgchart                         # noqa: E402
from evaluation import prediction       # noqa: E402

MACHINE = os.path.join(SOURCE, "machines/amd-opteron-6380-4x4.json")
LIBRARY = os.path.join(SOURCE, "simulator/workloads/amd-opteron-6380.json")
PROGRAMS, ARRIVALS, CORES, CELL = ("FT", "EP", "BS"), (0, 3, 6), 16, 40
WIDTH, LEFT = 900, 150


def record(build, folder, name, jobs):
    """The directory of a recording of JOBS, whose loops report what they do."""
    scenario = os.path.join(folder, name + ".json")
    with open(scenario, "w", encoding="utf-8") as file:
        json.dump({"name": name, "library": LIBRARY, "scenarios": [
            {"name": name, "jobs": jobs}]}, file)
    subprocess.run([os.path.join(build, "simulator/coschedsim"), "run", "--machine", MACHINE,
                    "--policy", "corun", "--counters", "progress", "--limit", "60",
                    "--record", os.path.join(folder, name),
                    scenario], stdout=subprocess.DEVNULL, check=False)
    return os.path.join(folder, name)


def cpus(text):
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def follow(decision, lines):
    """{job: Stretch} of the jobs of DECISION until one is in another region or on other cores."""
    found = {e["job"]: prediction.Stretch(e["job"], e, 1) for e in decision["jobs"]}
    for line in lines:
        if line["type"] == "sample":
            seen = {e["job"]: e for e in line["jobs"]}
            if set(seen) != set(found) or any((seen[j]["region"], seen[j]["cpus"]) != (
                    one.region, one.cpus) for j, one in found.items()):
                break
            for job, one in found.items():
                one.add(line["ns"] * 1e-9, seen[job]["work"])
        elif line["type"] == "decision" and any(
                e["gets"] != found[e["job"]].cpus for e in line["jobs"] if e["job"] in found):
            break
    return found


def speed(one, rates):
    """The measured speed of Stretch ONE, or None if too little is known."""
    unit, rate = rates.get(one.region, (0, 0))
    if one.seconds < prediction.LEAST_S or rate * one.seconds < prediction.LEAST_WORK:
        return None
    return one.work[unit] / (rate * one.seconds)


def choose(directory, rates):
    """(decision, {job: (predicted, measured)}) of the decision that moved most cores among those
    of which the outcome was measured for all jobs but serial ones."""
    lines, best = list(prediction._lines(directory)), None
    for number, line in enumerate(lines):
        if line["type"] != "decision" or len(line["jobs"]) != len(PROGRAMS) or not all(
                e["had"] and e.get("speed") and not e["parked"]
                for e in line["jobs"]):
            continue
        moved = sum(len(cpus(e["gets"]) - cpus(e["had"])) for e in line["jobs"])
        measured = {j: (one.predicted, speed(one, rates[j - 1]))
                    for j, one in follow(line, lines[number + 1:]).items() if one.region}
        if moved and len(measured) > 1 and all(m for _, m in measured.values()) and \
                (not best or moved > best[0]):
            best = (moved, line, measured)
    if not best:
        sys.exit("decision: no decision that can be shown")
    return best[1:]


def draw(decision, speeds):
    jobs = decision["jobs"]
    said = "; ".join(
        f"{PROGRAMS[e['job'] - 1]}: {len(cpus(e['had']))} to {len(cpus(e['gets']))} cores, " +
        ("speed predicted {:.2f}, measured {:.2f}".format(*speeds[e["job"]])
         if e["job"] in speeds else "serial") for e in jobs)
    picture = svgchart.Picture("What a decision looks like", f"{decision['trigger']}. {said}.",
                               width=WIDTH)
    picture.label(16, 24, f"Why now: {decision['trigger']}", size=14)
    y = 44
    for name, key in ("before", "had"), ("after", "gets"):
        picture.label(16, y + 24, f"cores {name}", size=14)
        owner = {cpu: e["job"] for e in jobs for cpu in cpus(e[key])}
        for cpu in range(CORES):
            x = LEFT + cpu * (CELL + 2) + cpu // 4 * 10
            job = owner.get(cpu)
            picture.rect(x, y, CELL, 36, f"c{job - 1}" if job else "idle",
                         f"core {cpu}: {PROGRAMS[job - 1] if job else 'free'}")
            picture.label(x + CELL / 2, y + 23, PROGRAMS[job - 1] if job else "",
                          f"on{job - 1}" if job else "text", "middle")
        y += 48
    for node in range(4):
        picture.label(LEFT + node * (4 * (CELL + 2) + 10) + 2 * CELL, y + 6, f"NUMA node {node}",
                      "faint", "middle")
    y += 32
    picture.label(16, y + 6, "speed, 1: alone on all cores", "faint")
    y += 22
    for e in jobs:
        job = e["job"] - 1
        picture.label(16, y + 22, f"{PROGRAMS[job]}: {len(cpus(e['had']))} to "
                      f"{len(cpus(e['gets']))} cores", size=14)
        if e["job"] not in speeds:
            picture.label(LEFT, y + 22, "serial: one core is all it uses", "faint")
            y += 34
        for kind, value in zip(("predicted", "measured"), speeds.get(e["job"], ())):
            picture.rect(LEFT, y, max(2, 560 * value), 14, f"c{job}" if kind == "measured"
                         else "idle")
            picture.label(LEFT + 560 * value + 8, y + 12, f"{value:.2f} {kind}", "text")
            y += 17
        y += 10
    picture.y = y + 4
    return picture


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.partition("\n\n")[2])
    build, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        rates = [prediction.rates_alone(record(build, folder, program, [{"program": program}]))
                 for program in PROGRAMS]
        mix = record(build, folder, "mix", [{"program": p, "arrival_s": s}
                                            for p, s in zip(PROGRAMS, ARRIVALS)])
        svgchart.write(target, svgchart.document([draw(*choose(mix, rates))]))


if __name__ == "__main__":
    main()
