/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Time sharing slice by slice: what timeshare.h is held to. */

#include "tests/simulator/timeslices.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "simulator/random.h"

#define MOST_JOBS 8
#define NOBODY ((size_t)-1)

enum thread_state { COMPUTES, SPINS, SLEEPS };

struct thread {
    enum thread_state state;
    double left;     /* core time until it is done, or has spun enough */
    double had;      /* virtual run time */
};

struct core {
    struct thread thread[MOST_JOBS];
    size_t current;
    double since;     /* the current one's numbers are of this time */
    double slice_end;
    double next;      /* time of the next event here */
};

struct barrier {
    size_t arrived;
    double count; /* barriers passed, after the warm-up */
};

struct run {
    const struct timeslices_input *input;
    struct core *core;
    struct barrier barrier[MOST_JOBS];
    struct random random;
    double now;
};

static bool ready(const struct thread *t)
{
    return t->state != SLEEPS;
}

/* How many are ready on CORE. */
static size_t queue(const struct run *run, const struct core *core)
{
    size_t n = 0;

    for (size_t j = 0; j < run->input->count; j++)
        n += ready(&core->thread[j]);
    return n;
}

/* Bring the current thread's numbers of CORE up to now. */
static void advance(const struct run *run, struct core *core)
{
    double passed = run->now - core->since;

    core->since = run->now;
    if (core->current == NOBODY)
        return;
    core->thread[core->current].left -= passed;
    core->thread[core->current].had += passed;
}

static void plan(const struct run *run, struct core *core)
{
    core->next = INFINITY;
    if (core->current == NOBODY)
        return;
    core->next = run->now + fmax(0, core->thread[core->current].left);
    if (queue(run, core) > 1)
        core->next = fmin(core->next, fmax(run->now, core->slice_end));
}

/* Ticks, interrupts and others make slices differ, so that the phases of cores
 * drift: without it two cores may stay opposite for ever. */
static double slice(struct run *run)
{
    return run->input->params->slice_s *
           (0.75 + 0.5 * random_uniform(&run->random));
}

/* Let the thread run on CORE that has had least, if any. */
static void pick(struct run *run, struct core *core)
{
    const struct timeshare_params *p = run->input->params;
    size_t best = NOBODY, before = core->current;

    for (size_t j = 0; j < run->input->count; j++)
        if (ready(&core->thread[j]) &&
            (best == NOBODY || core->thread[j].had < core->thread[best].had))
            best = j;
    core->current = best;
    core->slice_end = run->now + slice(run);
    if (best != before && best != NOBODY)
        core->thread[best].left += p->switch_s;
    plan(run, core);
}

static double part(struct run *run, size_t job)
{
    const struct timeslices_job *j = &run->input->jobs[job];

    return j->gap_s *
           (1 + j->imbalance * (2 * random_uniform(&run->random) - 1));
}

/* The thread of JOB on CORE, which slept, is ready again. */
static void wake(struct run *run, struct core *core, size_t job)
{
    const struct timeshare_params *p = run->input->params;
    struct thread *t = &core->thread[job];
    double least = INFINITY;

    for (size_t j = 0; j < run->input->count; j++)
        if (j != job && ready(&core->thread[j]))
            least = fmin(least, core->thread[j].had);
    if (isfinite(least))
        t->had = fmax(t->had, least - p->slice_s);
    t->left = part(run, job) + p->wake_s;
    t->state = COMPUTES;
    if (core->current == NOBODY ||
        t->had < core->thread[core->current].had - p->slice_s / 3)
        pick(run, core);
    else
        plan(run, core);
}

/* All of JOB are at the barrier. */
static void release(struct run *run, size_t job)
{
    run->barrier[job].arrived = 0;
    run->barrier[job].count += run->now > run->input->time_s * 0.1;
    for (size_t c = 0; c < run->input->cores; c++) {
        struct core *core = &run->core[c];
        struct thread *t = &core->thread[job];

        advance(run, core);
        if (t->state == SLEEPS) {
            wake(run, core, job);
            continue;
        }
        t->state = COMPUTES;
        t->left = part(run, job);
        plan(run, core);
    }
}

/* What was planned on CORE happens. */
static void happen(struct run *run, struct core *core)
{
    size_t job = core->current;
    struct thread *t = &core->thread[job];
    bool spins = run->input->params->spin_s > 0;

    advance(run, core);
    if (t->left > 1e-12) {
        pick(run, core); /* its slice is over */
        return;
    }
    if (t->state == COMPUTES) {
        t->state = spins ? SPINS : SLEEPS;
        t->left = run->input->params->spin_s;
        if (++run->barrier[job].arrived == run->input->cores) {
            release(run, job);
            return;
        }
    } else {
        t->state = SLEEPS;
    }
    if (t->state == SLEEPS)
        pick(run, core);
    else
        plan(run, core);
}

static void begin(struct run *run)
{
    for (size_t c = 0; c < run->input->cores; c++) {
        struct core *core = &run->core[c];
        core->current = NOBODY;
        for (size_t j = 0; j < run->input->count; j++)
            core->thread[j] = (struct thread){
                COMPUTES, part(run, j),
                random_uniform(&run->random) * run->input->params->slice_s};
        pick(run, core);
        core->slice_end *= random_uniform(&run->random);
        plan(run, core);
    }
}

enum model_status timeslices_run(const struct timeslices_input *input,
                                 double *speed)
{
    struct run run = {.input = input};

    if (input->count == 0 || input->count > MOST_JOBS || input->cores == 0 ||
        !(input->time_s > 0) || !(input->params->slice_s > 0))
        return MODEL_EINVAL;
    for (size_t j = 0; j < input->count; j++)
        if (!(input->jobs[j].gap_s > 0) || !(input->jobs[j].imbalance >= 0) ||
            input->jobs[j].imbalance > 1)
            return MODEL_EINVAL;
    run.core = calloc(input->cores, sizeof(*run.core));
    if (!run.core)
        return MODEL_ENOMEM;
    random_seed(&run.random, input->seed);
    begin(&run);
    while (run.now < 1.1 * input->time_s) {
        struct core *first = run.core;
        for (size_t c = 1; c < input->cores; c++)
            if (run.core[c].next < first->next)
                first = &run.core[c];
        run.now = first->next;
        happen(&run, first);
    }
    for (size_t j = 0; j < input->count; j++)
        speed[j] = run.barrier[j].count * input->jobs[j].gap_s *
                   (double)input->cores / input->time_s;
    free(run.core);
    return MODEL_OK;
}
