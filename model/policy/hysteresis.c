/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Common rule: another division must be better by a margin. */

#include <math.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/rules.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

/* True when a job gives up cores on an LLC domain from HAVE to LAYOUT, CELLS cells each. */
static bool takes_away(const size_t *have, const size_t *layout, size_t cells)
{
    for (size_t i = 0; i < cells; i++)
        if (layout[i] < have[i])
            return true;
    return false;
}

void hysteresis_hold(const struct policy_input *input, const size_t *have, double now,
                     double next, struct policy_proposal *proposal)
{
    double margin = input->options[POLICY_HYSTERESIS];
    size_t cells = input->machine->llc_domains * input->job_count;

    if (!(margin > 0) || !(next <= now + margin * fabs(now)) ||
        !takes_away(have, proposal->layout, cells))
        return;
    proposal->kept = true;
    proposal->passed = now != 0 ? (next - now) / fabs(now) : 0;
    memcpy(proposal->layout, have, cells * sizeof(*have));
    layout_cores(have, input->machine->llc_domains, input->job_count, proposal->cores);
    proposal->placed = true;
}

/* True when each job has as many cores in LAYOUT as in CORES. */
static bool same_cores(const struct policy_input *input, const size_t *layout,
                       const size_t *cores)
{
    size_t has[POLICY_MAX_JOBS];

    layout_cores(layout, input->machine->llc_domains, input->job_count, has);
    return !memcmp(has, cores, input->job_count * sizeof(*has));
}

void hysteresis_apply(const struct policy *policy, const struct policy_input *input,
                      struct policy_proposal *proposal)
{
    size_t *have = input->workspace->have;

    if (!policy->value || !input->state || input->state->mode != POLICY_SPACE ||
        proposal->mode != POLICY_SPACE || !state_same(input->state, input))
        return;
    if (!proposal->placed)
        placement_counts(input, proposal->cores, proposal->layout);
    double next = policy->value(input, input->state->own, proposal->layout);
    placement_present(input, have);
    /* Who does not say where cores are to be may have them on other LLC domains. */
    if (!proposal->placed && same_cores(input, have, proposal->cores))
        return;
    hysteresis_hold(input, have, policy->value(input, input->state->own, have), next, proposal);
}
