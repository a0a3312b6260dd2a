/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Common rule: another division must be better by a margin. */

#include <math.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/rules.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

static void sum(const struct policy_input *input, const size_t *counts,
                size_t *cores)
{
    for (size_t j = 0; j < input->job_count; j++) {
        cores[j] = 0;
        for (size_t i = 0; i < input->machine->cpu_nodes; i++)
            cores[j] += counts[i * input->job_count + j];
    }
}

bool hysteresis_apply(const struct policy *policy,
                      const struct policy_input *input,
                      struct policy_proposal *proposal, double *gain)
{
    struct policy_workspace *ws = input->workspace;
    double margin = input->options[POLICY_HYSTERESIS], now, next;

    if (!policy->value || !(margin > 0) || !input->state ||
        input->state->mode != POLICY_SPACE ||
        proposal->mode != POLICY_SPACE || !state_same(input->state, input))
        return false;
    if (proposal->placed) {
        next = policy->value(input, input->state->own, proposal->layout);
        placement_present(input, ws->have);
        if (!memcmp(ws->have, proposal->layout,
                    input->machine->cpu_nodes * input->job_count *
                        sizeof(*ws->have)))
            return false;
        sum(input, ws->have, ws->trial);
        now = policy->value(input, input->state->own, ws->have);
    } else {
        placement_sketch(input, proposal->cores, ws->have);
        next = policy->value(input, input->state->own, ws->have);
        placement_present(input, ws->have);
        sum(input, ws->have, ws->trial);
        if (!memcmp(ws->trial, proposal->cores,
                    input->job_count * sizeof(*ws->trial)))
            return false;
        placement_sketch(input, ws->trial, ws->have);
        now = policy->value(input, input->state->own, ws->have);
    }
    if (!isfinite(now) || !isfinite(next) || next > now + margin * fabs(now))
        return false;
    *gain = now != 0 ? (next - now) / fabs(now) : 0;
    memcpy(proposal->cores, ws->trial,
           input->job_count * sizeof(*ws->trial));
    placement_present(input, proposal->layout);
    proposal->placed = true;
    return true;
}
