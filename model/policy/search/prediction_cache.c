/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was predicted before, for the same question. */

#include "model/policy/search/prediction_cache.h"

#include <stdlib.h>
#include <string.h>

#include "model/policy/search/memo.h"
#include "model/policy_fields.h"

/* More than most decisions of the searching policies compare. */
#define LAYOUTS 1024

struct prediction_cache {
    size_t nodes, max_jobs;
    uint64_t situation; /* hash of it; 0: none */
    struct memo *memo;
    double *speeds; /* [(LAYOUTS + ALONE_KINDS) * max_jobs] */
    bool alone_known[ALONE_KINDS];
};

struct prediction_cache *prediction_cache_new(const struct machine *machine, size_t jobs)
{
    struct prediction_cache *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->nodes = machine->llc_domains;
    p->max_jobs = jobs;
    p->memo = memo_new(p->nodes * jobs, LAYOUTS);
    p->speeds = calloc((LAYOUTS + ALONE_KINDS) * jobs, sizeof(*p->speeds));
    if (!p->memo || !p->speeds) {
        prediction_cache_free(p);
        return NULL;
    }
    return p;
}

void prediction_cache_free(struct prediction_cache *p)
{
    if (!p)
        return;
    memo_free(p->memo);
    free(p->speeds);
    free(p);
}

bool prediction_cache_begin(struct prediction_cache *p,
                            const struct policy_input *input,
                            const size_t *pool,
                            const struct workload *const *profile)
{
    uint64_t h = HASH_START;

    hash_word(&h, input->job_count);
    hash_bytes(&h, pool, p->nodes * sizeof(*pool));
    for (size_t j = 0; j < input->job_count; j++) {
        fields_hash(&h, policy_job_fields, &input->jobs[j], POLICY_PREDICTION);
        workload_hash(profile[j], &h);
    }
    if (h == p->situation)
        return true;
    p->situation = h;
    memset(p->alone_known, 0, sizeof(p->alone_known));
    memo_forget(p->memo, p->nodes * input->job_count);
    return false;
}

double *prediction_cache_speeds(struct prediction_cache *p, const size_t *counts, bool *known)
{
    return &p->speeds[memo_number(p->memo, counts, known) * p->max_jobs];
}

double *prediction_cache_alone(struct prediction_cache *p, size_t kind, bool *known)
{
    *known = p->alone_known[kind];
    p->alone_known[kind] = true;
    return &p->speeds[(LAYOUTS + kind) * p->max_jobs];
}
