#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Turn validate_model's results into a page and pictures.

usage: report.py RESULTS.json DIRECTORY
"""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "plot"))

import svgchart  # noqa: E402

INTRO = """# The model held to simulation

Written by `make validate-model` (tests/validate/). The simulator follows each request through
outgoing queues, links and controllers (tests/simulator/memsys.h) and shares no formula with the
model. Machines are in worlds.c, loops, with the parameters of thesis table 3.1, in loops.c.
MAPE is the mean absolute percentage error relative to simulation (thesis 3.16); the last column
is the simulation's 95 % confidence interval.

The simulated machine obeys the model's assumptions (exponential times, first come first
served). So the numbers say how good the solution is, not how well the assumptions fit hardware;
"Where the assumptions do not hold" drops some of them.
"""

SPEED_TEXT = """## Speeds of jobs, alone and in mixes

The model gets request rates and machine, and predicts how fast each job computes (cores' worth
of computing). *Alone* is each of the {loops} loops at each DoP; *mixes* are {mixes} random ones
of two to four loops per machine, half of them with whole LLC domains. Service times are
exponential and the same for reads, writes and prefetches.
"""

SPEED_AFTER = """
*MVA* is `closed_solve()`: controllers and links are one closed network with the cores as
customers. *One by one* is `system_solve()` (thesis 3.6 to 3.8) with classes, *papers' average*
the same with average rates. Both are right while no controller is busy for more than half of
the time. Beyond, speeds come out too low, as a waiting core still counts as asking elsewhere
and a wait counts twice; or too high, as writes and prefetches of an LLC domain do not delay its
own reads.

