# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the agent predicted, compared with what was then seen, from its recordings.

Each decision predicts for each job a speed relative to the job alone on all cores.  Until a
decision that says something else, samples tell what work the job's region did.  What it does alone
is known from a run of each job alone, recorded as well.  Nothing can be said of regions that
report too little work in that time, and of serial stretches."""

import json
import os
import subprocess

LEAST_S = 0.2       # stretches that are compared
LEAST_WORK = 20     # of the work reported in it alone, so that counting errs by 5 % at most
RECORDING = "record.jsonl"


class Stretch:
    """Time for which JOB did REGION and the decisions about it were the same."""

    def __init__(self, job, entry, partners):
        self.job, self.region, self.cpus = job, entry["region"], entry["gets"]
        self.predicted, self.partners = entry["speed"], partners
        self.seconds, self.work = 0.0, [0.0] * 4

    def goes_on(self, entry, partners):
        return (entry["region"], entry["gets"], partners) == \
            (self.region, self.cpus, self.partners) and \
            abs(entry["speed"] - self.predicted) < 0.01

    def add(self, seconds, work):
        self.seconds += seconds
        self.work = [a + b for a, b in zip(self.work, work)]


def _lines(directory):
    """The lines of the recording; one that was cut off ends it."""
    with open(os.path.join(directory, RECORDING), encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                return


def _predicting(entry):
    return entry["region"] and entry.get("speed") and not entry["parked"] and \
        not entry["measured_at"]


def stretches(directory):
    """All Stretches of the recording in DIRECTORY."""
    now, done = {}, []
    for line in _lines(directory):
        if line["type"] == "decision":
            before, now = now, {}
            partners = len(line["jobs"]) - 1
            for entry in filter(_predicting, line["jobs"]):
                old = before.pop(entry["job"], None)
                if old and old.goes_on(entry, partners):
                    now[entry["job"]] = old
                else:
                    done += [old] if old else []
                    now[entry["job"]] = Stretch(entry["job"], entry, partners)
            done += before.values()
        elif line["type"] == "sample":
            for entry in line["jobs"]:
                one = now.get(entry["job"])
                if one and (entry["region"], entry["cpus"]) == (one.region, one.cpus):
                    one.add(line["ns"] * 1e-9, entry["work"])
    return [one for one in done + list(now.values()) if one.seconds]


def rates_alone(directory):
    """{region: (unit, work per second)} of a job that ran alone on all CPUs."""
    found = {}
    with open(os.path.join(directory, RECORDING), encoding="utf-8") as file:
        every = json.loads(file.readline())["cpus"]
    for one in stretches(directory):
        if one.cpus == every:
            seconds, work = found.get(one.region, (0.0, [0.0] * 4))
            found[one.region] = (seconds + one.seconds,
                                 [a + b for a, b in zip(work, one.work)])
    rates = {}
    for region, (seconds, work) in found.items():
        unit = max(range(len(work)), key=lambda u, w=work: w[u])
        if work[unit] >= LEAST_WORK:
            rates[region] = (unit, work[unit] / seconds)
    return rates


def errors(found, rates):
    """(error of the predicted speed relative to the seen one, seconds) of each of the Stretches
    FOUND in which a job had company, by RATES of its regions alone."""
    said = []
    for one in found:
        if not one.partners or one.seconds < LEAST_S or one.region not in rates:
            continue
        unit, rate = rates[one.region]
        alone = rate * one.seconds
        if alone >= LEAST_WORK:
            seen = one.work[unit] / alone
            said.append((abs(one.predicted / seen - 1) if seen else 1.0, one.seconds))
    return said


def quantile(weighted, part):
    """The value below which PART of the weight of WEIGHTED, (value, weight), is."""
    total, so_far = sum(weight for _, weight in weighted), 0.0
    for value, weight in sorted(weighted):
        so_far += weight
        if so_far >= part * total:
            return value
    return None


def compare(names, shared, alone):
    """What --json has of each of the jobs NAMES: errors over the recordings SHARED of a mix, and
    those ALONE of each job."""
    found = [stretch for directory in shared for stretch in stretches(directory)]
    rows = []
    for number, (name, directory) in enumerate(zip(names, alone), 1):
        said = errors([s for s in found if s.job == number], rates_alone(directory))
        rows.append({"job": name, "compared_s": sum(seconds for _, seconds in said),
                     "median": quantile(said, 0.5), "p90": quantile(said, 0.9)})
    return rows


def replay(coschedsim, directory, policies):
    """{policy: makespan of the recorded jobs} as coschedsim says; {} with the reason as "problem"
    where it cannot."""
    done = subprocess.run([coschedsim, "replay", "--policy", ",".join(policies), "--json",
                           directory], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)
    if done.returncode:
        return {"problem": done.stderr.strip().split("\n")[-1]}
    return {row["policy"]: row["makespan_s"] for row in json.loads(done.stdout)}
