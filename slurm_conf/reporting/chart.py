# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Pictures of jobs: cores over time, and how long each took."""

import time

import coretrace
from svgchart import COLOURS, CHARACTER, LEFT, RIGHT, WIDTH, Picture, cores, \
    fitting, nothing, time_axis

LANE, LANE_GAP = 96, 16     # height of a node
BAR, BAR_STEP = 16, 24
MOST_JOBS = 300             # drawn; more cannot be told apart
MOST_NODES = 24
PLOT = WIDTH - LEFT - RIGHT


def visible_name(job):
    name = "".join(c if c.isprintable() else "?" for c in job.name or "")
    return f"{job.job} {name}".strip()


def colours_of(jobs):
    """job key -> number of its colour, by the order of submission."""
    ordered = sorted(jobs, key=lambda j: (j.submit or 0, len(j.raw), j.raw))
    return {job.key: i % len(COLOURS) for i, job in enumerate(ordered)}


# ---- cores over time, from the accounting ----------------------------------------

def cores_over_time(jobs):
    """Who had how many cores of each node, on average over the job."""
    ran = [j for j in jobs if j.start is not None and j.end is not None
           and j.end > j.start and j.nodes]
    places = {}
    for job in ran[-MOST_JOBS:]:
        places.setdefault((job.cluster, job.nodes), []).append(job)
    picture = Picture(
        "Mean cores over time",
        "For each node, how many cores each job had on average, from its start "
        "to its end. The table of jobs has the numbers." +
        ("" if len(ran) <= MOST_JOBS else
         f" Only the last {MOST_JOBS} of {len(ran)} jobs are drawn.") +
        ("" if len(places) <= MOST_NODES else
         f" Only the first {MOST_NODES} of {len(places)} nodes are drawn."))
    if not places:
        nothing(picture, "no job of these has run and ended")
        return picture
    shown = sorted(places.items())[:MOST_NODES]
    drawn = [job for _, members in shown for job in members]
    begin = min(j.start for j in drawn)
    length = max(j.end for j in drawn) - begin
    colours = colours_of(drawn)
    several = len({cluster for (cluster, _), _ in shown}) > 1
    y = 8
    for (cluster, nodes), members in shown:
        _lane(picture, f"{cluster} {nodes}" if several else nodes, members,
              colours, begin, length, y)
        y += LANE + LANE_GAP
    picture.y = y - LANE_GAP + 4
    time_axis(picture, LEFT, WIDTH - RIGHT, length, time.strftime(
        "since %Y-%m-%d %H:%M:%S %Z", time.localtime(begin)))
    return picture


def _lane(picture, title, jobs, colours, begin, length, y):
    """One node: jobs upon each other, as high as their mean cores."""
    spans = _stack(jobs)
    cores = max((j.alloc_cpus or 1 for j in jobs), default=1)
    top = max([cores, *(s[3] + s[4] for s in spans)])
    scale, step = PLOT / length, LANE / top
    picture.rect(LEFT, y, PLOT, LANE, "idle")
    picture.label(LEFT - 8, y + 14, fitting(title, LEFT - 16), anchor="end")
    picture.label(LEFT - 8, y + 30, "1 core" if cores == 1 else f"{cores} cores",
                  "faint", "end")
    labelled = set()
    for job, start, end, base, height in spans:
        number = colours[job.key]
        x, width = LEFT + (start - begin) * scale, (end - start) * scale
        bottom = y + LANE - base * step
        picture.rect(x, bottom - height * step, width, height * step,
                     f"job c{number}" if job.mean_cores else "wait",
                     _told(job))
        text = visible_name(job)
        if job.key not in labelled and height * step > 13 and \
                len(text) * CHARACTER < width - 6:
            picture.label(x + 3, bottom - height * step / 2 + 4, text,
                          f"on{number}" if job.mean_cores else "text")
            labelled.add(job.key)


