/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "batch": one job after the other, in order of arrival. */

#include <stdio.h>

#include "model/policy/shares.h"

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    (void)memory;
    proposal->mode = POLICY_TURNS;
    for (size_t j = 0; j < input->job_count; j++)
        proposal->cores[j] = j ? 0 : input->jobs[0].max_cores;
    return MODEL_OK;
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    (void)proposal;
    snprintf(text, size, "job %u came first of %zu", input->jobs[0].id,
             input->job_count);
}

const struct policy policy_batch = {
    .name = "batch",
    .help = "one job after the other, in order of arrival",
    .decide = decide,
    .explain = explain,
};
