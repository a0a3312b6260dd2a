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

static enum model_status score_utilisation(void *arg, const size_t *cores,
                                           size_t job, double *score)
{
    (void)job;
    *score = predict_utilisation_cores(arg, cores).system;
    return MODEL_OK;
}

enum model_status greedy_dop(const struct policy_input *input, void *memory,
                             struct policy_proposal *proposal)
{
    enum model_status status = predict_begin(input);

    (void)memory;
    if (status == MODEL_ENODATA)
        return equal_shares(input, proposal->cores);
    if (status == MODEL_OK)
        status = (input->job_count > FEW ? divide_lazy : divide)(
            input, score_utilisation, (void *)(uintptr_t)input,
            proposal->cores);
    if (status != MODEL_OK)
        return status;
    struct utilisation use = predict_utilisation_cores(input, proposal->cores);
    proposal->system_util = use.system;
    proposal->figure[CPU] = use.cpu;
    proposal->figure[MEMORY] = use.memory;
    return MODEL_OK;
}

double greedy_value(const struct policy_input *input, void *memory,
                    const size_t *counts)
{
    (void)memory;
    return predict_begin(input) == MODEL_OK
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
    .decide = greedy_dop,
    .value = greedy_value,
    .explain = greedy_explain,
};
