/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a policy remembers of a node between decisions. */

#include "model/policy/state.h"

#include <stdlib.h>

#include "model/policy_fields.h"

struct policy_state *policy_state_new(const struct policy *policy,
                                      const struct machine *machine)
{
    struct policy_state *state;

    if (machine_check(machine) != MODEL_OK ||
        !(state = calloc(1, sizeof(*state))))
        return NULL;
    state->policy = policy;
    state->machine = machine;
    state->owner = calloc(machine->cpus, sizeof(*state->owner));
    if (policy->init)
        state->own = policy->init(machine);
    if (!state->owner || (policy->init && !state->own)) {
        policy_state_free(state);
        return NULL;
    }
    return state;
}

void policy_state_free(struct policy_state *state)
{
    if (!state)
        return;
    if (state->own && state->policy->free)
        state->policy->free(state->own);
    free(state->owner);
    free(state);
}

/* Of the jobs, in any order, and the options. */
static uint64_t situation_key(const struct policy_state *state,
                              const struct policy_input *input)
{
    size_t options = policy_option_count(state->policy);
    uint64_t sum = 0, h = HASH_START;

    for (size_t j = 0; j < input->job_count; j++) {
        uint64_t key = HASH_START;
        fields_hash(&key, policy_job_fields, &input->jobs[j], POLICY_SITUATION);
        hash_word(&key, input->jobs[j].profile != NULL);
        sum += key;
    }
    hash_word(&h, sum);
    hash_bytes(&h, input->options, options * sizeof(*input->options));
    return h;
}

static uint32_t owner_id(const struct policy_input *input, const int *owner,
                         size_t cpu)
{
    if (owner[cpu] >= 0)
        return input->jobs[owner[cpu]].id;
    return owner[cpu] == POLICY_NOBODY ? STATE_NOBODY : STATE_NO_CPU;
}

bool state_same_jobs(const struct policy_state *state,
                     const struct policy_input *input)
{
    return state->jobs == input->job_count &&
           state->situation == situation_key(state, input);
}

bool state_same(const struct policy_state *state,
                const struct policy_input *input)
{
    if (!state_same_jobs(state, input))
        return false;
    for (size_t cpu = 0; cpu < state->machine->cpus; cpu++)
        if (state->owner[cpu] != owner_id(input, input->owner, cpu))
            return false;
    return true;
}

void state_remember(struct policy_state *state,
                    const struct policy_input *input,
                    const struct policy_decision *decision)
{
    state->jobs = input->job_count;
    state->situation = situation_key(state, input);
    state->mode = decision->mode;
    for (size_t cpu = 0; cpu < state->machine->cpus; cpu++)
        state->owner[cpu] = owner_id(input, decision->owner, cpu);
}
