#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Thesis table A.5 from table A.4: a section of validation.md on standard output.

usage: memory_nodes.py COSCHEDMODEL MACHINE.json

Each kernel's request rate is fitted to its measured speedup with data on all eight
memory nodes (A.4, guided); its speedups with data on four and two are predicted."""

import json
import subprocess
import sys
from statistics import geometric_mean

# Kernel: speedup from 1 to 8 CPU nodes with data on 8 (A.4), 4 and 2 (A.5) memory nodes.
KERNELS = {
    "BT.z_solve": (7.21, 6.99, 3.87), "CG.conj_grad_2": (4.52, 2.36, 1.27),
    "CG.conj_grad_6": (4.04, 2.37, 1.35), "EP.embar": (7.71, 7.73, 7.68),
    "FT.init_ui": (3.38, 3.43, 0.97), "FT.compute_indexmap": (6.51, 6.74, 5.65),
    "FT.compute_initial_cond": (7.06, 6.96, 6.45), "FT.cffts1": (4.09, 3.66, 1.11),
    "FT.cffts2": (5.14, 3.95, 1.56), "FT.cffts3": (5.56, 3.81, 1.90),
    "SP.exact_rhs2": (4.11, 3.80, 1.12), "SP.exact_rhs3": (5.54, 4.22, 1.64),
    "SP.exact_rhs4": (5.92, 4.53, 1.76), "SP.compute_rhs1": (5.16, 3.99, 2.01),
    "SP.compute_rhs2": (4.02, 3.30, 1.18), "SP.compute_rhs3": (4.37, 2.84, 1.42),
    "SP.compute_rhs4": (6.33, 3.73, 1.69), "SP.compute_rhs5": (7.42, 6.15, 2.43),
    "SP.z_solve": (4.52, 3.64, 1.18), "SP.tzetar": (4.06, 2.71, 1.34),
    "MG.kernel_resid": (4.13, 2.63, 1.08), "MG.kernel_rprj3": (4.08, 2.78, 1.22),
    "MG.kernel_interp_1": (3.54, 2.96, 1.07), "MG.kernel_psinv": (4.22, 2.56, 1.13),
}
NODES = 8
READS = 0.4  # share of the requests that stall, as of the loops in loops.c
ROUNDS = 12  # of halving an interval: 0.1 % of the rate

TEXT = """
## Fewer memory nodes

Thesis table A.5 out of sample: the request rate of each of its {count} kernels is fitted to the
speedup that was measured on 8 CPU nodes with data on all memory nodes (table A.4, guided), and
the speedups with data on 4 and 2 of them are predicted by the closed network, with the service
times of `machines/` (`tests/validate/memory_nodes.py`).
"""

AFTER = """
Means are geometric, as all averages of the thesis; its own predictions, of rates profiled in each
case, are off by {paper[0]:.1f} and {paper[1]:.1f} %. One cause here: all that a kernel lacks to a
speedup of 8 is taken for memory. EP asks for none, has 7.71, and keeps it on two nodes.
"""
PAPER_ERRORS = (9.00, 14.70)


class Model:
    """Predictions of the closed network on the machine of a file."""

    def __init__(self, program, machine):
        self.program, self.machine = program, machine

    def ask(self, rate, memories, cores):
        """Speed of a kernel of RATE requests per us on each of CORES, which are of jobs apart."""
        kernel = {"name": "kernel", "weight": 1, "sync_share": 0, "rates": [
            {"mrr_per_us": part, "read_per_us": READS * part}
            for part in [rate / memories] * memories + [0] * (NODES - memories)]}
        given = {"machine": self.machine, "method": "closed",
                 "jobs": [{**kernel, "cores": part} for part in cores]}
        done = subprocess.run([self.program, "utilisation"], check=True, input=json.dumps(given),
                              capture_output=True, text=True)
        return [job["speed"] for job in json.loads(done.stdout)["jobs"]]

    def speeds(self, rate, memories, domains):
        """Of a kernel on the first of DOMAINS LLC domains each."""
        for count in domains:
            yield self.ask(rate, memories, [[8] * count + [0] * (NODES - count)])[0]

    def apart(self, rate):
        """Of each LLC domain of a kernel on all of them, its data everywhere."""
        return self.ask(rate, NODES, [[8 * (i == k) for i in range(NODES)] for k in range(NODES)])

    def speedup(self, rate, memories):
        one, every = self.speeds(rate, memories, (1, NODES))
        return every / one

    def rate(self, speedup):
        """At which a kernel has SPEEDUP with data on all memory nodes."""
        low, high = 0.05, 200
        for _ in range(ROUNDS):
            middle = (low * high) ** 0.5
            if self.speedup(middle, NODES) > speedup:
                low = middle
            else:
                high = middle
        return (low * high) ** 0.5


def section(program, machine):
    model = Model(program, machine)
    values, errors = [], []
    for full, four, two in KERNELS.values():
        rate = model.rate(full)
        found = [model.speedup(rate, memories) for memories in (4, 2)]
        values.append((full, four, found[0], two, found[1]))
        errors.append([100 * abs(here / was - 1) for was, here in zip((four, two), found)])
    lines = [[name] + [f"{value:.2f}" for value in row]
             for name, row in zip(KERNELS, values)]
    lines.append(["geometric mean"] + [f"{geometric_mean(column):.2f}"
                                       for column in zip(*values)])
    worse = [f"{geometric_mean(column):.1f}" for column in zip(*errors)]
    lines.append(["of the error, %", "", "", worse[0], "", worse[1]])
    head = ["kernel", "8 nodes", "4, measured", "predicted", "2, measured", "predicted"]
    return (TEXT.format(count=len(KERNELS)) + "\n" + table(head, lines) +
            AFTER.format(paper=PAPER_ERRORS))


def table(head, lines):
    """A name and numbers in each of LINES."""
    rows = [head, ["---"] + ["--:"] * (len(head) - 1)] + lines
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def main(make, usage):
    if len(sys.argv) != 3:
        sys.exit(usage.strip())
    print(make(*sys.argv[1:]), end="")


if __name__ == "__main__":
    main(section, __doc__)
