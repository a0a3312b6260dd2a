# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Draws who had which CPU when, and bars beside it, as SVG without libraries.

    segments = corechart.read_trace("ep-cg.trace.json")
    panel = corechart.Panel("ep + cg", segments, bars=[("batch", 16.1), ...])
    open("cores.svg", "w").write(corechart.draw([panel]))

Input is the agent's trace (`coschedctl trace -o FILE`): Chrome trace events in
microseconds, in which a thread called "CPU 3" stands for that CPU and its
complete events ("X"), called "job 17", for the jobs that held it.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

# Okabe and Ito's colours: told apart by colour-blind eyes and in grey print.
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
           "#f0e442", "#000000"]
BACKGROUND, TEXT, FAINT, IDLE = "#ffffff", "#222222", "#767676", "#eeeeee"
STRONG, WEAK = "#444444", "#b8b8b8"     # bars, which belong to no job

WIDTH = 960
MARGIN = 24
LABEL = 64              # left of a plot
BARS = 300              # width of the part with bars, its labels included
BAR_LABEL = 92
TIMELINE_HEIGHT = 176
BAR_HEIGHT, BAR_STEP = 20, 30


class Segment(NamedTuple):
    """CPU belonged to JOB from START to END, in seconds."""
    cpu: int
    start: float
    end: float
    job: str


@dataclass
class Panel:
    """One row of the picture.  `names` says how to call the trace's jobs."""
    title: str
    segments: list
    bars: list = field(default_factory=list)    # (label, seconds)
    names: dict = field(default_factory=dict)   # job as in segments -> name
    bars_title: str = "makespan, seconds"
    highlight: str = "coschedule"               # the bar that stands out


class TraceError(Exception):
    """The file is not a trace of the agent."""


