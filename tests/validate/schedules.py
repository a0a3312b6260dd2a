#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Thesis table A.4, all three schedules, and figure 3.10: a section of validation.md on standard
output.

usage: schedules.py COSCHEDMODEL MACHINE.json

Each kernel's request rate is fitted to its measured speedup with guided loops.  Dynamic loops of
one iteration should do as well; with static ones all wait for the LLC domain that is slowest."""

from statistics import geometric_mean

from memory_nodes import KERNELS, NODES, Model, main, table

# Kernel: speedup and the thesis' error in % with loops that are self-scheduled, and static.
OTHERS = {
    "BT.z_solve": (7.19, 4.21, 7.15, 5.14), "CG.conj_grad_2": (3.95, 24.36, 3.63, 31.51),
    "CG.conj_grad_6": (4.14, 22.11, 3.87, 19.93), "EP.embar": (7.63, 1.82, 7.97, 1.36),
    "FT.init_ui": (0.92, 426.77, 2.9, 26.99), "FT.compute_indexmap": (5.84, 4.27, 5.2, 9.1),
    "FT.compute_initial_cond": (6.76, 4.4, 7.17, 3.74), "FT.cffts1": (6.6, 13.89, 2.77, 33.81),
    "FT.cffts2": (5.53, 4.85, 2.87, 34.96), "FT.cffts3": (5.83, 3.77, 4.15, 16.67),
    "SP.exact_rhs2": (4.23, 23.34, 4.3, 11.32), "SP.exact_rhs3": (5.57, 6.39, 5.71, 7.53),
    "SP.exact_rhs4": (6.05, 5.83, 6.28, 5.45), "SP.compute_rhs1": (2.59, 78.38, 5.91, 3.47),
    "SP.compute_rhs2": (5.1, 11.75, 4.33, 15.78), "SP.compute_rhs3": (4.36, 6.02, 4.46, 6.25),
    "SP.compute_rhs4": (5.84, 3.23, 6.29, 2.88), "SP.compute_rhs5": (6.56, 3.01, 7.52, 2.04),
    "SP.z_solve": (3.3, 44.15, 4.77, 6.97), "SP.tzetar": (4.08, 8.77, 4.07, 9.07),
    "MG.kernel_resid": (3.97, 20.77, 1.07, 66.14), "MG.kernel_rprj3": (3.72, 23.92, 1.27, 116.85),
    "MG.kernel_interp_1": (3.77, 6.19, 2.91, 24.07), "MG.kernel_psinv": (3.67, 6.38, 3.62, 9.55),
}

TEXT = """
## Other schedules

Thesis table A.4: its {count} kernels with self-scheduled loops (one iteration at a time) and
static ones. The request rate of each is that which gives its speedup with guided loops,
{guided:.2f} in the mean, so self-scheduled loops are predicted to have the same; static ones wait
for the LLC domain that is slowest (`tests/validate/schedules.py`). *Balance* is what figure 3.10
calls load balance ratio, the shortest over the longest time of a thread, as it would be with
static loops by the routes to memory alone.
"""

AFTER = """
Means are geometric, as the thesis has them. Its own errors are of rates profiled with each
schedule, ours go from one schedule to another. Neither model has the counter from which
self-scheduled loops take their iterations (init_ui, compute_rhs1, z_solve of SP), nor iterations
of unequal length (MG, static). By the routes static loops would lose {routes:.0f} % of guided
ones' speedup; measured they lose {loss:.0f} % in the mean: much in FT's transforms and MG, nothing
in BT and SP, whose threads probably touched their data first. So where the simulator lets a static
loop wait for its slowest LLC domain (stock runtimes alone and in `batch`, pinned jobs), it makes
it slower than such programs are. The thesis draws figure 3.10 without numbers: most of its loops,
which are dynamic, are above 0.9, and rprj3, psinv and interp1 of MG lower.
"""


def static(model, rate):
    """(Speedup, load balance) of a kernel whose LLC domains have equal parts of the work."""
    alone = next(model.speeds(rate, NODES, (1,)))
    each = model.apart(rate)
    return NODES * min(each) / alone, min(each) / max(each)


def section(program, machine):
    model = Model(program, machine)
    rows = []
    for name, (guided, *_) in KERNELS.items():
        own, own_error, fixed, fixed_error = OTHERS[name]
        found, balance = static(model, model.rate(guided))
        rows.append((name, own, guided, 100 * abs(guided / own - 1), own_error, fixed, found,
                     100 * abs(found / fixed - 1), fixed_error, balance))
    names, *columns = zip(*rows)
    means = [geometric_mean([max(0.1, v) for v in column]) for column in columns]
    rows.append(("geometric mean", *means))
    lines = [[r[0], f"{r[1]:.2f}", f"{r[2]:.2f}", f"{r[3]:.1f}", f"{r[4]:.1f}", f"{r[5]:.2f}",
              f"{r[6]:.2f}", f"{r[7]:.1f}", f"{r[8]:.1f}", f"{r[9]:.2f}"] for r in rows]
    head = ["kernel", "self, measured", "predicted", "error, %", "thesis' error",
            "static, measured", "predicted", "error, %", "thesis' error", "balance"]
    guided, fixed, found = means[1], means[4], means[5]
    assert set(names) == set(OTHERS)
    return (TEXT.format(count=len(names), guided=guided) + "\n" +
            table(head, lines) +
            AFTER.format(routes=100 * (1 - found / guided), loss=100 * (1 - fixed / guided)))


if __name__ == "__main__":
    main(section, __doc__)
