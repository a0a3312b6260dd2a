# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Pictures of jobs, as SVG: cores over time, and how long each took.

A picture names colours by class only; style() says what they are, so that a
page can have them lighter or darker.  Every mark has its text in a <title>, and
no meaning is in a colour alone.
"""

import math
import time
from xml.sax.saxutils import escape

import corechart

# Okabe and Ito's colours: told apart by colour-blind eyes and in grey print.
# With each, what can be read on it.
COLOURS = (("#0072b2", "#ffffff"), ("#e69f00", "#000000"),
           ("#009e73", "#000000"), ("#cc79a7", "#000000"),
           ("#56b4e9", "#000000"), ("#d55e00", "#000000"),
           ("#f0e442", "#000000"), ("#a0a0a0", "#000000"))
LIGHT = {"back": "#ffffff", "text": "#1a1a1a", "faint": "#5e5e5e",
         "line": "#8a8a8a", "idle": "#ececec"}
DARK = {"back": "#16191d", "text": "#e8e8e8", "faint": "#a9a9a9",
        "line": "#767676", "idle": "#2b3036"}

WIDTH, LEFT, RIGHT = 960, 120, 24
LANE, LANE_GAP = 96, 16     # height of a node
BAR, BAR_STEP = 16, 24
MOST_JOBS = 300             # drawn; more cannot be told apart
MOST_NODES = 24
MOST_SEGMENTS = 20000       # of a trace
CHARACTER = 6.6             # mean width in pixels at 12 px

UNITS = ((1, "seconds"), (60, "minutes"), (3600, "hours"), (86400, "days"))


def style(colours, indent=""):
    """CSS for the classes of a picture; COLOURS are LIGHT or DARK."""
    rules = [f".back {{ fill: {colours['back']} }}",
             f".text {{ fill: {colours['text']} }}",
             f".faint {{ fill: {colours['faint']} }}",
             f".line {{ stroke: {colours['line']}; fill: none }}",
             f".alone {{ stroke: {colours['text']}; stroke-width: 2 }}",
             f".idle {{ fill: {colours['idle']} }}",
             f".wait {{ fill: none; stroke: {colours['line']}; "
             "stroke-dasharray: 3 2 }",
             f".job {{ stroke: {colours['text']}; stroke-width: 0.5 }}"]
    for i, (fill, on) in enumerate(COLOURS):
        rules += [f".c{i} {{ fill: {fill} }}", f".on{i} {{ fill: {on} }}"]
    return "\n".join(indent + rule for rule in rules)


class Picture:
    """Marks, and how high they reach."""

    def __init__(self, title, text):
        self.title, self.text = title, text
        self.parts, self.y = [], 8

    def rect(self, x, y, width, height, classes, title=""):
        body = f"><title>{escape(title)}</title></rect>" if title else "/>"
        self.parts.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0):.2f}" '
            f'height="{max(height, 0):.2f}" class="{classes}"{body}')

    def label(self, x, y, text, classes="text", anchor="start", size=12):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" '
            f'font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, x1, y1, x2, y2, classes="line"):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
                          f'y2="{y2:.1f}" class="{classes}"/>')

    def axis(self, y, length, begin=None, what=""):
        """Time below the marks, LENGTH seconds; BEGIN is when it starts."""
        unit, name = max((u for u in UNITS if length / u[0] >= 3),
                         default=UNITS[0])
        scale = plot_width() / length
        self.line(LEFT, y, LEFT + plot_width(), y)
        for tick in corechart.ticks(length / unit):
            x = LEFT + tick * unit * scale
            self.line(x, y, x, y + 5)
            self.label(x, y + 18, f"{tick:g}", anchor="middle")
        if begin is not None:
            what = time.strftime("since %Y-%m-%d %H:%M:%S %Z",
                                 time.localtime(begin))
        self.label(LEFT + plot_width() / 2, y + 36, f"{name} {what}".strip(),
                   "faint", "middle")
        self.y = y + 48

    def svg(self, identity):
        """The element, for a page.  IDENTITY is unique in it."""
        return "\n".join([
            f'<svg viewBox="0 0 {WIDTH} {self.y:g}" width="{WIDTH}" '
            f'height="{self.y:g}" role="img" '
            f'aria-labelledby="{identity}-t {identity}-d" '
            f'font-family="system-ui, Helvetica, Arial, sans-serif">',
            f'<title id="{identity}-t">{escape(self.title)}</title>',
            f'<desc id="{identity}-d">{escape(self.text)}</desc>',
            *self.parts, "</svg>"])


def document(pictures):
    """PICTURES below each other as one SVG file."""
    y, parts = 0, []
    for number, picture in enumerate(pictures):
        parts.append(f'<text x="24" y="{y + 30}" class="text" font-size="16" '
                     f'font-weight="bold">{escape(picture.title)}</text>')
        parts.append(f'<g transform="translate(0 {y + 40})">')
        parts += picture.svg(f"p{number}").splitlines()
        parts.append("</g>")
        y += picture.y + 56
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{y:g}" viewBox="0 0 {WIDTH} {y:g}" '
        'font-family="Helvetica, Arial, sans-serif">',
        f"<style>\n{style(LIGHT)}\n</style>",
        f'<rect width="{WIDTH}" height="{y:g}" class="back"/>', *parts,
        "</svg>", ""])


def plot_width():
    return WIDTH - LEFT - RIGHT


def fitting(text, width):
    """TEXT cut to WIDTH pixels."""
    room = int(width / CHARACTER)
    return text if len(text) <= room else text[:max(room - 1, 0)] + "…"


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
        picture.label(LEFT, 30, "no job of these has run and ended", "faint")
        picture.y = 44
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
    picture.axis(y - LANE_GAP + 4, length, begin)
    return picture


def _lane(picture, title, jobs, colours, begin, length, y):
    """One node: jobs upon each other, as high as their mean cores."""
    spans = _stack(jobs)
    cores = max((j.alloc_cpus or 1 for j in jobs), default=1)
    top = max([cores, *(s[3] + s[4] for s in spans)])
    scale, step = plot_width() / length, LANE / top
    picture.rect(LEFT, y, plot_width(), LANE, "idle")
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
    segments = corechart.read_trace(trace)
    by_number = {j.raw: j for j in jobs}
    mine = corechart.select(segments, by_number) or \
        corechart.select(segments, {s.job for s in segments})
    picture = Picture(
        f"CPUs over time ({trace})",
        "Which job had which CPU, from the node agent's trace. Each bar says "
        "job, CPU and time." + ("" if len(mine) <= MOST_SEGMENTS else
                                f" Only the first {MOST_SEGMENTS} changes are "
                                "drawn."))
    if not mine:
        picture.label(LEFT, 30, "nobody had a CPU in this trace", "faint")
        picture.y = 44
        return picture
    mine = sorted(mine, key=lambda s: s.start)[:MOST_SEGMENTS]
    cpus = sorted({s.cpu for s in mine})
    numbers = sorted({s.job for s in mine}, key=lambda j: (len(j), j))
    colours = {job: i % len(COLOURS) for i, job in enumerate(numbers)}
    _legend(picture, numbers, by_number, colours)
    y, step = picture.y + 8, min(28, max(5, 320 / len(cpus)))
    length = max(s.end for s in mine)
    row = {cpu: y + i * step for i, cpu in enumerate(cpus)}
    every = math.ceil(13 / step)
    for cpu in cpus:
        picture.rect(LEFT, row[cpu], plot_width(), step * 0.86, "idle")
    for cpu in cpus[::every]:
        picture.label(LEFT - 8, row[cpu] + step * 0.43 + 4, f"CPU {cpu}",
                      anchor="end")
    for s in mine:
        name = visible_name(by_number[s.job]) if s.job in by_number \
            else f"job {s.job}"
        scale = plot_width() / length
        picture.rect(LEFT + s.start * scale, row[s.cpu],
                     max(0.4, (s.end - s.start) * scale), step * 0.86,
                     f"c{colours[s.job]}", f"{name} on CPU {s.cpu}: "
                     f"{s.start:.3f} s to {s.end:.3f} s")
    picture.axis(y + step * len(cpus) + 4, length,
                 what="since the first allotment")
    return picture


def _legend(picture, numbers, by_number, colours):
    x, y = LEFT, 16
    for number in numbers[:MOST_JOBS]:
        name = visible_name(by_number[number]) if number in by_number \
            else f"job {number}"
        width = CHARACTER * len(name) + 36
        if x + width > WIDTH - RIGHT and x > LEFT:
            x, y = LEFT, y + 20
        picture.rect(x, y - 10, 12, 12, f"job c{colours[number]}")
        picture.label(x + 17, y, name)
        x += width
    picture.y = y + 6


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
        picture.label(LEFT, 30, "no job of these has ended after a second or "
                      "more", "faint")
        picture.y = 44
        return picture
    colours = colours_of(drawn)
    scale, y = plot_width() / longest, 8
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
            picture.line(x, y - 3, x, y + BAR + 3, "alone")
        y += BAR_STEP
    picture.axis(y, longest)
    return picture


def pictures(jobs, traces):
    """All pictures of JOBS."""
    return [*(cpus_over_time(trace, jobs) for trace in traces),
            cores_over_time(jobs), turnarounds(jobs)]
