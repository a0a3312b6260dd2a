# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Reads the agent's trace: who had which CPU when.

Chrome trace events in microseconds (`coschedctl trace -o FILE`), in which a
thread called "CPU 3" stands for that CPU and its complete events ("X"), called
"job 17", for the jobs that held it.
"""

import json
import re
from collections import namedtuple

# CPU belonged to JOB, a text, from START to END, in seconds.
Segment = namedtuple("Segment", "cpu start end job")


class TraceError(Exception):
    """The file is not a trace of the agent."""


def read(path):
    """All segments of the trace file PATH, by CPU and time."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse(json.load(file))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TraceError(f"{path}: not a trace: {error}") from error


def parse(trace):
    """The segments in TRACE, as decoded from JSON."""
    events = trace["traceEvents"]
    cpus = _cpu_tracks(events)
    return sorted(
        Segment(cpus[e["pid"], e["tid"]], e["ts"] / 1e6,
                (e["ts"] + e["dur"]) / 1e6, re.sub("^job ", "", e["name"]))
        for e in events
        if e["ph"] == "X" and (e["pid"], e["tid"]) in cpus and e["dur"] > 0)


def _cpu_tracks(events):
    """(pid, tid) -> CPU of the tracks that are called "CPU n"."""
    tracks = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            match = re.fullmatch(r"CPU (\d+)", event["args"]["name"])
            if match:
                tracks[event["pid"], event["tid"]] = int(match.group(1))
    return tracks


def select(segments, jobs):
    """The segments of JOBS (None: of all), with time counted from the first of
    them."""
    mine = [s for s in segments if jobs is None or s.job in jobs]
    zero = min((s.start for s in mine), default=0)
    return [s._replace(start=s.start - zero, end=s.end - zero) for s in mine]
