#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Draws the pictures of the docs that are not charts.

usage: pictures.py hosts|life|model FILE"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "plot"))
import svgchart

WIDTH, TEXT, SMALL, LINE = 900, 14, 12, 18


def box(picture, x, y, width, title, lines=(), colour=None):
    """A box with TITLE and LINES below it; the y of its lower end."""
    height = 30 + LINE * len(lines)
    picture.rect(x, y, width, height, "idle")
    if colour is not None:
        picture.rect(x, y, 5, height, f"c{colour}")
    picture.label(x + 14, y + 20, title, size=TEXT)
    for i, line in enumerate(lines):
        picture.label(x + 14, y + 38 + i * LINE, line, "faint", size=SMALL)
    return y + height


def arrow(picture, points, text="", where=None, anchor="start"):
    picture.line(points)
    (x0, y0), (x1, y1) = points[-2:]
    if y0 == y1:
        step = 6 if x1 > x0 else -6
        picture.line([(x1 - step, y1 - 4), (x1, y1), (x1 - step, y1 + 4)])
    else:
        step = 6 if y1 > y0 else -6
        picture.line([(x1 - 4, y1 - step), (x1, y1), (x1 + 4, y1 - step)])
    if text:
        x, y = where or ((x0 + x1) / 2, min(y0, y1) - 6)
        picture.label(x, y, text, "faint", anchor, SMALL)


def hosts():
    """Who runs where."""
    picture = svgchart.Picture(
        "Who runs where", "Login node: sbatch, coschedreport. Controller: slurmctld with "
        "job_submit.lua, slurmdbd, coschedhistory. Compute node: slurmd with the SPANK plugin, the "
        "agent with its supervisor and Slurm helpers, the exporter, and jobs with the cooperative "
        "libgomp. Below each host stand its packages.", width=WIDTH)
    columns = ((16, 210, "Login node", "coschedule-slurm, -tools"),
               (250, 260, "Slurm's controller", "coschedule-slurm"),
               (534, 350, "Each compute node", "coschedule-agent, -slurm, -libgomp"))
    for x, width, title, packages in columns:
        picture.rect(x, 8, width, 432, "line")
        picture.label(x + 12, 30, title, size=16)
        picture.label(x + 12, 428, packages, "faint", size=SMALL)
    box(picture, 28, 44, 186, "sbatch --coschedule", ("what users type",), 0)
    box(picture, 28, 180, 186, "coschedreport", ("what sharing did",), 0)
    box(picture, 28, 316, 186, "coschedeval, -sim, -plot", ("try it without Slurm",), 0)
    box(picture, 262, 44, 236, "slurmctld", ("job_submit.lua shapes jobs",), 1)
    box(picture, 262, 180, 236, "slurmdbd", ("a record of each job",), 1)
    box(picture, 262, 316, 236, "coschedhistory", ("what earlier runs were like",), 1)
    box(picture, 546, 44, 326, "slurmd, slurmstepd",
        ("spank_cosched.so sets the job's environment",),
        1)
    y = box(picture, 546, 124, 326, "coschedd, root with few rights",
            ("observes, predicts, divides cores",
                "coschedd-superv: undoes what a killed agent left",
             "coschedd-slurm: the only one with libslurm"), 2)
    box(picture, 546, y + 24, 326, "job: any OpenMP program",
        ("libgomp (cooperative) by LD_AUDIT",), 4)
    box(picture, 546, y + 96, 326, "cosched-exporter, own user", ("metrics for Prometheus",), 3)
    arrow(picture, [(214, 68), (262, 68)])
    arrow(picture, [(498, 68), (546, 68)])
    arrow(picture, [(262, 204), (214, 204)])
    arrow(picture, [(380, 316), (380, 228)])
    arrow(picture, [(709, 92), (709, 124)], "announces the job", (719, 113))
    arrow(picture, [(709, y + 24), (709, y)], "two shared pages", (719, y + 17))
    arrow(picture, [(546, 170), (520, 170), (520, 204), (498, 204)])
    picture.label(522, 250, "records", "faint", "middle", SMALL)
    picture.y = 448
    return picture


