# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What is known of programs: how long they take alone, what native sharing does.

Two jobs are runs of the same program if user, name and, where sacct shows the
command line, the script's arguments are the same (job.py).  A run was alone if
it completed and either

- was co-scheduled and shared its node with nobody, or
- was not co-scheduled, and none of the jobs that we know of ran on its node
  meanwhile.

It counts for jobs of the same number of allocated CPUs.  The best is the
shortest: what slows a run down is never the program.
"""

import time

from reporting import accounting
from reporting.job import jobs_of

# Programs of one call of sacct; beyond, all of the users' jobs are asked for.
NAMES_PER_CALL = 200


def was_alone(job, crowd):
    """Had JOB its node for itself?  CROWD: see crowded()."""
    if job.state != "COMPLETED" or not job.busy_s or job.suspended_s:
        return False
    if job.record == "final":
        return job.partners == []
    return job.record is None and job.key not in crowd


def crowded(jobs):
    """Keys of those of JOBS that another ran beside, for more than the second
    that is Slurm's resolution.  A list of nodes counts as one node."""
    places = {}
    for job in jobs:
        if job.start is not None and job.nodes:
            end = job.end or float("inf")
            if end - job.start > 1:
                places.setdefault((job.cluster, job.nodes), []).append(
                    (job.start, end, job.key))
    found = set()
    for runs in places.values():
        runs.sort()
        last = None     # of those seen the one that ends last
        for run in runs:
            if last and min(last[1], run[1]) > run[0] + 1:
                found.update((last[2], run[2]))
            if not last or run[1] > last[1]:
                last = run
    return found


def history(jobs, clusters, days, until_now):
    """Jobs that completed in the DAYS before JOBS, or since, UNTIL_NOW, and are
    runs of the same programs.  JOBS themselves are not among them."""
    wanted = [j for j in jobs if j.program and j.submit is not None]
    if not wanted or days <= 0:
        return []
    first = min(j.submit for j in wanted)
    names = sorted({j.name for j in wanted if "," not in j.name})
    rows = accounting.ask(accounting.Selection(
        users=sorted({j.user for j in wanted}),
        names=names if len(names) <= NAMES_PER_CALL else [],
        start=_sacct_time(first - days * 86400),
        end="now" if until_now else _sacct_time(first),
        clusters=clusters, completed=True, duplicates=False))
    known = {j.key for j in jobs}
    return [j for j in jobs_of(rows) if j.key not in known]


def _sacct_time(epoch_s):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(epoch_s))


def best_alone(jobs):
    """(program, CPUs) -> the shortest of its runs among JOBS that was alone."""
    crowd = crowded(jobs)
    best = {}
    for job in jobs:
        if job.program is None or not was_alone(job, crowd):
            continue
        key = job.program, job.alloc_cpus
        if key not in best or job.busy_s < best[key].busy_s:
            best[key] = job
    return best


def set_alone(jobs, past, named):
    """Tell JOBS how long their programs take alone: by the jobs NAMED on the
    command line if any is a run of the program, else by JOBS and PAST, else by
    the agent's estimate in the record."""
    best = best_alone({j.key: j for j in [*past, *jobs]}.values())
    told = {}
    for job in named:
        if job.program is not None and job.busy_s:
            key = job.program
            if key not in told or job.busy_s < told[key].busy_s:
                told[key] = job
    for job in jobs:
        if job.record is None:
            continue
        run = job.program and (told.get(job.program) or
                               best.get((job.program, job.alloc_cpus)))
        if run:
            job.alone_s, job.alone_by, job.alone_job = run.busy_s, "run", run.job
        elif job.record == "final" and job.agent.get("alone_s"):
            job.alone_s, job.alone_by = job.agent["alone_s"], "estimate"
