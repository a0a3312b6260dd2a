/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whose threads to look at in which epoch. */

#include "node_agent/core/affinity.h"

#include "common/log.h"
#include "protocol/cpulist.h"

size_t affinity_move_strays(struct enforcer *enforcer, struct job *job)
{
    const struct cosched_cpuset *cpus =
        cpuset_empty(&job->cpus) ? &job->target : &job->cpus;

    if (cpuset_empty(cpus))
        return 0;
    size_t moved = enforcer_move_strays(enforcer, job, cpus);
    if (moved)
        log_debug("job %u: moved %zu threads that were elsewhere", job->id,
                  moved);
    return moved;
}

void affinity_hold(struct enforcer *enforcer, struct job *job)
{
    struct cosched_cpuset cpus = job->cpus;

    cpuset_or(&cpus, &job->lent);
    if (job->unpinned)
        enforcer_let_go(enforcer, job);
    else
        enforcer_hold(enforcer, job, &cpus);
}

static bool any_held(const struct job *job)
{
    for (const struct tracked *t = job->tracked; t; t = t->next)
        if (t->held && !t->dead)
            return true;
    return false;
}

static bool has_threads_to_keep(const struct job *job)
{
    return job_live(job) && job_kept(job);
}

/* Of the jobs whose turn it is, the one whose turn was first; or NULL. */
static struct job *next_to_look_at(struct job_table *jobs, uint64_t turn)
{
    struct job *next = NULL;

    for (struct job *j = jobs->first; j; j = j->next) {
        if (!has_threads_to_keep(j))
            continue;
        if (j->unsettled && j->look_at > turn)
            j->look_at = turn;
        if (j->look_at <= turn && (!next || j->look_at < next->look_at))
            next = j;
    }
    return next;
}

static void look_at(struct enforcer *enforcer, struct job *j, uint64_t turn)
{
    bool unsettled = j->unsettled;
    size_t moved = 0;

    j->unsettled = false; /* unless there is more to do */
    if (j->parked) {
        enforcer_park(enforcer, j); /* what was started meanwhile */
    } else if (!cpuset_empty(&j->cpus)) {
        affinity_hold(enforcer, j);
        moved = affinity_move_strays(enforcer, j);
    }
    uint64_t most = j->doing == JOB_PINNED || any_held(j) ? AFFINITY_PAUSE_HELD : AFFINITY_PAUSE;
    j->look_pause = moved || unsettled || j->unsettled ? 1 : 2 * j->look_pause;
    if (j->look_pause > most)
        j->look_pause = most;
    j->look_at = turn + j->look_pause;
}

void affinity_epoch(uint64_t *turn, struct enforcer *enforcer,
                  struct job_table *jobs, uint64_t now_ns)
{
    bool any = false;

    for (struct job *j = jobs->first; j; j = j->next)
        any |= job_live(j);
    if (!any)
        return;
    enforcer_scan(enforcer, jobs, false, now_ns);
    struct job *job = next_to_look_at(jobs, ++*turn);
    if (job)
        look_at(enforcer, job, *turn);
}