def _stack(jobs):
    """(job, start, end, base, height) of pieces during which the jobs below
    stay the same; a job whose cores are not known is half a core high."""
    events = sorted({t for j in jobs for t in (j.start, j.end)})
    ordered = sorted(jobs, key=lambda j: j.start)
    pieces, active, next_job = {}, [], 0
    for start, end in zip(events, events[1:]):
        while next_job < len(ordered) and ordered[next_job].start <= start:
            active.append(ordered[next_job])
            next_job += 1
        active = [j for j in active if j.end > start]
        base = 0
        for job in active:
            height = job.mean_cores or 0.5
            before = pieces.get(job.key)
            if before and before[-1][2:4] == (start, base):
                job_start = before.pop()[1]
            else:
                job_start = start
            pieces.setdefault(job.key, []).append(
                (job, job_start, end, base, height))
            base += height
    return [piece for mine in pieces.values() for piece in mine]


def _told(job):
    """What the pointer tells of a job."""
    cores = "cores not known" if not job.mean_cores else \
        f"{job.mean_cores:.2f} cores on average"
    return f"{visible_name(job)}: {cores}, {job.run_s} s"


# ---- cores over time, from a trace -----------------------------------------------

def cpus_over_time(trace, jobs):
    """Which job had which CPU when: TRACE is the path of the agent's trace.
    JOBS choose; if none of them is in it, all of it is drawn."""
    segments = coretrace.read(trace)
    by_number = {j.raw: j for j in jobs}
    mine = coretrace.select(segments, by_number) or \
        coretrace.select(segments, None)
    picture = Picture(
        f"CPUs over time ({trace})",
        "Which job had which CPU, from the node agent's trace. Each bar says "
        "job, CPU and time.")
    there = {s.job for s in mine} & set(by_number)
    cores(picture, mine, {job: visible_name(by_number[job])
                          for job in sorted(there, key=lambda j: (len(j), j))})
    return picture


# ---- how long each took ----------------------------------------------------------

def turnarounds(jobs):
    """A bar for each job: waiting, running, and its run time alone."""
    ended = [j for j in jobs if j.turnaround_s is not None]
    drawn = ended[-MOST_JOBS:]
    picture = Picture(
        "Turnaround",
        "For each job how long it waited (dashed) and ran (filled); a thick "
        "line marks how long it would have taken from its start with the node "
        "for itself, where that is known." +
        ("" if len(ended) <= MOST_JOBS else
         f" Only the last {MOST_JOBS} of {len(ended)} jobs are drawn."))
    longest = max((max(j.turnaround_s, (j.wait_s or 0) + (j.alone_s or 0))
                   for j in drawn), default=0)
    if not longest:
        nothing(picture, "no job of these has ended after a second or more")
        return picture
    colours = colours_of(drawn)
    scale, y = PLOT / longest, 8
    for job in drawn:
        waited = job.turnaround_s - (job.run_s or 0)
        number = colours[job.key]
        picture.label(LEFT - 8, y + 12, fitting(visible_name(job), LEFT - 12),
                      anchor="end")
        told = f"{visible_name(job)}: waited {waited} s, " \
               f"ran {job.run_s or 0} s"
        if job.alone_s:
            told += f", alone {job.alone_s:g} s"
        picture.rect(LEFT, y, waited * scale, BAR, "wait", told)
        picture.rect(LEFT + waited * scale, y, (job.run_s or 0) * scale, BAR,
                     f"job c{number}", told)
        if job.alone_s:
            x = LEFT + (waited + job.alone_s) * scale
            picture.line([(x, y - 3), (x, y + BAR + 3)], "alone")
        y += BAR_STEP
    picture.y = y
    time_axis(picture, LEFT, WIDTH - RIGHT, longest, "")
    return picture


def pictures(jobs, traces):
    """All pictures of JOBS."""
    return [*(cpus_over_time(trace, jobs) for trace in traces),
            cores_over_time(jobs), turnarounds(jobs)]
