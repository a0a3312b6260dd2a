/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a policy remembers of a node between decisions. */

#include "model/policy/state.h"

#include <stdlib.h>
#include <string.h>

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

static struct state_job describe(const struct policy_job *job)
{
    return (struct state_job){
        .id = job->id,
        .kind = job->kind,
        .known = job->profile != NULL,
        .min_cores = job->min_cores,
        .max_cores = job->max_cores,
        .weight = job->weight,
        .region = job->region,
    };
}

static bool job_same(const struct state_job *a, const struct state_job *b)
{
    return a->id == b->id && a->kind == b->kind && a->known == b->known &&
           a->min_cores == b->min_cores && a->max_cores == b->max_cores &&
           a->weight == b->weight && a->region == b->region;
}

static bool job_remembered(const struct policy_state *state,
                           const struct policy_job *job)
{
    struct state_job now = describe(job);

    for (size_t i = 0; i < state->jobs; i++)
        if (job_same(&state->job[i], &now))
            return true;
    return false;
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
    size_t options = policy_option_count(state->policy);

    if (!state->jobs || state->jobs != input->job_count ||
        memcmp(state->options, input->options,
               options * sizeof(*state->options)) != 0)
        return false;
    for (size_t j = 0; j < input->job_count; j++)
        if (!job_remembered(state, &input->jobs[j]))
            return false;
    return true;
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
    size_t options = policy_option_count(state->policy);

    state->jobs = input->job_count;
    for (size_t j = 0; j < input->job_count; j++)
        state->job[j] = describe(&input->jobs[j]);
    memcpy(state->options, input->options, options * sizeof(*state->options));
    state->mode = decision->mode;
    for (size_t cpu = 0; cpu < state->machine->cpus; cpu++)
        state->owner[cpu] = owner_id(input, decision->owner, cpu);
}
