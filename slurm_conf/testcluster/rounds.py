# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Several rounds of the demo's mixes: medians, ratios with intervals, and what they say."""

import turnaround
from evaluation import intervals

SIMPLE = ("batch", "native", "passive")     # what one has without this project


def of_rounds(measure, runs, mix, mode):
    """{round: MEASURE of the runs of MIX in MODE}, of the rounds in which all of them ended."""
    values = {}
    for number in sorted({r.round for r in runs}):
        mine = turnaround.select(runs, mix, mode, number)
        if turnaround.complete(mine):
            values[number] = measure(mine)
    return values


def median(measure, runs, mix, mode):
    """None where no round is complete."""
    values = of_rounds(measure, runs, mix, mode)
    return intervals.median(list(values.values())) if values else None


def relative(measure, runs, mix, mode, reference="native"):
    """Estimate of the ratio to mode REFERENCE, taken within rounds; None without a common one."""
    mine, other = (of_rounds(measure, runs, mix, m) for m in (mode, reference))
    ratios = [mine[number] / other[number] for number in mine if number in other]
    return intervals.Estimate(ratios) if ratios else None


def alone(runs, mix):
    """{job: median run time with the node to itself}; None where it is not known of all."""
    known = {}
    for r in turnaround.select(runs, mix, "batch"):
        if r.finished:
            known.setdefault(r.job, []).append(r.finished - r.started)
    jobs = {r.job for r in runs if r.mix == mix}
    return {job: intervals.median(known[job]) for job in jobs} if set(known) == jobs else None


def hmean(runs, mix, mode):
    reference = alone(runs, mix)
    return reference and median(lambda mine: turnaround.hmean(mine, reference), runs, mix, mode)


def _job_median(runs, what):
    values = [what(r) for r in runs if r.finished]
    return intervals.median(values) if values else None


def _groups(runs):
    """(mix, mode, job) in the order in which they were run first."""
    return list(dict.fromkeys((r.mix, r.mode, r.job) for r in runs))


def records(runs, segments=()):
    """What --json writes: an entry for each job in each mode, medians first.  SEGMENTS: who had
    which CPU in the last co-scheduled round."""
    rows = []
    for mix, mode, job in _groups(runs):
        mine = [r for r in turnaround.select(runs, mix, mode) if r.job == job]
        makespans = of_rounds(turnaround.makespan, runs, mix, mode)
        ratio = relative(turnaround.makespan, runs, mix, mode)
        rows.append({
            "mix": mix, "mode": mode, "job": job,
            "turnaround_s": _rounded(_job_median(mine, lambda r: r.turnaround)),
            "makespan_s": _rounded(intervals.median(list(makespans.values()))
                                   if makespans else None),
            "verified": all(r.verified for r in mine),
            "runs": [{"round": r.round, "verified": r.verified,
                      "turnaround_s": _rounded(r.turnaround if r.finished else None),
                      "makespan_s": _rounded(makespans.get(r.round))} for r in mine],
            "makespan_to_native": ratio and ratio.record()})
        had = [[s.cpu, _rounded(s.start), _rounded(s.end)] for s in segments
               if s.job in {r.jobid for r in mine}]
        if had:
            rows[-1]["cores"] = had
    return rows


def _rounded(value):
    return None if value is None else round(value, 3)


HEADINGS = ("mix", "mode", "job", "turnaround", "by sacct", "makespan", "NTT",
            "norm. turnaround", "Hmean", "result")


def table(runs):
    """Medians as text, one line a job and mode; what concerns a mix stands once."""
    rows, before = [HEADINGS], None
    for mix, mode, job in _groups(runs):
        mine = [r for r in turnaround.select(runs, mix, mode) if r.job == job]
        recorded = [r.recorded_s for r in mine if r.recorded_s is not None]
        first, before = (mix, mode) != before, (mix, mode)
        rows.append((
            mix if first else "", mode if first else "", job,
            _seconds(_job_median(mine, lambda r: r.turnaround)),
            f"{intervals.median(recorded):g} s" if recorded else "-",
            _seconds(median(turnaround.makespan, runs, mix, mode)) if first else "",
            _ratio(relative(turnaround.total_time, runs, mix, mode)) if first else "",
            _ratio(relative(turnaround.total_turnaround, runs, mix, mode)) if first else "",
            _number(hmean(runs, mix, mode)) if first else "",
            "verified" if all(r.verified for r in mine) else "WRONG"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    text = []
    for number, row in enumerate(rows):
        cells = [cell.rjust(width) if 3 <= i <= 8 else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        text.append("  ".join(cells).rstrip())
        if number == 0:
            text.append("-" * len("  ".join(cells)))
    return "\n".join(text)


def _seconds(value):
    return "-" if value is None else f"{value:.2f} s"


def _number(value):
    return "-" if value is None else f"{value:.2f}"


def _ratio(estimate):
    if estimate is None:
        return "-"
    if estimate.half is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ± {0.5 * (estimate.high - estimate.low):.2f}"


def verdict(runs, mix):
    """One sentence: what co-scheduling gained and lost in MIX, and what is noise."""
    if median(turnaround.makespan, runs, mix, "coschedule") is None:
        return f"{mix}: co-scheduling was not measured"
    simple = {mode: median(turnaround.makespan, runs, mix, mode) for mode in SIMPLE}
    simple = {mode: value for mode, value in simple.items() if value is not None}
    if not simple:
        return f"{mix}: there is nothing to compare with"
    best = min(simple, key=simple.get)
    parts = [intervals.worded(relative(turnaround.makespan, runs, mix, "coschedule", mode), name)
             for mode, name in (("native", "time sharing"), (best, f"the best simple way ({best})"))
             if mode in simple]
    if best == "native":
        parts = [parts[0] + ", which is the best simple way"]
    return f"{mix}: co-scheduling " + " and ".join(parts)
