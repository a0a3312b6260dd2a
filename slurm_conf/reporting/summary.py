# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What is said in words below a table of jobs."""

from reporting.listing import (has_energy, jobs_named, notes, printable,
                               with_error)

ENERGY = ("* estimated: the job's share of its packages' energy; EDP is energy "
          "times run time")
# Programs whose run alone is named before the rest is counted.
NAMED = 8


def of_mix(mix, days):
    """Lines on a mix: makespan, core-seconds, what sharing gained."""
    lines = []
    if mix.not_ended:
        lines.append("makespan: not known before the end of " +
                     jobs_named(mix.not_ended))
    elif mix.makespan_s is not None:
        lines.append(f"makespan of the {len(mix.jobs)} jobs: "
                     f"{mix.makespan_s} s, total turnaround "
                     f"{mix.total_turnaround_s} s")
    lines += core_seconds(mix.jobs, mix.node_core_s)
    lines += _gain(mix)
    lines += alone(mix.jobs, days)
    return lines


def core_seconds(jobs, node_core_s=None):
    """What the jobs held of what was allocated to them."""
    both = [(j.core_s, j.alloc_core_s) for j in jobs
            if j.core_s is not None and j.alloc_core_s]
    if not both:
        return []
    held, allocated = (sum(column) for column in zip(*both))
    text = f"core-seconds: {held:.0f} held of {allocated:.0f} allocated " \
           f"({held / allocated:.0%})"
    if len(both) < len(jobs):
        text += f", of the {len(both)} job{'s' if len(both) > 1 else ''} " \
                "where both are known"
    elif node_core_s:
        text += f"; the nodes had {node_core_s:.0f} meanwhile"
    return [text]


def _gain(mix):
    """Sharing relative to one after the other, and to native time sharing."""
    lines, words = [], []
    if mix.in_turn_s and mix.makespan_s:
        change = mix.makespan_s / mix.in_turn_s - 1
        lines.append(
            f"alone, one after the other: {mix.in_turn_s:.0f} s; the makespan is "
            f"{abs(change):.0%} {'longer' if change > 0 else 'shorter'}")
    if mix.hmean is not None:
        words.append("Hmean " + with_error(mix.hmean, mix.hmean_error))
    if mix.ntt is not None:
        words.append(
            f"NTT {with_error(mix.ntt, mix.ntt_error)}, normalised turnaround "
            + with_error(mix.normalised_turnaround,
                         mix.normalised_turnaround_error) +
            f" (native: {jobs_named([j.job for j in mix.native.jobs])})")
    return lines + ([", ".join(words)] if words else [])


def alone(jobs, days):
    """By what the slowdowns are, and of which jobs they are not known."""
    runs, unknown, estimated = {}, [], False
    for job in jobs:
        if job.alone_by == "run" and job.alone_job == job.job:
            continue        # that it was alone stands in the table
        if job.alone_by == "run":
            runs[job.alone_job] = f"{job.name} {job.alone_s:g} s " \
                                  f"(job {job.alone_job})"
        elif job.alone_by == "estimate":
            estimated = True
        elif job.record is not None and job.ended:
            unknown.append(job.job)
    lines = []
    if runs:
        some = list(runs.values())
        more = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
        lines.append("slowdown: against the best run alone: " +
                     printable(", ".join(some[:NAMED])) + more)
    if estimated:
        lines.append("slowdown: ~ is against the agent's estimate of the time "
                     "alone")
    if unknown:
        lines.append(f"slowdown: not known of {jobs_named(unknown)}: no run of "
                     f"its program alone within {days} days (--alone, "
                     "--history)")
    return lines


def of_jobs(jobs, mix, days):
    """All that is said below the table of JOBS; MIX: they are one."""
    parts = []
    if mix is not None:
        parts.append(of_mix(mix, days))
    elif len(jobs) > 1:
        parts.append([*core_seconds(jobs), *alone(jobs, days)])
    else:
        parts.append(alone(jobs, days))
    if has_energy(jobs):
        parts.append([ENERGY])
    parts.append(notes(jobs))
    return "".join("\n" + "\n".join(lines) + "\n" for lines in parts if lines)
