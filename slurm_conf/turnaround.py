# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What sharing a node gained: the measures of the field, and their table.

A *mix* is a set of jobs submitted together, a *mode* a way to run it.  Of each
job in each mode we know when it was submitted, started and finished.

- turnaround: finished - submitted
- makespan of a mix: last finished - first submitted
- NTT: last finished - first started, relative to native time sharing
- normalised turnaround: total turnaround of the mix, relative to native time
  sharing
- Hmean: harmonic mean of the jobs' speedups against having the node alone
  without waiting (the run time, start to finish, in mode batch)
"""

from dataclasses import dataclass

MODES = ("batch", "native", "passive", "coschedule")
SIMPLE = MODES[:3]      # what one has without this project


@dataclass
class Run:
    """One job of a mix in one mode; times in seconds since the epoch."""
    mix: str
    mode: str
    job: str
    submitted: float
    started: float = 0.0
    finished: float = 0.0
    verified: bool = False
    jobid: str = ""
    recorded_s: int | None = None   # turnaround by Slurm's accounting

    @property
    def turnaround(self):
        return self.finished - self.submitted


def select(runs, mix, mode):
    return [r for r in runs if r.mix == mix and r.mode == mode]


def complete(runs):
    """Have RUNS any members, and did all of them end?"""
    return bool(runs) and all(r.finished for r in runs)


def makespan(runs):
    return max(r.finished for r in runs) - min(r.submitted for r in runs)


def total_turnaround(runs):
    return sum(r.turnaround for r in runs)


def total_time(runs):
    """From the first start to the last end."""
    return max(r.finished for r in runs) - min(r.started for r in runs)


def hmean_speedup(turnarounds, alone):
    """Harmonic mean of alone / turnaround."""
    return len(turnarounds) / sum(t / a for t, a in zip(turnarounds, alone))


def _to_native(measure, runs, mix, mode):
    """None where MODE or native was not measured."""
    mine, native = select(runs, mix, mode), select(runs, mix, "native")
    if not (complete(mine) and complete(native)):
        return None
    return measure(mine) / measure(native)


def ntt(runs, mix, mode):
    return _to_native(total_time, runs, mix, mode)


def normalised_turnaround(runs, mix, mode):
    return _to_native(total_turnaround, runs, mix, mode)


def hmean(runs, mix, mode):
    """None where MODE or batch was not measured."""
    mine, batch = select(runs, mix, mode), select(runs, mix, "batch")
    if not (complete(mine) and complete(batch)):
        return None
    alone = {r.job: r.finished - r.started for r in batch}
    return hmean_speedup([r.turnaround for r in mine],
                         [alone[r.job] for r in mine])


def records(runs):
    """What --json writes."""
    rows = []
    for r in runs:
        ended = select(runs, r.mix, r.mode)
        rows.append({
            "mix": r.mix, "mode": r.mode, "job": r.job,
            "turnaround_s": round(r.turnaround, 3) if r.finished else None,
            "makespan_s": round(makespan(ended), 3) if complete(ended)
            else None,
            "verified": r.verified})
    return rows


HEADINGS = ("mix", "mode", "job", "turnaround", "by sacct", "makespan", "NTT",
            "norm. turnaround", "Hmean", "result")


def table(runs):
    """All runs as text, one line each; what concerns a mix stands once."""
    rows = [HEADINGS]
    before = None
    for r in runs:
        mine = select(runs, r.mix, r.mode)
        first = (r.mix, r.mode) != before
        before = (r.mix, r.mode)
        rows.append((
            r.mix if first else "", r.mode if first else "", r.job,
            f"{r.turnaround:.2f} s" if r.finished else "-",
            "-" if r.recorded_s is None else f"{r.recorded_s} s",
            f"{makespan(mine):.2f} s" if first and complete(mine) else "",
            _ratio(ntt(runs, r.mix, r.mode)) if first else "",
            _ratio(normalised_turnaround(runs, r.mix, r.mode)) if first else "",
            _ratio(hmean(runs, r.mix, r.mode)) if first else "",
            "verified" if r.verified else "WRONG"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    text = []
    for number, row in enumerate(rows):
        cells = [cell.rjust(width) if 3 <= i <= 8 else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        text.append("  ".join(cells).rstrip())
        if number == 0:
            text.append("-" * len("  ".join(cells)))
    return "\n".join(text)


def _ratio(value):
    return "-" if value is None else f"{value:.2f}"


def verdict(runs, mix):
    """Lines that say how co-scheduling does against the best simple way."""
    ours = select(runs, mix, "coschedule")
    if not complete(ours):
        return [f"{mix}: co-scheduling was not measured"]
    lines = []
    for what, measure in (("total turnaround", total_turnaround),
                          ("makespan", makespan)):
        simple = {mode: measure(select(runs, mix, mode)) for mode in SIMPLE
                  if complete(select(runs, mix, mode))}
        if not simple:
            return [f"{mix}: there is nothing to compare with"]
        best = min(simple, key=simple.get)
        mine = measure(ours)
        change = 100 * (mine / simple[best] - 1)
        word = "LOSES" if change > 0 else "wins"
        lines.append(f"{mix}: {what}: co-scheduling {word}: {mine:.2f} s, "
                     f"{abs(change):.1f} % {'more' if change > 0 else 'less'} "
                     f"than the best simple way "
                     f"({best}, {simple[best]:.2f} s)")
    return lines
