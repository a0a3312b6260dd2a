/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Allocation policies: the list, the common rules, turns. */

#include "model/policy.h"

#include <math.h>
#include <string.h>

#include "model/policy/power.h"
#include "model/policy/search/divide.h"
#include "model/policy/search/placement.h"
#include "model/policy/rules.h"
#include "model/policy/shares.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

const struct policy *const policies[] = {
    &policy_nupoco,
    &policy_greedy,
    &policy_equal,
    &policy_batch,
    &policy_native,
    &policy_scalability,
    &policy_amdahl,
    &policy_best_simple,
    &policy_corun,
    &policy_moca,
    NULL,
};

const struct policy *policy_find(const char *name)
{
    for (const struct policy *const *p = policies; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

void policy_facts_init(struct policy_facts *facts)
{
    *facts = (struct policy_facts){.cpu_share = NAN,
                                   .remaining = NAN,
                                   .left_s = NAN,
                                   .done_s = NAN,
                                   .alone_need = NAN};
}

static bool facts_good(const struct policy_facts *facts)
{
    for (size_t i = 0; i < facts->point_count; i++)
        if (!facts->points[i].cores || !(facts->points[i].throughput > 0) ||
            !isfinite(facts->points[i].throughput) ||
            !(facts->points[i].weight > 0))
            return false;
    return !(facts->cpu_share < 0 || facts->cpu_share > 1 ||
             facts->remaining < 0 || facts->left_s < 0 ||
             facts->done_s < 0);
}

static enum model_status check_jobs(const struct policy_input *input)
{
    for (size_t j = 0; j < input->job_count; j++) {
        const struct policy_job *job = &input->jobs[j];
        if (job->min_cores < 1 || job->max_cores < job->min_cores ||
            !(job->weight > 0) || !isfinite(job->weight))
            return MODEL_EINVAL;
        if (job->profile &&
            (workload_check(job->profile) != MODEL_OK ||
             job->profile->numa_nodes != input->machine->numa_nodes))
            return MODEL_EINVAL;
        if (job->facts && !facts_good(job->facts))
            return MODEL_EINVAL;
        for (size_t i = 0; i < j; i++)
            if (input->jobs[i].id == job->id)
                return MODEL_EINVAL;
    }
    return MODEL_OK;
}

static enum model_status check_input(const struct policy *policy,
                                     const struct policy_input *input)
{
    const struct machine *machine = input->machine;

    if (input->job_count < 1 || input->job_count > POLICY_MAX_JOBS)
        return MODEL_EINVAL;
    /* Whose workspace it is has been looked at when that was made. */
    if ((!input->workspace || input->workspace->machine != machine) &&
        machine_check(machine) != MODEL_OK)
        return MODEL_EINVAL;
    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (input->owner[cpu] < POLICY_NO_CPU ||
            input->owner[cpu] >= (int)input->job_count ||
            (machine->llc_domain[cpu] < 0 && input->owner[cpu] != POLICY_NO_CPU))
            return MODEL_EINVAL;
    if (divide_pool(input) < input->job_count ||
        (input->state && (input->state->policy != policy ||
                          input->state->machine != machine)))
        return MODEL_EINVAL;
    return check_jobs(input);
}

/* What the rules did to a proposal, for the reason. */
struct ruling {
    size_t fair_cores, fair_job;
    struct power_ruling power;
};

/* Owners from the proposal. */
static void place(const struct policy_input *input,
                  const struct policy_proposal *proposal,
                  struct policy_decision *out)
{
    const struct machine *machine = input->machine;

    if (proposal->mode == POLICY_NATIVE)
        for (size_t cpu = 0; cpu < machine->cpus; cpu++)
            out->owner[cpu] = input->owner[cpu] == POLICY_NO_CPU
                                  ? POLICY_NO_CPU
                                  : POLICY_NOBODY;
    else if (proposal->placed)
        placement_layout(input, proposal->layout, out->owner);
    else if (proposal->keeps) {
        placement_counts(input, proposal->cores, proposal->layout);
        placement_layout(input, proposal->layout, out->owner);
    } else
        placement(input, proposal->cores, out->owner);
    out->moved = 0;
    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        out->moved += out->owner[cpu] != input->owner[cpu];
}

static void explain(const struct policy *policy,
                    const struct policy_input *input,
                    const struct policy_proposal *proposal,
                    const struct ruling *ruling, struct policy_decision *out)
{
    char *reason = out->reason, clause[POLICY_REASON_MAX] = "";
    const size_t size = sizeof(out->reason);

    if (proposal->mode != POLICY_NATIVE) {
        policy_describe(input, proposal->cores, reason, size);
        policy_append(reason, size, "; ");
    }
    policy->explain(input, proposal, clause, sizeof(clause));
    policy_append(reason, size, "%s", clause);
    if (ruling->fair_cores)
        policy_append(reason, size, "; %zu core%s moved to job %u for its fair share",
                      ruling->fair_cores, ruling->fair_cores == 1 ? "" : "s",
                      input->jobs[ruling->fair_job].id);
    power_explain(input, proposal, &ruling->power, reason, size);
    if (out->kept)
        policy_append(reason, size, "; kept, another division promises %.1f %% only",
                      100 * proposal->passed);
}

/* Decide, apply the rules and place; INPUT has all that is optional. */
static enum model_status decide_fitted(const struct policy *policy,
                                       const struct policy_input *input,
                                       struct policy_decision *out)
{
    struct policy_workspace *ws = input->workspace;
    struct policy_proposal proposal = {.cores = ws->cores,
                                       .layout = ws->layout};
    struct ruling ruling = {0};
    enum model_status status =
        policy->decide(input, input->state ? input->state->own : NULL,
                       &proposal);

    if (status == MODEL_OK && proposal.mode == POLICY_SPACE &&
        !proposal.own_rules) {
        fairness_apply(input, &proposal, &ruling.fair_cores, &ruling.fair_job);
        hysteresis_apply(policy, input, &proposal);
    }
    if (status != MODEL_OK)
        return status;
    power_apply(input, &proposal, &ruling.power);
    out->mode = proposal.mode;
    out->kept = proposal.kept;
    out->rotates = proposal.rotates;
    out->periodic = policy->periodic || proposal.periodic;
    out->system_util = proposal.system_util;
    out->reason[0] = '\0';
    place(input, &proposal, out);
    if (!input->terse || !out->periodic || out->moved)
        explain(policy, input, &proposal, &ruling, out);
    if (out->relative_speed)
        relative_speed_fill(input, out);
    if (input->state)
        state_remember(input->state, input, out);
    return MODEL_OK;
}

/* Fill in the options, the bounds and a policy's memory. */
static enum model_status decide_in(struct policy_workspace *ws,
                                   const struct policy *policy,
                                   const struct policy_input *input,
                                   struct policy_decision *out)
{
    struct policy_input fitted = *input;
    double defaults[POLICY_OPTIONS_MAX];

    memcpy(ws->jobs, input->jobs, input->job_count * sizeof(*ws->jobs));
    bounds_fit(ws->jobs, input->job_count, divide_pool(input));
    fitted.jobs = ws->jobs;
    fitted.workspace = ws;
    placement_begin(&fitted);
    if (!input->options) {
        policy_options_init(policy, defaults);
        fitted.options = defaults;
    }
    power_bound(&fitted, ws->jobs);
    if (input->state || !policy->init)
        return decide_fitted(policy, &fitted, out);
    if (!(fitted.state = policy_state_new(policy, input->machine)))
        return MODEL_ENOMEM;
    enum model_status status = decide_fitted(policy, &fitted, out);
    policy_state_free(fitted.state);
    return status;
}

enum model_status policy_decide(const struct policy *policy,
                                const struct policy_input *input,
                                struct policy_decision *out)
{
    struct policy_workspace *ws = input->workspace;
    enum model_status status = check_input(policy, input);

    if (status != MODEL_OK)
        return status;
    if (ws)
        return ws->machine == input->machine && ws->max_jobs >= input->job_count
                   ? decide_in(ws, policy, input, out)
                   : MODEL_EINVAL;
    if (!(ws = policy_workspace_new(input->machine, input->job_count)))
        return MODEL_ENOMEM;
    status = decide_in(ws, policy, input, out);
    policy_workspace_free(ws);
    return status;
}

void turns_select(size_t jobs, size_t cores, uint64_t slice, bool *runs)
{
    for (size_t j = 0; j < jobs; j++)
        runs[j] = cores >= jobs;
    if (cores >= jobs)
        return;
    for (size_t i = 0; i < cores; i++)
        runs[(slice % jobs * cores + i) % jobs] = true;
}
