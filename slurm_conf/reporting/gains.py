# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What sharing gained, which programs suit each other, and what to change.

*Exclusive use* is what Slurm would do without sharing: on each node one job at a time, in the
order of submission, each for its time alone.  Only mixes count of which all of that is known.

A *pair* is two programs that ran beside each other.  With slowdowns a and b it does 1/a + 1/b of
the work that one job alone on the node does: above 1 sharing pays.
"""

import jobrecord
from reporting import group
from reporting import mix as mixes

PAYS, COSTS = 1.05, 0.95    # work of a pair: clearly more, clearly less than alone
LITTLE = 0.2                # core share of a job that holds few of its cores
ADVICE_MOST = 12            # sentences
NAMES_MOST = 24             # programs in the heat map


# ---- against exclusive use ----------------------------------------------------------

class Comparison:
    """Makespans and turnarounds of some jobs, as they were and with exclusive use."""

    def __init__(self, jobs):
        self.jobs = [j for mix in mixes.connected(jobs) if _known(mix) for j in mix.jobs]
        self.left_out = len(jobs) - len(self.jobs)
        self.shared = self.exclusive = None     # (makespan, mean turnaround, mean wait)
        if self.jobs:
            begin = min(j.submit for j in self.jobs)
            self.shared = _figures(begin, [(j.submit, j.start, j.end) for j in self.jobs])
            self.exclusive = _figures(begin, list(_exclusive(self.jobs)))

    @property
    def makespan(self):
        """Shared by exclusive; below 1 sharing was faster."""
        return self._ratio(0)

    @property
    def turnaround(self):
        return self._ratio(1)

    def _ratio(self, i):
        return round(self.shared[i] / self.exclusive[i], 3) \
            if self.jobs and self.exclusive[i] else None


def _known(mix):
    return mix.complete and mix.in_turn_s is not None and \
        all(j.start is not None for j in mix.jobs)


def _exclusive(jobs):
    """(submit, start, end) of each of JOBS if each node had one at a time."""
    free = {}
    for job in sorted(jobs, key=lambda j: (j.submit, len(j.raw), j.raw)):
        place = job.cluster, job.nodes
        start = max(job.submit, free.get(place, job.submit))
        free[place] = start + job.alone_s
        yield job.submit, start, free[place]


def _figures(begin, times):
    count = len(times)
    return (max(end for _, _, end in times) - begin,
            sum(end - submit for submit, _, end in times) / count,
            sum(start - submit for submit, start, _ in times) / count)


# ---- pairs --------------------------------------------------------------------------

class Pair:
    """Programs ONE and OTHER beside each other, and their mean slowdowns."""

    def __init__(self, one, other, slowdowns):
        self.one, self.other = one, other
        self.slowdowns = slowdowns
        self.work = round(1 / slowdowns[0] + 1 / slowdowns[1], 3)


def slowdowns(jobs):
    """{(program, program beside it): mean slowdown of the first}.  Programs go by their name,
    whoever's they are; of many those with most jobs."""
    counts, found = {}, {}
    for row in group.by_program(jobs):
        counts[row["name"]] = counts.get(row["name"], 0) + row["jobs"]
        for other, value in row["beside"].items():
            found.setdefault((row["name"], other), []).append(value)
    most = set(sorted(counts, key=lambda n: (-counts[n], n))[:NAMES_MOST])
    return {key: round(sum(v) / len(v), 3) for key, v in found.items() if set(key) <= most}


def pairs(jobs):
    """All pairs of which both slowdowns are known, the best first."""
    known = slowdowns(jobs)
    found = [Pair(one, other, (value, known[other, one]))
             for (one, other), value in known.items()
             if one <= other and value > 0 and known.get((other, one), 0) > 0]
    return sorted(found, key=lambda p: (-p.work, p.one, p.other))


# ---- what to change -----------------------------------------------------------------

def advice(jobs, comparison):
    """Sentences, the most important first."""
    found = [*_of_pairs(pairs(jobs)), *_of_pinned(jobs), *_of_requests(jobs), *_of_waits(jobs),
             *_of_unknown(jobs, comparison)]
    if len(found) > ADVICE_MOST:
        rest = len(found) - ADVICE_MOST + 1
        found = [*found[:ADVICE_MOST - 1], f"There are {rest} more such remarks."]
    return found or ["Nothing stands out: no pair of programs does less than one alone, and jobs "
                     "use the cores that they get."]


def _of_pairs(found):
    for pair in reversed(found):
        if pair.work < COSTS:
            yield f"Keep {pair.one} and {pair.other} apart: together they do {pair.work:.0%} of " \
                  "the work of one job alone. Submit one of them without --coschedule, or let " \
                  "partners differ (coschedhistory)."
    best = [p for p in found if p.work > PAYS]
    if best:
        names = ", ".join(f"{p.one} with {p.other} ({p.work:.2f} times one alone)"
                          for p in best[:3])
        yield f"Pairs that pay most: {names}. More of these on the same nodes gain most."


def _collected(jobs, key):
    sets = {}
    for job in jobs:
        if key(job) is not None:
            sets.setdefault((job.name or job.job, key(job)), []).append(job)
    return sorted(sets.items(), key=lambda item: (-len(item[1]), item[0][0]))


def _jobs(count):
    return "1 job" if count == 1 else f"{count} jobs"


def _of_pinned(jobs):
    for (name, why), mine in _collected(
            [j for j in jobs if j.pinned], lambda j: jobrecord.sentence(j.agent.get("follow")) or
            "no program of it attached"):
        yield f"{name} ({_jobs(len(mine))}) is pinned to its cores: {why}. \"Will my program " \
              "follow?\" (docs/follow.md) says what to do."


def _of_requests(jobs):
    def fewer(job):
        best, granted = job.agent.get("best_cores"), job.agent.get("granted")
        return (best, granted) if best and granted and best < granted else None

    for (name, (best, granted)), mine in _collected(jobs, fewer):
        yield f"{name} ({_jobs(len(mine))}) has 95 % of its speed on {best} of {granted} cores: " \
              f"--coschedule=max_cores={best} leaves the others to its partners."
    for (name, _), mine in _collected(
            jobs, lambda j: "serial" if j.program_class == "serial" and
            (j.alloc_cpus or 0) > 1 and (j.core_share or 1) < LITTLE else None):
        yield f"{name} ({_jobs(len(mine))}) runs on one core nearly all of the time: ask for " \
              "one CPU."


def _of_waits(jobs):
    done = [j for j in jobs if j.wait_s is not None and j.busy_s]
    waited, ran = sum(j.wait_s for j in done), sum(j.busy_s for j in done)
    if done and waited > ran:
        yield f"Jobs waited longer than they ran ({waited / len(done):.0f} s and " \
              f"{ran / len(done):.0f} s on average): more nodes in the shared partition, or more " \
              "jobs on each (cosched_max_jobs, OverSubscribe), would shorten that."


def _of_unknown(jobs, comparison):
    names = sorted({j.name or j.job for j in jobs
                    if j.record is not None and j.ended and not j.alone_s})
    if names:
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        yield f"What {shown} would take alone is not known, so {_jobs(comparison.left_out)} " \
              "could not be compared. One run of each without --coschedule tells."
