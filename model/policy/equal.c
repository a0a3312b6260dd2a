/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "equal": the same number of cores for all, by weight. */

#include <stdio.h>

#include "model/policy/search/divide.h"
#include "model/policy/shares.h"

/* The job that is furthest below its share grows next. */
static double below_share(void *arg, const size_t *cores, size_t job)
{
    const struct policy_input *input = arg;

    return -(double)cores[job] / input->jobs[job].weight;
}

void equal_shares(const struct policy_input *input, size_t *cores)
{
    divide(input, below_share, (void *)(uintptr_t)input, cores);
}

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    (void)memory;
    proposal->own_rules = true; /* equal is what it says */
    equal_shares(input, proposal->cores);
    return MODEL_OK;
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    bool weighted = false;

    (void)proposal;
    for (size_t j = 1; j < input->job_count; j++)
        weighted |= input->jobs[j].weight != input->jobs[0].weight;
    snprintf(text, size, weighted ? "equal shares by weight" : "equal shares");
}

const struct policy policy_equal = {
    .name = "equal",
    .help = "the same number of cores for all jobs",
    .decide = decide,
    .explain = explain,
};
