/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Common rule: another division must be better by a margin. */

#include <math.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/rules.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

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
                    input->machine->llc_domains * input->job_count *
                        sizeof(*ws->have)))
            return false;
        layout_cores(ws->have, input->machine->llc_domains, input->job_count,
                     ws->trial);
        now = policy->value(input, input->state->own, ws->have);
    } else {
        placement_counts(input, proposal->cores, ws->fresh);
        next = policy->value(input, input->state->own, ws->fresh);
        placement_present(input, ws->have);
        layout_cores(ws->have, input->machine->llc_domains, input->job_count,
                     ws->trial);
        if (!memcmp(ws->trial, proposal->cores,
                    input->job_count * sizeof(*ws->trial)))
            return false;
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
