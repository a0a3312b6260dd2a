# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Which jobs do well beside each other, by the gain that the model predicts.

Jobs are sorted into levels: 0 is serial, the others by rho, the load that one of their cores is to
its memory (docs/glossary.md).  A node has the mean level of its parallel jobs.  A table says what
each pair of levels gains: the sum of both speeds relative to the whole node each, where the cores
are divided at best and neither is slower than `cosched_fairness` allows; 1 is what turns would
give.

Nodes bear their level as one of a few features, so that lists of nodes stay ranges.
"""

import bisect
import json
import math
import subprocess

PREFIX = "cosched_"
FREE = PREFIX + "free"
PARALLEL = 6                    # levels of parallel jobs
# Part of the speed of perfect scaling that a job of a level has on all cores.
EFFICIENCIES = (0.97, 0.85, 0.7, 0.55, 0.4, 0.25)
SLOWEST = 0.375                 # with cosched_fairness=25: half the node, less a quarter
GOOD = 0.02                     # as good as the best partner but for this
HEAD = "cosched-pairs/1"


class PlacementError(Exception):
    """What the administrator must know."""


class Table:
    """`rhos`: of levels 1 and up (None: levels go by class); `gains[i][j]`, `speeds[i][j]`: of
    level i beside level j."""

    def __init__(self, rhos, speeds):
        self.rhos, self.speeds = rhos, speeds
        self.edges = rhos and [math.sqrt(a * b) for a, b in zip(rhos, rhos[1:])]
        size = range(len(speeds))
        self.gains = [[speeds[i][j] + speeds[j][i] for j in size] for i in size]

    def level(self, kind, rho):
        """Of a job with this class and rho; None: not known."""
        if kind == "serial":
            return 0
        if self.edges is None:
            return OF_CLASS.get(kind)
        return None if rho is None else 1 + bisect.bisect_left(self.edges, rho)

    def partners(self, level, features):
        """Those of FEATURES beside which a job of LEVEL gains most."""
        gains = {feature: self.gains[level][int(feature[len(PREFIX):])]
                 for feature in features if feature != FREE}
        best = max(gains.values(), default=0)
        return sorted(f for f, gain in gains.items() if gain > 1 and gain >= best - GOOD)

    def text(self):
        rows = [" ".join(f"{speed:.4f}" for speed in row) for row in self.speeds]
        return "\n".join([HEAD, " ".join(f"{rho:.6g}" for rho in self.rhos), *rows]) + "\n"


# All that a node may have.
FEATURES = [FREE] + [PREFIX + str(level) for level in range(PARALLEL + 1)]


def of_node(levels):
    """The feature of a node whose jobs have LEVELS; None: some are not known."""
    if None in levels:
        return None
    parallel = [level for level in levels if level]
    return PREFIX + str(round(sum(parallel) / len(parallel)) if parallel else 0) if levels \
        else FREE


def parse(text):
    """The table in TEXT; None: it is not one."""
    lines = text.split("\n")
    try:
        rhos = [float(word) for word in lines[1].split()]
        speeds = [[float(word) for word in line.split()] for line in lines[2:-1]]
    except (IndexError, ValueError):
        return None
    size = len(rhos) + 1
    good = lines[0] == HEAD and len(rhos) == PARALLEL and len(speeds) == size and \
        all(len(row) == size and all(0 < speed <= 1 for speed in row) for row in speeds) and \
        all(0 < a < b < math.inf for a, b in zip(rhos, rhos[1:]))
    return Table(rhos, speeds) if good else None


# Of amd-epyc-7763-2x64-nps4, until there is a table of the site's own machine.
DEFAULT = Table(None, [[float(word) for word in row.split()] for row in """\
1 1 1 1 1 1 1
.9925 .5 .4874 .4762 .4647 .4498 .5657
.9949 .5345 .5 .4713 .444 .4117 .5025
.9989 .6062 .5463 .5 .4589 .4138 .4851
1 .7159 .6228 .5557 .5 .4426 .499
1 .8898 .7437 .6472 .5724 .5 .5417
1 1 .8143 .6716 .5678 .4748 .5""".split("\n")])
OF_CLASS = {"compute": 1, "mixed": 3, "memory": 5}


# ---- computed by the model -----------------------------------------------------------

class Model:
    """coschedmodel on a machine."""

    def __init__(self, machine, program="coschedmodel"):
        self.machine, self.program = machine, program
        domains = self.ask({}, "machine", "show", machine)["llc_domains"]
        self.domains = [size(domain["cpus"]) for domain in domains]
        self.cores = sum(self.domains)

    def ask(self, question, *arguments):
        try:
            done = subprocess.run([self.program, *arguments], input=json.dumps(question),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  universal_newlines=True)
        except OSError as error:
            raise PlacementError(f"{self.program}: {error.strerror} (package "
                                 "coschedule-tools)") from error
        if done.returncode:
            raise PlacementError(done.stderr.strip())
        return json.loads(done.stdout)

    def speeds(self, *jobs):
        """Speedups over one core of JOBS, each (rho, cores)."""
        described = []
        before = [0] * len(self.domains)
        for number, (rho, cores) in enumerate(jobs):
            mine = spread(cores, self.domains, before)
            before = [a + b for a, b in zip(before, mine)]
            described.append({"name": str(number), "rho": rho, "cores": mine})
        answer = self.ask({"machine": self.machine, "jobs": described}, "utilisation")
        return [job["speedup"] for job in answer["jobs"]]

    def rho_of(self, efficiency):
        """With which a job has this efficiency on all cores."""
        low, high = 1e-5, 10.0
        for _ in range(24):
            rho = math.sqrt(low * high)
            if self.speeds((rho, self.cores))[0] / self.cores > efficiency:
                low = rho
            else:
                high = rho
        return math.sqrt(low * high)


def size(cpus):
    """How many are in "0-7,16-23"."""
    return sum(int(part.split("-")[-1]) - int(part.split("-")[0]) + 1 for part in cpus.split(","))


def spread(cores, domains, taken):
    """CORES over the domains, as even as what is TAKEN leaves."""
    mine = [0] * len(domains)
    for _ in range(cores):
        room = [d - t - m for d, t, m in zip(domains, taken, mine)]
        mine[room.index(max(room))] += 1
    return mine


def compute(model):
    """The table of MODEL's machine."""
    rhos = [0.0] + [model.rho_of(efficiency) for efficiency in EFFICIENCIES]
    cores = model.cores
    alone = [1.0] + [model.speeds((rho, cores))[0] for rho in rhos[1:]]
    speeds = [[0.5] * len(rhos) for _ in rhos]
    for i, first in enumerate(rhos):
        for j, second in enumerate(rhos[:i + 1]):
            best = (0.5, 0.5)   # turns
            for mine in splits(i, j, cores):
                both = model.speeds((first, mine), (second, 1 if j == 0 else cores - mine))
                pair = min(1.0, both[0] / alone[i]), min(1.0, both[1] / alone[j])
                if min(pair) >= SLOWEST and sum(pair) > sum(best):
                    best = pair
            speeds[i][j], speeds[j][i] = best if i != j else [sum(best) / 2] * 2
    return Table(rhos[1:], speeds)


def splits(i, j, cores):
    """Cores of the first of two jobs of levels I >= J; a serial one has one."""
    if i == 0:
        return [1]
    if j == 0:
        return [cores - 1]
    return sorted({max(1, cores * part // 8) for part in range(1, 8)})
