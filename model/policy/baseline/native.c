/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "native": no space sharing; the kernel shares the time. */

#include <stdio.h>

#include "model/policy/search/divide.h"
#include "model/policy/shares.h"

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    (void)memory;
    proposal->mode = POLICY_NATIVE;
    for (size_t j = 0; j < input->job_count; j++)
        proposal->cores[j] = input->jobs[j].max_cores;
    return MODEL_OK;
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    size_t pool = divide_pool(input);

    (void)proposal;
    snprintf(text, size, "the kernel shares the time of %zu core%s among %zu job%s",
             pool, pool == 1 ? "" : "s", input->job_count,
             input->job_count == 1 ? "" : "s");
}

const struct policy policy_native = {
    .name = "native",
    .help = "no space sharing: the kernel shares the time",
    .decide = decide,
    .explain = explain,
};
