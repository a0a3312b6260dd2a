/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictions of one decision: how fast the jobs would be. */

#include "model/policy/search/predict.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/search/past.h"
#include "model/policy/search/workspace.h"

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
    if (past_begin(ws->past, input, ws->pool, ws->profile))
        return MODEL_OK;
    lumped_prepare(ws->lumped, ws->profile, input->job_count);
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].rigid)
            lumped_waits(ws->lumped, j);
    enum model_status status = system_prepare(ws->system, &system);
    if (status != MODEL_OK)
        past_forget(ws->past);
    return status;
}

enum model_status predict_counts(const struct policy_input *input,
                                 const size_t *counts,
                                 struct system_result *result, double *speed)
{
    struct policy_workspace *ws = input->workspace;
    struct past_layout *known = past_layout(ws->past, counts);

    if (!known->solved) {
        enum model_status status =
            system_predict(ws->system, counts, &known->result, known->speed);
        if (status != MODEL_OK)
            return status;
        known->solved = true;
    }
    if (result)
        *result = known->result;
    if (speed)
        memcpy(speed, known->speed, input->job_count * sizeof(*speed));
    return MODEL_OK;
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
    const size_t *group = system_groups(ws->system);

    for (size_t j = 0; j < input->job_count; j++) {
        speed[j] = past_alone(ws->past, j, group);
        if (!isnan(speed[j]))
            continue;
        memset(ws->trial, 0, input->job_count * sizeof(*ws->trial));
        ws->trial[j] = input->jobs[j].max_cores;
        enum model_status status =
            predict_cores(input, ws->trial, NULL, ws->speed);
        if (status != MODEL_OK)
            return status;
        speed[j] = ws->speed[j];
        past_keep_alone(ws->past, j, group, speed[j]);
    }
    return MODEL_OK;
}

void predict_speeds(const struct policy_input *input, const size_t *cores,
                    double *speed)
{
    placement_sketch(input, cores, input->workspace->have);
    predict_speeds_layout(input, input->workspace->have, speed);
}

void predict_speeds_layout(const struct policy_input *input,
                           const size_t *counts, double *speed)
{
    struct policy_workspace *ws = input->workspace;
    struct past_layout *known = past_layout(ws->past, counts);

    if (!known->quick)
        lumped_predict(ws->lumped, counts, known->quick_speed);
    known->quick = true;
    memcpy(speed, known->quick_speed, input->job_count * sizeof(*speed));
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
