/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How fast jobs are under a decision, relative to having the node alone. */

#include <math.h>

#include "model/layout.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"
#include "model/policy/rules.h"
#include "model/policy/search/workspace.h"

/* Parallel jobs share what each alone would have. */
static void in_common(const struct policy_input *input, double *relative)
{
    size_t parallel = 0;

    for (size_t j = 0; j < input->job_count; j++)
        parallel += input->jobs[j].kind == REGION_PARALLEL;
    for (size_t j = 0; j < input->job_count; j++)
        relative[j] = input->jobs[j].kind == REGION_PARALLEL
                      ? 1 / (double)parallel
                      : 1;
}

void relative_speed_fill(const struct policy_input *input,
                         const struct policy_decision *out)
{
    const struct policy_workspace *ws = input->workspace;
    struct policy_input after = *input;
    double *relative = out->relative_speed;

    if (out->mode == POLICY_NATIVE) {
        in_common(input, relative);
        return;
    }
    bool known = predict_begin(input);
    if (known)
        predict_begun_alone(input, ws->alone);
    after.owner = out->owner;
    placement_present(&after, ws->have);
    layout_cores(ws->have, input->machine->llc_domains, input->job_count, ws->trial);
    if (known)
        predict_layout(input, ws->have, ws->speed);
    for (size_t j = 0; j < input->job_count; j++) {
        if (!ws->trial[j])
            relative[j] = 0;
        else if (input->jobs[j].kind == REGION_SERIAL)
            relative[j] = 1;
        else if (known)
            relative[j] = fmin(1, ws->speed[j] / ws->alone[j]);
        else
            relative[j] = (double)ws->trial[j] / (double)input->jobs[j].max_cores;
    }
}
