/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was predicted before, for the same question. */

#include "model/policy/search/past.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy/search/memo.h"

/* More than most decisions of the searching policies compare. */
#define LAYOUTS 1024

/* Of a job's row, behind the rates. */
enum { SYNC, LLC, WEIGHT, RIGID, MOST, ROW };

struct past {
    size_t nodes, memories, max_jobs;
    size_t row;    /* length of one */
    size_t jobs;   /* of the situation; 0: none */
    size_t *pool;  /* [nodes] */
    double *rows;  /* [max_jobs * row] */
    struct memo *memo;
    struct past_layout *layout; /* [LAYOUTS] */
    double *speeds;             /* [LAYOUTS * 2 * max_jobs] theirs */
    size_t *paced;      /* [max_jobs] cores */
    bool paces;         /* they are known */
    double *pace_speed; /* [max_jobs] */
    double *pace_alone; /* [max_jobs] */
    /* Of the speeds alone, NAN: none. */
    double *alone;       /* [max_jobs] */
    double *alone_rows;  /* [max_jobs * row] */
    size_t *alone_group; /* [max_jobs * memories] */
};

struct past *past_new(const struct machine *machine, size_t jobs)
{
    size_t nodes = machine->cpu_nodes;
    struct past *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->nodes = nodes;
    p->memories = machine->mem_nodes;
    p->max_jobs = jobs;
    p->row = 2 * p->memories + ROW;
    p->pool = calloc(nodes + jobs + jobs * p->memories, sizeof(*p->pool));
    p->rows = calloc(2 * jobs * p->row + 3 * jobs, sizeof(*p->rows));
    p->memo = memo_new(nodes * jobs, LAYOUTS);
    p->layout = calloc(LAYOUTS, sizeof(*p->layout));
    p->speeds = calloc(LAYOUTS * 2 * jobs, sizeof(*p->speeds));
    if (!p->pool || !p->rows || !p->memo || !p->layout || !p->speeds) {
        past_free(p);
        return NULL;
    }
    p->paced = p->pool + nodes;
    p->alone_group = p->paced + jobs;
    p->alone_rows = p->rows + jobs * p->row;
    p->alone = p->alone_rows + jobs * p->row;
    p->pace_speed = p->alone + jobs;
    p->pace_alone = p->pace_speed + jobs;
    for (size_t j = 0; j < jobs; j++)
        p->alone[j] = NAN;
    return p;
}

void past_free(struct past *p)
{
    if (!p)
        return;
    memo_free(p->memo);
    free(p->layout);
    free(p->speeds);
    free(p->pool);
    free(p->rows);
    free(p);
}

/* Make TO the same as FROM; true when it was. */
static bool take(void *to, const void *from, size_t size)
{
    if (!memcmp(to, from, size))
        return true;
    memcpy(to, from, size);
    return false;
}

static bool take_job(struct past *p, size_t j, const struct policy_job *job,
                     const struct workload *profile)
{
    double *row = &p->rows[j * p->row], *more = row + 2 * p->memories;
    double now[ROW] = {[SYNC] = profile->sync_share,
                       [LLC] = profile->llc_per_us,
                       [WEIGHT] = job->weight,
                       [RIGID] = job->rigid,
                       [MOST] = (double)job->max_cores};
    bool same = take(row, profile->rate, p->memories * sizeof(*profile->rate));

    return take(more, now, sizeof(now)) && same;
}

void past_forget(struct past *p)
{
    p->jobs = 0;
    p->paces = false;
}

bool past_begin(struct past *p, const struct policy_input *input,
                const size_t *pool, const struct workload *const *profile)
{
    bool same = p->jobs == input->job_count;

    same &= take(p->pool, pool, p->nodes * sizeof(*p->pool));
    if (!same) /* speeds alone do not know the pool */
        for (size_t j = 0; j < p->max_jobs; j++)
            p->alone[j] = NAN;
    for (size_t j = 0; j < input->job_count; j++)
        same &= take_job(p, j, &input->jobs[j], profile[j]);
    if (!same) {
        past_forget(p);
        memo_forget(p->memo, p->nodes * input->job_count);
    }
    p->jobs = input->job_count;
    return same;
}

struct past_layout *past_layout(struct past *p, const size_t *counts)
{
    bool known;
    size_t number = memo_number(p->memo, counts, &known);
    struct past_layout *layout = &p->layout[number];

    if (!known) {
        layout->solved = layout->quick = false;
        layout->speed = &p->speeds[number * 2 * p->max_jobs];
        layout->quick_speed = layout->speed + p->max_jobs;
    }
    return layout;
}

bool past_paces(struct past *p, const size_t *cores, double **speed,
                double **alone)
{
    bool same = take(p->paced, cores, p->jobs * sizeof(*cores)) && p->paces;

    *speed = p->pace_speed;
    *alone = p->pace_alone;
    p->paces = true;
    return same;
}

double past_alone(const struct past *p, size_t j, const size_t *group)
{
    const double *row = &p->rows[j * p->row];
    bool same = !memcmp(row, &p->alone_rows[j * p->row],
                        p->row * sizeof(*row)) &&
                !memcmp(group, &p->alone_group[j * p->memories],
                        p->memories * sizeof(*group));

    return same ? p->alone[j] : NAN;
}

void past_keep_alone(struct past *p, size_t j, const size_t *group,
                     double speed)
{
    memcpy(&p->alone_rows[j * p->row], &p->rows[j * p->row],
           p->row * sizeof(*p->rows));
    memcpy(&p->alone_group[j * p->memories], group,
           p->memories * sizeof(*group));
    p->alone[j] = speed;
}
