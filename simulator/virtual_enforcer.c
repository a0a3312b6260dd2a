/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The enforcer of the simulated node: moves simulated threads. */

/* It implements node_agent/core/enforcer.h for processes that are not in /proc.  A
 * job has one process, which is its entry in job->tracked. */

#include <stdlib.h>

#include "node_agent/core/enforcer.h"
#include "protocol/cpulist.h"
#include "simulator/vjob.h"

struct enforcer {
    const struct node_options *options;
};

struct enforcer *enforcer_new(struct supervisor *supervisor,
                              const struct node_options *options)
{
    struct enforcer *e = calloc(1, sizeof(*e));

    (void)supervisor;
    if (e)
        e->options = options;
    return e;
}

void enforcer_free(struct enforcer *e)
{
    free(e);
}

void enforcer_scan(struct enforcer *e, struct job_table *jobs, bool force,
                   uint64_t now_ns)
{
    (void)e;
    (void)jobs;
    (void)force;
    (void)now_ns;
}

double enforcer_use(const struct job *job, uint64_t *since_ns)
{
    double use = 0;

    *since_ns = UINT64_MAX; /* now */
    for (struct tracked *t = job->tracked; t; t = t->next)
        if (!vjob_of(t)->process)
            use += vjob_of(t)->busy;
    return use;
}

uint64_t enforcer_cpu_ns(const struct job *job)
{
    double cpu_s = 0;

    for (struct tracked *t = job->tracked; t; t = t->next)
        if (!vjob_of(t)->process)
            cpu_s += vjob_of(t)->cpu_s;
    return (uint64_t)(cpu_s * 1e9);
}

uint64_t enforcer_waited_ns(const struct job *job)
{
    double waited_s = 0;

    for (struct tracked *t = job->tracked; t; t = t->next)
        if (!vjob_of(t)->process)
            waited_s += vjob_of(t)->waited_s;
    return (uint64_t)(waited_s * 1e9);
}

void enforcer_hold(struct enforcer *e, struct job *job,
                   const struct cosched_cpuset *cpus)
{
    (void)e;
    for (struct tracked *t = job->tracked; t; t = t->next) {
        struct vjob *v = vjob_of(t);
        /* What is attached follows its allotment page. */
        if (v->process || cpuset_equal(&v->mask, cpus))
            continue;
        v->mask = *cpus;
        v->changes++;
    }
}

void enforcer_let_go(struct enforcer *e, struct job *job)
{
    enforcer_hold(e, job, &job->granted);
}

size_t enforcer_move_strays(struct enforcer *e, struct job *job,
                            const struct cosched_cpuset *cpus)
{
    size_t moved = 0;

    (void)e;
    for (struct tracked *t = job->tracked; t; t = t->next) {
        struct vjob *v = vjob_of(t);
        struct cosched_cpuset stray = v->mask;
        cpuset_andnot(&stray, cpus);
        if (!v->process || cpuset_empty(&stray))
            continue;
        moved += (size_t)cpuset_count(&stray);
        cpuset_and(&v->mask, cpus);
        if (cpuset_empty(&v->mask))
            v->mask = *cpus;
        v->changes++;
    }
    return moved;
}

void enforcer_park(struct enforcer *e, struct job *job)
{
    (void)e;
    for (struct tracked *t = job->tracked; t; t = t->next)
        vjob_of(t)->stopped = true;
}

void enforcer_unpark(struct enforcer *e, struct job *job)
{
    (void)e;
    for (struct tracked *t = job->tracked; t; t = t->next)
        vjob_of(t)->stopped = false;
}

bool enforcer_thread_lives(const struct sample_thread *thread)
{
    (void)thread;
    return true;
}

bool enforcer_owes(const struct enforcer *e, const struct job *job)
{
    (void)e;
    (void)job;
    return false;
}

bool enforcer_suspended(const struct enforcer *e, const struct job *job, pid_t pid)
{
    (void)e;
    (void)job;
    (void)pid;
    return false;
}

void enforcer_look(struct enforcer *e)
{
    (void)e;
}

void enforcer_release(struct enforcer *e, struct job *job)
{
    enforcer_unpark(e, job);
    tracked_clear(job);
}

void tracked_clear(struct job *job)
{
    job->tracked = NULL;
    number_map_clear(&job->tracked_by_pid);
}
