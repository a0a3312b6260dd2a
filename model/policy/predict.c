/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictions of one decision: how fast the jobs would be. */

#include "model/policy/predict.h"

#include <string.h>

#include "model/placement.h"
#include "model/policy/workspace.h"

const struct policy_job *predict_unknown(const struct policy_input *input)
{
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].kind == SECTION_PARALLEL && !input->jobs[j].profile)
            return &input->jobs[j];
    return NULL;
}

enum model_status predict_begin(const struct policy_input *input)
{
    struct policy_workspace *ws = input->workspace;
    struct system_input system = {
        .machine = input->machine,
        .jobs = input->job_count,
        .profile = ws->profile,
        .weight = ws->weight,
        .method = MVA_AUTOMATIC,
    };

    if (predict_unknown(input))
        return MODEL_ENODATA;
    if (!ws->system)
        return MODEL_EINVAL;
    for (size_t j = 0; j < input->job_count; j++) {
        ws->profile[j] = input->jobs[j].profile ? input->jobs[j].profile
                                                : ws->compute;
        ws->weight[j] = input->jobs[j].weight;
    }
    lumped_prepare(ws->lumped, ws->profile, input->job_count);
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].rigid)
            lumped_waits(ws->lumped, j);
    return system_prepare(ws->system, &system);
}

enum model_status predict_counts(const struct policy_input *input,
                                 const size_t *counts,
                                 struct system_result *result, double *speed)
{
    struct system_result unused;

    return system_predict(input->workspace->system, counts,
                          result ? result : &unused, speed);
}

enum model_status predict_cores(const struct policy_input *input,
                                const size_t *cores,
                                struct system_result *result, double *speed)
{
    placement_sketch(input, cores, input->workspace->have);
    return predict_counts(input, input->workspace->have, result, speed);
}

enum model_status predict_alone(const struct policy_input *input,
                                double *speed)
{
    struct policy_workspace *ws = input->workspace;

    for (size_t j = 0; j < input->job_count; j++) {
        memset(ws->trial, 0, input->job_count * sizeof(*ws->trial));
        ws->trial[j] = input->jobs[j].max_cores;
        enum model_status status =
            predict_cores(input, ws->trial, NULL, ws->speed);
        if (status != MODEL_OK)
            return status;
        speed[j] = ws->speed[j];
    }
    return MODEL_OK;
}

void predict_speeds(const struct policy_input *input, const size_t *cores,
                    double *speed)
{
    placement_sketch(input, cores, input->workspace->have);
    lumped_predict(input->workspace->lumped, input->workspace->have, speed);
}

void predict_speeds_layout(const struct policy_input *input,
                           const size_t *counts, double *speed)
{
    lumped_predict(input->workspace->lumped, counts, speed);
}

void predict_speeds_alone(const struct policy_input *input, double *speed)
{
    struct policy_workspace *ws = input->workspace;

    for (size_t j = 0; j < input->job_count; j++) {
        memset(ws->trial, 0, input->job_count * sizeof(*ws->trial));
        ws->trial[j] = input->jobs[j].max_cores;
        predict_speeds(input, ws->trial, ws->speed);
        speed[j] = ws->speed[j];
    }
}
