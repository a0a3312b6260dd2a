/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "greedy": number of cores by predicted system utilisation. */

#include <math.h>
#include <stdio.h>

#include "model/policy/search/divide.h"
#include "model/policy/search/predict.h"
#include "model/policy/shares.h"

/* Of policy_proposal.figure. */
enum { CPU, MEMORY };

/* With more jobs than this, asking all of them at each step takes too long. */
#define FEW 6

static double score_utilisation(void *arg, const size_t *cores, size_t job)
{
    (void)job;
    return predict_utilisation_cores(arg, cores).system;
}

void greedy_dop(const struct policy_input *input,
                struct policy_proposal *proposal)
{
    if (!predict_begin(input)) {
        equal_shares(input, proposal->cores);
        return;
    }
    (input->job_count > FEW ? divide_lazy : divide)(
        input, score_utilisation, (void *)(uintptr_t)input, proposal->cores);
    struct utilisation use = predict_utilisation_cores(input, proposal->cores);
    proposal->system_util = use.system;
    proposal->figure[CPU] = use.cpu;
    proposal->figure[MEMORY] = use.memory;
}

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    (void)memory;
    greedy_dop(input, proposal);
    return MODEL_OK;
}

double greedy_value(const struct policy_input *input, void *memory,
                    const size_t *counts)
{
    (void)memory;
    return predict_begin(input)
               ? predict_utilisation(input, counts).system
               : NAN;
}

void greedy_explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    const struct policy_job *job = predict_unknown(input);

    if (job)
        snprintf(text, size, "equal shares while the profile of job %u is "
                             "unknown", job->id);
    else
        snprintf(text, size, "predicted system utilisation %.2f (cores %.2f, "
                             "memory %.2f)", proposal->system_util,
                 proposal->figure[CPU], proposal->figure[MEMORY]);
}

const struct policy policy_greedy = {
    .name = "greedy",
    .help = "number of cores by predicted system utilisation",
    .profiles = true,
    .decide = decide,
    .value = greedy_value,
    .explain = greedy_explain,
};
