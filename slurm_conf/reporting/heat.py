# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Pictures of what sharing gained: against exclusive use, and which programs suit each other."""

from reporting.gains import slowdowns
from svgchart import LEFT, RIGHT, WIDTH, Picture, fitting

PLOT = WIDTH - LEFT - RIGHT
BAR, STEP = 22, 30
CELL, CELL_MOST, NAME = 30, 96, 150
# Slowdowns up to these have the colours of svgchart.HEAT, in order.
STEPS = (1.05, 1.15, 1.3, 1.5, 1.8, 2.2)


def heat_of(value):
    """Number of the colour of slowdown VALUE."""
    return sum(value > step for step in STEPS)


def against_exclusive(comparison):
    """Two bars for each measure: as it was, and one job at a time on each node.  None when no
    time alone is known."""
    if not comparison.jobs:
        return None
    picture = Picture(
        "Sharing against exclusive use",
        "Makespan, mean turnaround and mean wait of the jobs, as they were (filled) and as they "
        "would have been with one job at a time on each node, in the order of submission, each as "
        "fast as alone (dashed)." + (
            f" Left out: {comparison.left_out} of which, or of whose partners, a time alone is "
            "not known." if comparison.left_out else ""))
    longest = max(*comparison.shared, *comparison.exclusive)
    y = 8
    for i, name in enumerate(("Makespan", "Mean turnaround", "Mean wait")):
        picture.label(LEFT - 8, y + BAR + 4, name, anchor="end")
        for value, classes, what in ((comparison.shared[i], "job c0", "shared"),
                                     (comparison.exclusive[i], "wait", "exclusive")):
            width = PLOT * value / longest if longest else 0
            told = f"{name}, {what}: {value:.0f} s"
            picture.rect(LEFT, y, width, BAR, classes, told)
            text = f"{value:.0f} s {what}"
            inside = width > 120
            picture.label(LEFT + (6 if inside else width + 6), y + 15, text,
                          "on0" if inside and what == "shared" else "text")
            y += BAR + 2
        y += STEP - BAR
    picture.y = y
    return picture


def heat_map(jobs):
    """How much slower each program is beside each other; None when that is not known of any."""
    known = slowdowns(jobs)
    names = sorted({name for key in known for name in key})
    if not names:
        return None
    picture = Picture(
        "Who slows whom",
        "Slowdown of the program of the row beside that of the column, relative to its run alone: "
        "1.00 is as fast as alone. Empty: not seen.")
    cell = min(CELL_MOST, max(CELL, (WIDTH - NAME - RIGHT) / len(names)))
    slanted = cell < 70
    top = 64 if slanted else 28
    for i, name in enumerate(names):
        picture.label(NAME + i * cell + cell / 2, top - 8, fitting(name, 90), "text",
                      "start" if slanted else "middle", turn=35 if slanted else 0)
        y = top + i * CELL
        picture.label(NAME - 8, y + 20, fitting(name, NAME - 16), anchor="end")
        for k, other in enumerate(names):
            value = known.get((name, other))
            x = NAME + k * cell
            if value is None:
                picture.rect(x + 1, y + 1, cell - 2, CELL - 2, "idle",
                             f"{name} beside {other}: not seen")
                continue
            heat = heat_of(value)
            picture.rect(x + 1, y + 1, cell - 2, CELL - 2, f"h{heat}",
                         f"{name} beside {other}: {value:.2f} times its time alone")
            picture.label(x + cell / 2, y + 19, f"{value:.2f}", f"onh{heat}", "middle",
                          size=12 if cell >= 36 else 10)
    picture.width = max(WIDTH, NAME + len(names) * cell + RIGHT)
    picture.y = top + len(names) * CELL + 4
    return picture
