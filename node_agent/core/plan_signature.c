/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whether anything has changed on which a plan depends. */

#include "node_agent/core/plan_signature.h"

#include "common/hash.h"

static void add_text(uint64_t *h, const char *text)
{
    hash_word(h, text != NULL);
    if (text)
        hash_bytes(h, text, strlen(text));
}

static void add_region(uint64_t *h, const struct region *region,
                        const struct region_budget *budget)
{
    hash_word(h, (uintptr_t)region);
    if (!region)
        return;
    bool may = region_may_probe(region, budget);
    hash_word(h, (uint64_t)region->known << 1 | may);
    hash_word(h, (uintptr_t)region->profile);
    if (may) /* what it wants depends on what is known */
        hash_word(h, region->fit_time_ns);
}

static void add_job(uint64_t *h, const struct job *job,
                    const struct region_budget *budget)
{
    hash_word(h, (uint64_t)job->id << 32 | job->restarts);
    hash_word(h, (uint64_t)job->doing << 2 |
                     (uint64_t)job->history.known << 1 |
                     (job->history.dropped != NULL));
    hash_bytes(h, &job->granted, sizeof(job->granted));
    hash_bytes(h, &job->options, sizeof(job->options));
    hash_bytes(h, &job->weight, sizeof(job->weight));
    add_region(h, job->region, budget);
}

uint64_t plan_signature(const struct plan_input *in, uint64_t epoch)
{
    uint64_t h = HASH_START;

    add_text(&h, in->policy);
    add_text(&h, in->policy_options);
    add_text(&h, in->drained);
    hash_word(&h, in->max_jobs);
    hash_word(&h, (uint64_t)in->fairness_percent);
    hash_word(&h, epoch);
    hash_word(&h, in->budget.profile_ns);
    hash_bytes(&h, &in->budget.share, sizeof(in->budget.share));
    hash_word(&h, in->slice);
    for (size_t i = 0; i < in->count; i++)
        add_job(&h, in->jobs[i], &in->budget);
    return h;
}
