/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "greedy": number of cores by predicted system utilisation. */

#include <stdio.h>

#include "model/divide.h"
#include "model/placement.h"
#include "model/policy/shares.h"
#include "model/policy/workspace.h"

static enum model_status prepare(const struct policy_input *input)
{
    struct policy_workspace *ws = input->workspace;
    struct system_input system = {
        .machine = input->machine,
        .jobs = input->job_count,
        .profile = ws->profile,
        .weight = ws->weight,
        .method = MVA_AUTOMATIC,
    };

    if (!ws->system)
        return MODEL_EINVAL;
    for (size_t j = 0; j < input->job_count; j++) {
        ws->profile[j] = input->jobs[j].profile ? input->jobs[j].profile
                                                : ws->compute;
        ws->weight[j] = input->jobs[j].weight;
    }
    return system_prepare(ws->system, &system);
}

static enum model_status predict(const struct policy_input *input,
                                 const size_t *cores,
                                 struct system_result *result)
{
    struct policy_workspace *ws = input->workspace;

    placement_sketch(input, cores, ws->have);
    return system_predict(ws->system, ws->have, result, NULL);
}

static enum model_status score_utilisation(void *arg, const size_t *cores,
                                           size_t job, double *score)
{
    struct system_result result;
    enum model_status status = predict(arg, cores, &result);

    (void)job;
    *score = result.utilisation;
    return status;
}

static void explain(const struct policy_input *input, const size_t *cores,
                    const struct system_result *result,
                    struct policy_decision *out)
{
    size_t used = policy_describe(input, cores, out->reason,
                                  sizeof(out->reason));

    snprintf(out->reason + used, sizeof(out->reason) - used,
             "; predicted system utilisation %.2f (cores %.2f, memory %.2f)",
             result->utilisation, result->cpu, result->memory);
    out->system_util = result->utilisation;
}

/* The first parallel job whose profile is unknown, or NULL. */
static const struct policy_job *unknown(const struct policy_input *input)
{
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].kind == SECTION_PARALLEL && !input->jobs[j].profile)
            return &input->jobs[j];
    return NULL;
}

enum model_status greedy_dop(const struct policy_input *input, size_t *cores,
                             struct policy_decision *out)
{
    const struct policy_job *job = unknown(input);
    struct system_result result;
    enum model_status status;

    if (job) {
        status = equal_shares(input, cores, out);
        if (status == MODEL_OK) {
            size_t used = policy_describe(input, cores, out->reason,
                                          sizeof(out->reason));
            snprintf(out->reason + used, sizeof(out->reason) - used,
                     "; equal shares while the profile of job %u is unknown",
                     job->id);
        }
        return status;
    }
    status = prepare(input);
    if (status == MODEL_OK)
        status = divide(input, score_utilisation, (void *)(uintptr_t)input,
                        cores);
    if (status == MODEL_OK)
        status = predict(input, cores, &result);
    if (status == MODEL_OK)
        explain(input, cores, &result, out);
    return status;
}

const struct policy policy_greedy = {
    .name = "greedy",
    .help = "number of cores by predicted system utilisation",
    .decide = greedy_dop,
};
