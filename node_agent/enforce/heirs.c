/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Processes that were made by held ones, and have the affinity of these. */

#include "node_agent/enforce/heirs.h"

#include <stdlib.h>

#include "common/clock.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/job.h"
#include "node_agent/enforce/job_cgroup.h"
#include "node_agent/enforce/owners.h"
#include "node_agent/enforce/threads.h"

/* Who is widened may have made one more meanwhile; passes until none has. */
#define MAX_PASSES 4

size_t heirs_widen(pid_t pid, uint64_t start, const struct cosched_cpuset *granted)
{
    struct threads *threads = threads_new(pid); /* whoever has the number later */
    struct proc_stat stat;
    size_t moved = 0, work = SIZE_MAX;

    if (threads && proc_read(pid, &stat) == 0 && stat.start == start)
        moved = threads_keep(threads, granted, NULL, false, &work);
    threads_free(threads);
    return moved;
}

/* ---- who is noted ---------------------------------------------------------- */

/* The cgroup of JOB is that of a noted process of it. */
static void find_cgroup(struct job *job, pid_t pid)
{
    static char text[JOB_CGROUP_TEXT];

    if (!job->cgroup && proc_cgroups(pid, text, sizeof(text)) == 0)
        job->cgroup = job_cgroup_find(text, job->id);
}

static void add_noted(const struct ledger_entry *entry, void *jobs)
{
    struct job *job = job_find(jobs, entry->job);
    struct tracked *t;
    struct proc_stat stat;

    if ((!job && !(job = job_add(jobs, entry->job))) || !(t = calloc(1, sizeof(*t))))
        return; /* short of memory: ledger_undo() widens those that are noted */
    job->granted = entry->granted;
    *t = (struct tracked){.pid = entry->pid, .start = entry->start, .next = job->tracked};
    job->tracked = t;
    if (proc_read(t->pid, &stat) == 0 && stat.start == t->start)
        find_cgroup(job, t->pid);
}

/* ---- widening -------------------------------------------------------------- */

/* How many threads of the processes of JOBS, noted or begun since SEEN, were elsewhere. */
static size_t widen_some(struct job_table *jobs, struct proc_table *procs, uint64_t seen)
{
    struct owners owners;
    size_t moved = 0;

    if (proc_table_scan(procs, clock_ns()) < 0 || owners_find(&owners, procs, jobs, false) < 0)
        return 0;
    for (size_t i = 0; i < procs->count; i++) {
        const struct proc_stat *stat = &procs->entry[i].stat;
        const struct owner *o = &owners.of[i];
        if (o->job && (o->tracked || stat->start >= seen))
            moved += heirs_widen(stat->pid, stat->start, &o->job->granted);
    }
    owners_clear(&owners);
    return moved;
}

void heirs_widen_all(const struct ledger *ledger)
{
    struct job_table *jobs = calloc(1, sizeof(*jobs));
    uint64_t seen = ledger_seen(ledger);
    struct proc_table procs = {0};

    if (!jobs)
        return;
    ledger_each(ledger, LEDGER_HELD, add_noted, jobs);
    for (int pass = 0; jobs->first && seen && pass < MAX_PASSES; pass++)
        if (!widen_some(jobs, &procs, seen))
            break;
    while (jobs->first)
        job_remove(jobs, jobs->first);
    proc_table_clear(&procs);
    free(jobs);
}
