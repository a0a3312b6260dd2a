# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the model says of jobs on the emulated machine, and what they then did.

A program is recorded alone on one quarter of the CPUs, two, three and all (mix.sh curve).  From the
counts of a region on all of them, LoopPerf-S predicts its speedup on fewer, LoopPerf-T from those
on the first quarter as well; the work that it reported says what it was.  A mix is recorded under a
policy: what each decision predicted against what was done until the next, and coschedsim replays
the recording."""

import json
import os
import subprocess

from evaluation import prediction

QUARTERS = 4
LEAST_WORK = 20         # that a region reports in each run
LEAST_S = 0.05          # in each run
CYCLES, STALLED = 0, 1                # of a CPU in a sample: sample_json.h


class Region:
    """What samples of one recording counted while a job did it on all of its CPUs."""

    def __init__(self, machine):
        domains, nodes = machine["llc_domains"], machine["numa_nodes"]
        self.domain_of = machine["llc_domain"]
        self.us, self.work = 0.0, [0.0] * 4
        self.mhz = 0.0      # of a CPU that is never idle
        self.cores = [0] * domains
        self.requests = [[[0.0] * 3 for _ in range(nodes)] for _ in range(domains)]
        self.cycles, self.stalled = [0.0] * domains, [0.0] * domains
        self.spun_us = 0.0  # of all CPUs, without work

    def add(self, sample, cpus, job):
        work = job["work"]
        self.us += sample["ns"] * 1e-3
        self.spun_us += job.get("idle_ns", 0) * 1e-3
        self.work = [a + b for a, b in zip(self.work, work)]
        self.cores = [sum(self.domain_of[c] == d for c in cpus) for d in range(len(self.cores))]
        for mine, row in zip(self.requests, sample["traffic"]):
            for to, counts in zip(mine, row):
                for kind, count in enumerate(counts):
                    to[kind] += count or 0
        for cpu in cpus:
            counts = sample["cpu"][str(cpu)]
            self.mhz = max(self.mhz, counts[CYCLES] * 1e3 / sample["ns"])
            self.cycles[self.domain_of[cpu]] += counts[CYCLES]
            self.stalled[self.domain_of[cpu]] += counts[STALLED]

    def rate(self, unit):
        return self.work[unit] / self.us

    def unit(self):
        return max(range(len(self.work)), key=lambda u: self.work[u])

    def profile(self, unit):
        """As coschedmodel speedup wants it."""
        kinds = ("read", "write", "prefetch")
        whole = self.mhz * self.us * sum(self.cores)
        spun = self.mhz * self.spun_us / sum(self.cycles)   # of what counts as computing
        busy = sum(self.cycles) * (1 - spun) / whole
        here = list(zip(self.cores, self.requests))
        return {"cores": self.cores, "total_us": self.us, "work": self.work[unit],
                "sync_share": max(0, 1 - busy),
                "requests": [[dict(zip(kinds, counts)) for counts in row] if cores else None
                             for cores, row in here],
                "read_misses": [[counts[0] for counts in row] if cores else None
                                for cores, row in here],
                "useful_cycles": [a * (1 - spun) - b for a, b in zip(self.cycles, self.stalled)],
                "stalled_cycles": self.stalled}


def cpu_list(text):
    found = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def lines(directory):
    with open(os.path.join(directory, prediction.RECORDING), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def regions(directory, count):
    """{name: Region} of the only job of a recording, while it had COUNT CPUs."""
    begin, *rest = lines(directory)
    found = {}
    for line in rest:
        if line["type"] != "sample" or len(line["jobs"]) != 1 or "traffic" not in line:
            continue
        job, = line["jobs"]
        cpus = cpu_list(job["cpus"]) if job["cpus"] else []
        if job["region"] and len(cpus) == count and not job["profiling"]:
            found.setdefault(job["region"], Region(begin["machine"])).add(line, cpus, job)
    return found


def curves(directory, cpus):
    """Of each region that was seen on all quarters: (name, seconds, profiles, speedups)."""
    parts = [regions(os.path.join(directory, str(q)), cpus * (q + 1) // QUARTERS)
             for q in range(QUARTERS)]
    for name, whole in parts[-1].items():
        unit, each = whole.unit(), [part.get(name) for part in parts]
        if all(r and r.work[unit] >= LEAST_WORK and r.us >= LEAST_S * 1e6 for r in each):
            rates = [r.rate(unit) for r in each]
            yield (name, whole.us * 1e-6, [r.profile(unit) for r in each],
                   [rate / rates[0] for rate in rates])


def speedups(coschedmodel, machine, profiles, measured):
    """[(speedup, error in %), ...] on one quarter to all, as coschedmodel says."""
    told = {"machine": machine, "loops": [{"name": "loop", "profiles": profiles,
                                           "measured": measured}]}
    done = subprocess.run([coschedmodel, "speedup"], input=json.dumps(told), capture_output=True,
                          text=True)
    if done.returncode:
        return None
    return [(row["speedup"], row["error_percent"]) for row in json.loads(done.stdout)["points"]]


def program(build, machine, directory, cpus):
    """Rows of a program's regions: measured and predicted speedups."""
    rows = []
    for name, seconds, profiles, measured in curves(directory, cpus):
        row = {"region": name, "seconds": seconds, "measured": measured}
        for kind, given in (("S", profiles[-1:]), ("T", [profiles[0], profiles[-1]])):
            row[kind] = speedups(os.path.join(build, "coschedmodel/coschedmodel"), machine, given,
                                 measured)
        rows.append(row)
    return rows


def mean_error(rows, kind):
    """Over regions by their time: mean absolute error in %, of all but the reference."""
    told = [(row["seconds"], sum(abs(e) for _, e in row[kind][1:]) / (QUARTERS - 1))
            for row in rows if row[kind]]
    whole = sum(seconds for seconds, _ in told)
    return sum(seconds * error for seconds, error in told) / whole if whole else None


def poisson(build, directory):
    """(series, of them Poisson, median of variance over mean) of a recording's requests."""
    asked = subprocess.run([os.path.join(build, "coschedctl"), "requests", directory],
                           capture_output=True, text=True)
    if asked.returncode:
        return None
    done = subprocess.run([os.path.join(build, "coschedmodel/coschedmodel"), "ks", "--least", "10"],
                          input=asked.stdout, capture_output=True, text=True)
    if done.returncode:
        return None
    nodes = [node for region in json.loads(done.stdout)["regions"] for node in region["nodes"]
             if "poisson" in node]
    spread = sorted(node["dispersion"] for node in nodes)
    return (len(nodes), sum(node["poisson"] for node in nodes),
            spread[len(spread) // 2] if spread else None)
