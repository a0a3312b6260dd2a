/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Allocation policies: the list, the common rules, turns. */

#include "model/policy.h"

#include <math.h>
#include <string.h>

#include "model/divide.h"
#include "model/placement.h"
#include "model/policy/shares.h"
#include "model/policy/workspace.h"

const struct policy *const policies[] = {
    &policy_nupoco,
    &policy_greedy,
    &policy_equal,
    NULL,
};

const struct policy *policy_find(const char *name)
{
    for (const struct policy *const *p = policies; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
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
             job->profile->mem_nodes != input->machine->mem_nodes))
            return MODEL_EINVAL;
    }
    return MODEL_OK;
}

static enum model_status check_input(const struct policy_input *input)
{
    const struct machine *machine = input->machine;

    if (input->job_count < 1 || input->job_count > SYSTEM_MAX_JOBS ||
        machine_check(machine) != MODEL_OK)
        return MODEL_EINVAL;
    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (input->owner[cpu] < POLICY_NO_CPU ||
            input->owner[cpu] >= (int)input->job_count ||
            (machine->cpu_node[cpu] < 0 && input->owner[cpu] != POLICY_NO_CPU))
            return MODEL_EINVAL;
    if (divide_pool(input) < input->job_count)
        return MODEL_EINVAL;
    return check_jobs(input);
}

/* Bounds that hold for this pool: serial sections have one core, nobody more
 * than the pool, and minima that do not fit together are all one. */
static void fit_bounds(struct policy_job *jobs, size_t count, size_t pool)
{
    size_t sum = 0;

    for (size_t j = 0; j < count; j++) {
        if (jobs[j].kind == SECTION_SERIAL)
            jobs[j].min_cores = jobs[j].max_cores = 1;
        if (jobs[j].max_cores > pool)
            jobs[j].max_cores = pool;
        if (jobs[j].min_cores > jobs[j].max_cores)
            jobs[j].min_cores = jobs[j].max_cores;
        sum += jobs[j].min_cores;
    }
    for (size_t j = 0; j < count && sum > pool; j++)
        jobs[j].min_cores = 1;
}

/* Count the pool and copy the jobs into the workspace; decide and place. */
static enum model_status decide_in(struct policy_workspace *ws,
                                   const struct policy *policy,
                                   const struct policy_input *input,
                                   struct policy_decision *out)
{
    const struct machine *machine = input->machine;
    struct policy_input fitted = *input;

    memset(ws->pool, 0, machine->cpu_nodes * sizeof(*ws->pool));
    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (input->owner[cpu] != POLICY_NO_CPU)
            ws->pool[machine->cpu_node[cpu]]++;
    memcpy(ws->jobs, input->jobs, input->job_count * sizeof(*ws->jobs));
    fit_bounds(ws->jobs, input->job_count, divide_pool(input));
    fitted.jobs = ws->jobs;
    fitted.workspace = ws;
    out->system_util = 0;
    out->reason[0] = '\0';
    enum model_status status = policy->decide(&fitted, ws->cores, out);
    if (status == MODEL_OK)
        placement(&fitted, ws->cores, out->owner);
    return status;
}

enum model_status policy_decide(const struct policy *policy,
                                const struct policy_input *input,
                                struct policy_decision *out)
{
    struct policy_workspace *ws = input->workspace;
    enum model_status status = check_input(input);

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