def read_trace(path):
    """All segments of the trace file PATH, by CPU and time."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_trace(json.load(file))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TraceError(f"{path}: not a trace: {error}") from error


def parse_trace(trace):
    """The segments in TRACE, as decoded from JSON."""
    events = trace["traceEvents"]
    cpus = _cpu_tracks(events)
    return sorted(
        Segment(cpus[e["pid"], e["tid"]], e["ts"] / 1e6,
                (e["ts"] + e["dur"]) / 1e6, _job(e["name"]))
        for e in events
        if e["ph"] == "X" and (e["pid"], e["tid"]) in cpus and e["dur"] > 0)


def _cpu_tracks(events):
    """(pid, tid) -> CPU of the tracks that are called "CPU n"."""
    tracks = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            match = re.fullmatch(r"CPU (\d+)", event["args"]["name"])
            if match:
                tracks[event["pid"], event["tid"]] = int(match[1])
    return tracks


def _job(name):
    """"job 17" -> "17"."""
    return name.removeprefix("job ")


def select(segments, jobs):
    """The segments of JOBS, with time counted from the first of them."""
    mine = [s for s in segments if s.job in jobs]
    zero = min((s.start for s in mine), default=0)
    return [s._replace(start=s.start - zero, end=s.end - zero) for s in mine]


def ticks(end, count=8):
    """About COUNT round numbers from 0 to at most END."""
    if end <= 0:
        return [0]
    step = 10 ** math.floor(math.log10(end / count))
    step *= next(k for k in (1, 2, 5, 10) if end / (k * step) <= count)
    return [round(i * step, 9) for i in range(int(end / step + 1e-9) + 1)]


def draw(panels, title="Cores over time"):
    """The whole picture as SVG text."""
    parts, y = [_text(MARGIN, 36, title, size=20, weight="bold")], 56
    for panel in panels:
        drawn, height = _panel(panel, y)
        parts += drawn
        y += height
    height = y + MARGIN / 2
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{height:g}" viewBox="0 0 {WIDTH} {height:g}" '
        f'font-family="Helvetica, Arial, sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        _rect(0, 0, WIDTH, height, BACKGROUND), *parts, "</svg>", ""])


def _panel(panel, y):
    """(elements, height) of a panel whose top is at Y."""
    # In the order of submission, which every panel has in common.
    jobs = sorted({s.job for s in panel.segments},
                  key=lambda job: (len(job), job))
    colours = {job: COLOURS[i % len(COLOURS)] for i, job in enumerate(jobs)}
    right = WIDTH - MARGIN - (BARS if panel.bars else 0)
    parts = [_text(MARGIN, y + 18, panel.title, size=16, weight="bold")]
    parts += _legend(panel, jobs, colours, right, y + 18)
    top = y + 32
    drawn, timeline = _timeline(panel, colours, MARGIN + LABEL, right, top)
    parts += drawn
    bars = 0
    if panel.bars:
        drawn, bars = _bars(panel, right + 28, WIDTH - MARGIN, top)
        parts += drawn
    return parts, max(timeline, bars) + 84


def _legend(panel, jobs, colours, right, y):
    parts, x = [], right
    for job in reversed(jobs):
        name = panel.names.get(job, f"job {job}")
        x -= 7.5 * len(name) + 34
        parts += [_rect(x, y - 11, 13, 13, colours[job]),
                  _text(x + 18, y, name, size=13)]
    return parts


def _timeline(panel, colours, left, right, top):
    cpus = sorted({s.cpu for s in panel.segments})
    if not cpus:
        return [_text(left, top + 20, "no trace", fill=FAINT)], 28
    end = max(s.end for s in panel.segments)
    step = min(34, TIMELINE_HEIGHT / len(cpus))
    scale = (right - left) / end
    every = math.ceil(13 / step)        # label as many CPUs as are readable
    row = {cpu: top + i * step for i, cpu in enumerate(cpus)}
    bar = step * 0.86
    parts = [_rect(left, row[cpu], right - left, bar, IDLE) for cpu in cpus]
    parts += [_text(left - 8, row[cpu] + bar / 2 + 4, f"CPU {cpu}",
                    anchor="end")
              for cpu in cpus[::every]]
    for s in panel.segments:
        name = panel.names.get(s.job, f"job {s.job}")
        parts.append(_rect(
            left + s.start * scale, row[s.cpu],
            max(0.4, (s.end - s.start) * scale), bar, colours[s.job],
            f"{name} on CPU {s.cpu}: {s.start:.3f} s to {s.end:.3f} s"))
    bottom = top + step * len(cpus)
    parts += _axis(left, bottom + 4, scale, end)
    parts.append(_text((left + right) / 2, bottom + 40,
                       "seconds since the first allotment", anchor="middle",
                       fill=FAINT))
    return parts, bottom - top


def _axis(left, y, scale, end):
    parts = [f'<line x1="{left:g}" y1="{y:g}" x2="{left + end * scale:.1f}" '
             f'y2="{y:g}" stroke="{FAINT}"/>']
    for tick in ticks(end):
        x = left + tick * scale
        parts += [f'<line x1="{x:.1f}" y1="{y:g}" x2="{x:.1f}" y2="{y + 5:g}" '
                  f'stroke="{FAINT}"/>',
                  _text(x, y + 18, f"{tick:g}", anchor="middle")]
    return parts


def _bars(panel, left, right, top):
    longest = max(value for _, value in panel.bars) or 1
    start = left + BAR_LABEL
    scale = (right - start - 48) / longest      # room for the number
    parts = []
    for i, (label, value) in enumerate(panel.bars):
        y = top + i * BAR_STEP
        colour = STRONG if label == panel.highlight else WEAK
        parts += [_text(start - 8, y + 15, label, anchor="end"),
                  _rect(start, y, value * scale, BAR_HEIGHT, colour),
                  _text(start + value * scale + 6, y + 15, f"{value:.1f}")]
    height = len(panel.bars) * BAR_STEP
    parts.append(_text(start, top + height + 10, panel.bars_title, fill=FAINT))
    return parts, height


def _rect(x, y, width, height, fill, title=None):
    body = f"><title>{escape(title)}</title></rect>" if title else "/>"
    return (f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" '
            f'height="{height:.2f}" fill={quoteattr(fill)}{body}')


def _text(x, y, text, size=12, anchor="start", weight="normal", fill=TEXT):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
            f'text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{fill}">{escape(text)}</text>')