![Mean error of jobs' speeds](validation-speed.svg)
"""

VARIANT_TEXT = """## Where the assumptions do not hold

The same mixes with other memories; the model gets only mean service times. *By kind*: writes
and prefetches are served faster than reads (3.13). *Deterministic*: service times do not vary.
*Hyper-exponential*: squared coefficient of variation 4. *Window 1*: a last-level cache has one
request per NUMA node under way, the thesis' outgoing queue taken literally.
"""

LOOPPERF_TEXT = """## Speedups of loops

LoopPerf (thesis 3.4) gets what counters would see of a simulated loop, on one LLC domain (S),
and on all of them too (T). It finds the CPU time by 3.11, service times by 3.13, and predicts
the speedup (3.14) on every number of domains. In the simulation, request rates and prefetch
shares change with the logarithm of the number of domains (figures 3.4, 3.5), so T's power
law is not quite the truth. Rates are fitted to the measured speedups of thesis table A.4 (guided),
or are those of a similar loop (loops.h). Best-F (thesis 3.5.1, `coschedmodel speedup --best-f`)
has S's profiles and, by exhaustive search, the one service time for all controllers and the one
for all links with which the loops of a machine are predicted best: it has seen what it predicts.
*None*: loops where 3.11 has no solution. MAPE in percent (worst case):
"""

LOOPPERF_AFTER = """
The thesis, against real runs, with geometric means of the loops' errors:

| machine | LoopPerf-S | LoopPerf-T | Best-F |
|---|---|---|---|
| AMD Opteron 6380 | 13.9 | 8.3 | 10.8 |
| Intel E7-8870 v3 | 6.5 | 6.7 | 6.7 |

Ours are arithmetic means. -S errs where the mix changes with the domains, there as here. Best-F
gains here what stations one by one lose where memory is busy: shorter service times make up for a
part of that. Mean coefficients of determination of the loops on the Opteron:
{determined}. The thesis has 0.90 for Best-F with guided loops (table A.4).
Lines: predicted; dots: simulated.

![Speedups of the loops on the Opteron](validation-loopperf.svg)
"""

METHOD_SHORT = {
    "multi-class MVA (Linearizer)": "MVA, Linearizer",
    "multi-class MVA (Schweitzer)": "MVA, Schweitzer",
    "stations one by one, multi-class": "one by one",
    "stations one by one, average MRR (papers)": "papers' average",
}


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    out += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(out) + "\n"


def unique(rows, key):
    return list(dict.fromkeys(r[key] for r in rows))


def percent(row):
    if row.get("unknown"):
        return (f"{row['mape']:.2f} ({row['worst']:.0f}), "
                f"none for {row['unknown']}")
    return f"{row['mape']:.2f} ({row['worst']:.0f})"


def speed_rows(rows, keys):
    """Table lines of ROWS grouped by KEYS, methods across."""
    groups = {}
    for r in rows:
        groups.setdefault(tuple(r[k] for k in keys), []).append(r)
    return [list(k) + [str(g[0]["jobs"])] + [percent(r) for r in g] +
            [f"{g[0]['noise']:.2f}"] for k, g in groups.items()]


def speed_page(rows):
    methods = [METHOD_SHORT[m] for m in unique(rows, "method")]
    plain = [r for r in rows if r["memory"] == "exponential"]
    jobs = {r["set"]: r["jobs"] for r in plain if r["machine"] == "all"}
    out = [SPEED_TEXT.format(loops=24, mixes=24)]
    out.append("MAPE in percent (worst case):\n")
    out.append(table(["jobs", "machine", "cases"] + methods + ["simulation +-"],
                     speed_rows(plain, ["set", "machine"])))
    out.append(f"{jobs['alone']} predictions alone, {jobs['mixes']} in mixes. "
               "Mean error of the whole machine's NuUtil (4.7) over the mixes: " +
               ", ".join(f"{METHOD_SHORT[r['method']]} "
                         f"{r['utilisation_mape']:.2f} %" for r in plain
                         if r["set"] == "mixes" and r["machine"] == "all") +
               ".\n")
    out.append(SPEED_AFTER)
    out.append(VARIANT_TEXT)
    other = [r for r in rows if r["set"] == "mixes" and r["machine"] == "all"]
    out.append(table(["memory", "cases"] + methods + ["simulation +-"],
                     speed_rows(other, ["memory"])))
    return out


def write_grid(path, title, text, panels, columns, legend, size=(230, 150)):
    picture = svgchart.Picture(title, text)
    svgchart.grid(picture, panels, columns, legend, size)
    svgchart.write(path, svgchart.document([picture]))


def speed_plot(rows, path):
    methods = unique(rows, "method")
    panels = []
    for name, title in (("alone", "loops alone"), ("mixes", "mixes of 2 to 4")):
        shown = [r for r in rows if r["set"] == name and
                 r["memory"] == "exponential"]
        machines = unique(shown, "machine")
        high = max(r["mape"] for r in rows if r["memory"] == "exponential")
        panel = svgchart.Panel(
            title, (0, len(machines)), (0, high * 1.05), y_label="MAPE, percent",
            captions=[(i + 0.5, m.rsplit("-", 1)[0] if "-" in m else m)
                      for i, m in enumerate(machines)])
        for k, method in enumerate(methods):
            panel.bars([(machines.index(r["machine"]) + 0.1 + 0.2 * k, 0.18,
                         r["mape"]) for r in shown if r["method"] == method],
                       f"c{k}")
        panels.append(panel)
    write_grid(path, "Mean error of jobs' speeds", "A bar for each method, "
               "machine and set; less is better.", panels, 1,
               [(METHOD_SHORT[m], f"c{k}", "box") for k, m in enumerate(methods)],
               (620, 150))


def loopperf_page(results):
    rows = [r for r in results if r["table"] == "loopperf"]
    methods = unique(rows, "method")
    lines = []
    for machine in unique(rows, "machine"):
        part = [r for r in rows if r["machine"] == machine]
        lines.append([machine, str(part[0]["loops"])] +
                     [percent(r) for r in part] + [f"{part[0]['noise']:.2f}"])
    return [LOOPPERF_TEXT,
            table(["machine", "loops"] + methods + ["simulation +-"], lines),
            LOOPPERF_AFTER.format(determined=",\n".join(
                f"{value:.2f} ({name})" for name, value in determined(results)))]


def determined(results):
    """(method, mean coefficient of determination) of the loops on the Opteron."""
    rows = [r for r in results if r["table"] == "speedup" and
            r["machine"] == "amd-opteron-6380"]
    for method in [k for k in rows[0] if k.startswith(("LoopPerf", "Best-F"))]:
        values = []
        for loop in unique(rows, "loop"):
            part = [r for r in rows if r["loop"] == loop and method in r]
            mean = sum(r["simulated"] for r in part) / max(1, len(part))
            spread = sum((r["simulated"] - mean) ** 2 for r in part)
            if spread > 0:
                values.append(1 - sum((r["simulated"] - r[method]) ** 2 for r in part) / spread)
        yield method, sum(values) / len(values)


def loopperf_plot(results, path):
    rows = [r for r in results if r["table"] == "speedup" and
            r["machine"] == "amd-opteron-6380"]
    methods = [k for k in rows[0] if k.startswith("LoopPerf")]
    panels = []
    for loop in unique(rows, "loop"):
        part = [r for r in rows if r["loop"] == loop]
        panel = svgchart.Panel(loop, (1, 8), (0, 8), "LLC domains")
        for k, method in enumerate(methods):
            if method in part[0]:
                panel.line([(r["nodes"], r[method]) for r in part], f"s{k}")
        panel.dots([(r["nodes"], r["simulated"]) for r in part], "text")
        panels.append(panel)
    write_grid(path, "Speedups of the loops on the Opteron", "Lines: predicted; "
               "dots: simulated.", panels, 6,
               [(m, f"s{k}", "line") for k, m in enumerate(methods)] +
               [("simulated", "text", "dots")], (130, 100))


def figure_plot(results, path):
    four = [r for r in results if r["table"] == "figure4"]
    five = [r for r in results if r["table"] == "figure5"]

    def curve(rows, x, y):
        return [(r[x], r[y]) for r in rows]

    speed = svgchart.Panel("Figure 4: speedup of B", (0, 16), (0, 4), "cores")
    speed.line(curve(four, "cores", "speedup"), "s0")
    speed.dots(curve(four, "cores", "sim_speedup"), "c0")
    share = svgchart.Panel("Figure 4: utilisation by B", (0, 16), (0, 1.4),
                           "cores")
    for k, name in enumerate(("mct", "cpu", "system")):
        share.line(curve(four, "cores", name), f"s{k}")
    share.dots(curve(four, "cores", "sim_mct"), "c0")
    share.dots(curve(four, "cores", "sim_cpu"), "c1")
    other = svgchart.Panel("Figure 4: utilisation by A", (0, 16), (0, 1.4),
                           "cores")
    for k, part in enumerate((0, 1, 1 / 16)):
        other.line([(n, n * part if k == 2 else part) for n in range(1, 17)],
                   f"s{k}")
    panels = [speed, share, other]
    for work in unique(five, "a"):
        rows = [r for r in five if r["a"] == work]
        panel = svgchart.Panel(f"Figure 5: A = {work:g}, B = {rows[0]['b']:g}",
                               (0, 16), (0, 2.2 * rows[0]["batch"]),
                               "cores of B (A has the rest)", "time")
        panel.line(curve(rows, "cores_b", "end_a"), "s1")
        panel.line(curve(rows, "cores_b", "end_b"), "s0")
        panel.line(curve(rows, "cores_b", "freed"), "s2")
        panel.line(curve(rows, "cores_b", "fixed"), "s2 dash")
        panel.line([(1, rows[0]["batch"]), (15, rows[0]["batch"])], "s3")
        panels.append(panel)
    write_grid(path, "NuPoCo's example", "Figures 4 and 5 of the paper.", panels,
               3, [("controller; end of B", "s0", "line"),
                   ("cores; end of A", "s1", "line"),
                   ("system; both done, freed cores used", "s2", "line"),
                   ("both done, freed cores lost", "s2 dash", "line"),
                   ("simulated", "c0", "dots"), ("batch", "s3", "line")])


def figure_page(results):
    four = [r for r in results if r["table"] == "figure4"]
    error = max(abs(r["speedup"] / r["sim_speedup"] - 1) for r in four) * 100
    out = ["## NuPoCo's example\n",
           "Figures 4 and 5 of the paper (thesis 4.2 and 4.3) from "
           "`model/station.h`: sixteen cores, one controller, A never asks, B "
           f"has rho 0.5. Simulated speedups of B differ by {error:.2f} % at "
           "most.\n",
           "![NuPoCo figures 4 and 5](nupoco-figures.svg)\n"]
    rows = []
    five = [r for r in results if r["table"] == "figure5"]
    for work in unique(five, "a"):
        part = [r for r in five if r["a"] == work]
        row = [f"{work:g} : {part[0]['b']:g}"]
        for end in ("freed", "fixed"):
            best = min(r[end] for r in part)
            near = [r["cores_b"] for r in part if r[end] <= 1.002 * best]
            row += [" to ".join(f"{16 - b}:{b}"
                                for b in dict.fromkeys((near[0], near[-1]))),
                    f"{best / part[0]['batch']:.3f}"]
        rows.append(row)
    out.append("Best splits of the cores A:B, within 0.2 %, and the time until "
               "both are done relative to one after the other:\n")
    out.append(table(["work A : B", "freed cores used", "time / batch",
                      "freed cores lost", "time / batch"], rows))
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    folder = sys.argv[2]
    speeds = [r for r in results if r["table"] == "speed"]
    page = ([INTRO] + speed_page(speeds) + loopperf_page(results) +
            figure_page(results))
    with open(os.path.join(folder, "validation.md"), "w",
              encoding="utf-8") as file:
        file.write("\n".join(page))
    speed_plot(speeds, os.path.join(folder, "validation-speed.svg"))
    loopperf_plot(results, os.path.join(folder, "validation-loopperf.svg"))
    figure_plot(results, os.path.join(folder, "nupoco-figures.svg"))


if __name__ == "__main__":
    main()
