# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What sharing a node gained: the measures of the field.

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

from plainclass import dataclass


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
    recorded_s: "int | None" = None   # turnaround by Slurm's accounting
    round: int = 1                  # all mixes and modes are run several times

    @property
    def turnaround(self):
        return self.finished - self.submitted


def select(runs, mix, mode, number=None):
    """Those of MIX in MODE; of round NUMBER only, if it is given."""
    return [r for r in runs if (r.mix, r.mode) == (mix, mode) and number in (None, r.round)]


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


def hmean(runs, alone):
    """RUNS of one round; ALONE is {job: seconds alone}."""
    return hmean_speedup([r.turnaround for r in runs], [alone[r.job] for r in runs])
