/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was predicted before, for the same question. */

#include "model/policy/search/prediction_cache.h"

#include <stdlib.h>
#include <string.h>

#include "model/policy/search/memo.h"

/* More than most decisions of the searching policies compare. */
#define LAYOUTS 1024

/* Of a job's row, behind the rates. */
enum { LLC, PINNED, MOST, ROW };

struct prediction_cache {
    size_t nodes, memories, max_jobs;
    size_t row;   /* length of one */
    size_t jobs;  /* of the situation; 0: none */
    size_t *pool; /* [nodes] */
    double *rows; /* [max_jobs * row] */
    struct memo *memo;
    double *speeds; /* [LAYOUTS * max_jobs] */
    double *alone;  /* [max_jobs] */
    bool alone_known;
};

struct prediction_cache *prediction_cache_new(const struct machine *machine, size_t jobs)
{
    struct prediction_cache *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->nodes = machine->llc_domains;
    p->memories = machine->numa_nodes;
    p->max_jobs = jobs;
    p->row = 2 * p->memories + ROW;
    p->pool = calloc(p->nodes, sizeof(*p->pool));
    p->rows = calloc(jobs * p->row, sizeof(*p->rows));
    p->memo = memo_new(p->nodes * jobs, LAYOUTS);
    p->speeds = calloc((LAYOUTS + 1) * jobs, sizeof(*p->speeds));
    if (!p->pool || !p->rows || !p->memo || !p->speeds) {
        prediction_cache_free(p);
        return NULL;
    }
    p->alone = p->speeds + LAYOUTS * jobs;
    return p;
}

void prediction_cache_free(struct prediction_cache *p)
{
    if (!p)
        return;
    memo_free(p->memo);
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

static bool take_job(struct prediction_cache *p, size_t j, const struct policy_job *job,
                     const struct workload *profile)
{
    double *row = &p->rows[j * p->row], *more = row + 2 * p->memories;
    double now[ROW] = {[LLC] = profile->llc_per_us,
                       [PINNED] = job->pinned,
                       [MOST] = (double)job->max_cores};
    bool same = take(row, profile->rate, p->memories * sizeof(*profile->rate));

    return take(more, now, sizeof(now)) && same;
}

bool prediction_cache_begin(struct prediction_cache *p, const struct policy_input *input,
                const size_t *pool, const struct workload *const *profile)
{
    bool same = p->jobs == input->job_count;

    same &= take(p->pool, pool, p->nodes * sizeof(*p->pool));
    for (size_t j = 0; j < input->job_count; j++)
        same &= take_job(p, j, &input->jobs[j], profile[j]);
    if (!same) {
        p->alone_known = false;
        memo_forget(p->memo, p->nodes * input->job_count);
    }
    p->jobs = input->job_count;
    return same;
}

double *past_speeds(struct prediction_cache *p, const size_t *counts, bool *known)
{
    return &p->speeds[memo_number(p->memo, counts, known) * p->max_jobs];
}

double *prediction_cache_alone(struct prediction_cache *p, bool *known)
{
    *known = p->alone_known;
    p->alone_known = true;
    return p->alone;
}