LIFE = (
    ("Submission", "sbatch --coschedule", "job_submit.lua sends it to the shared partition, where "
     "each job is allocated all cores", 0),
    ("Start", "slurmd, SPANK plugin", "the agent is told of the job; its programs get LD_AUDIT", 1),
    ("Attach", "libgomp in the program", "the first parallel region: two pages are shared with the "
     "agent", 4),
    ("Measuring", "coschedd", "each region is watched at the cores it has, and if that tells too "
     "little, probed", 2),
    ("Sharing", "coschedd", "jobs and regions come and go: cores move within a millisecond, inside "
     "regions too", 2),
    ("Turns", "coschedd", "where sharing does not pay, or jobs outnumber cores: some are parked "
     "for cosched_slice", 2),
    ("End", "slurmstepd, coschedd-slurm", "its cores go to the others; its record goes into "
     "Slurm's accounting", 1),
    ("Later", "coschedhistory, coschedreport", "the next run of the program is known; what sharing "
     "did can be seen", 0))


def life():
    """Life of a job."""
    picture = svgchart.Picture("Life of a job", "; ".join(
        f"{name}, by {who}: {what}" for name, who, what, _ in LIFE) + ".", width=WIDTH)
    y = 8
    for i, (name, who, what, colour) in enumerate(LIFE):
        picture.rect(16, y, 868, 46, "idle")
        picture.rect(16, y, 5, 46, f"c{colour}")
        picture.label(32, y + 20, f"{i + 1}  {name}", size=TEXT)
        picture.label(32, y + 38, who, "faint", size=SMALL)
        picture.label(250, y + 28, what, size=SMALL)
        if i + 1 < len(LIFE):
            arrow(picture, [(40, y + 46), (40, y + 58)])
        y += 58
    picture.y = y - 4
    return picture


def model():
    """The model on one page."""
    picture = svgchart.Picture(
        "The model on one page", "Counters or work at several numbers of cores give a profile of "
        "each region: its rate of requests to each NUMA node. A closed network with a class for "
        "each job and a station for each controller and link predicts the speed of each job for a "
        "division. A search compares divisions by the policy's aim; rules keep it fair and calm.",
        width=WIDTH)
    box(picture, 16, 8, 270, "1  Measure", ("LLC misses per CPU time, or",
                                           "else work at two numbers of cores"), 2)
    box(picture, 316, 8, 270, "2  Profile of a region", ("lambda: requests per us of CPU time",
                                                        "to each NUMA node; rho = lambda / mu"), 0)
    box(picture, 616, 8, 268, "3  Machine", ("1 / mu: service time of each",
        "controller and link"), 1)
    arrow(picture, [(286, 40), (316, 40)])
    box(picture, 146, 126, 610, "4  Closed network, solved by aggregated mean value analysis",
        ("classes: jobs with n cores; stations: controllers and links; visits: where memory is",
         "R = s (1 + Q of the others), X = n / (1 + R), Q = X R: repeated until it stays",
         "speed of a job = cores' worth of computing = its cores less their waiting"), 4)
    arrow(picture, [(451, 74), (451, 126)])
    arrow(picture, [(750, 74), (750, 100), (700, 100), (700, 126)])
    box(picture, 16, 264, 420, "5  Search",
        ("divisions are changed by moves and swaps of cores",
         "while the policy's aim gets better: makespan, fairness,",
         "utilisation (corun, nupoco, greedy, ...)"), 3)
    box(picture, 464, 264, 420, "6  Rules", ("nobody below his fair share by more than the margin;",
                                            "no move for less than the hysteresis;",
                                            "each core has one job"), 3)
    arrow(picture, [(300, 210), (300, 264)], "speeds", (310, 242))
    arrow(picture, [(260, 264), (260, 210)], "a division?", (250, 242), "end")
    arrow(picture, [(436, 300), (464, 300)])
    picture.label(16, 376,
        "Cores move, the next measurements say how right it was: prediction error "
                  "in status, metrics and trace.", "faint", size=SMALL)
    picture.y = 388
    return picture


if __name__ == "__main__":
    DRAWN = {"hosts": hosts, "life": life, "model": model}
    if len(sys.argv) == 3 and sys.argv[1] in DRAWN:
        svgchart.write(sys.argv[2], svgchart.document([DRAWN[sys.argv[1]]()]))
    else:
        sys.exit(__doc__.partition("\n\n")[2])
