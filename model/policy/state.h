/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a policy remembers of a node between decisions. */

#ifndef COSCHED_MODEL_POLICY_STATE_H
#define COSCHED_MODEL_POLICY_STATE_H

/* Concept
 *
 * Beside the policy's own state: the situation in which it decided last, for hysteresis.  A
 * situation is the jobs, their regions, bounds and weights, whether they are pinned and their
 * profiles known, and the pool, but not rates and throughputs.  The order of the jobs does not
 * matter.
 */

#include "model/policy.h"

struct policy_state {
    const struct policy *policy;
    const struct machine *machine;
    void *own; /* the policy's */
    /* The last decision; jobs 0: none. */
    size_t jobs;
    uint64_t situation; /* hash of it and of the options, without the pool */
    enum policy_mode mode;
    uint32_t *owner; /* [machine->cpus] id of the job, or STATE_NOBODY */
};

#define STATE_NOBODY UINT32_MAX
#define STATE_NO_CPU (UINT32_MAX - 1)

/* True when INPUT has the jobs, in the same regions and bounds, and the
 * options of the last decision in STATE. */
bool state_same_jobs(const struct policy_state *state,
                     const struct policy_input *input);

/* True when INPUT is the situation of the last decision in STATE and the
 * present owners are those that it chose. */
bool state_same(const struct policy_state *state,
                const struct policy_input *input);

/* Remember INPUT and its decision. */
void state_remember(struct policy_state *state,
                    const struct policy_input *input,
                    const struct policy_decision *decision);

#endif /* COSCHED_MODEL_POLICY_STATE_H */
