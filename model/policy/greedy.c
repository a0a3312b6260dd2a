/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "greedy": number of cores by predicted system utilisation. */

#include <stdio.h>
#include <stdlib.h>

#include "model/divide.h"
#include "model/placement.h"
#include "model/policy/shares.h"
#include "model/system.h"

/* What one prediction needs, allocated once per decision. */
struct prediction {
    const struct policy_input *input;
    const struct workload **profile; /* [job_count] */
    double *weight;                  /* [job_count] */
    size_t *free;                    /* [cpu_nodes] */
    size_t *counts;                  /* [cpu_nodes * job_count] */
    struct workload *compute;        /* for serial jobs without a profile */
    struct system_workspace *system;
};

static void prediction_free(struct prediction *p)
{
    free(p->profile);
    free(p->weight);
    free(p->free);
    free(p->counts);
    workload_free(p->compute);
    system_workspace_free(p->system);
}

static enum model_status prediction_init(struct prediction *p,
                                         const struct policy_input *input)
{
    size_t nodes = input->machine->cpu_nodes;

    p->input = input;
    p->profile = calloc(input->job_count, sizeof(*p->profile));
    p->weight = calloc(input->job_count, sizeof(*p->weight));
    p->free = calloc(nodes, sizeof(*p->free));
    p->counts = calloc(nodes * input->job_count, sizeof(*p->counts));
    p->compute = workload_new(input->machine->mem_nodes);
    if (!p->profile || !p->weight || !p->free || !p->counts || !p->compute) {
        prediction_free(p);
        return MODEL_ENOMEM;
    }
    for (size_t j = 0; j < input->job_count; j++) {
        p->profile[j] = input->jobs[j].profile ? input->jobs[j].profile
                                               : p->compute;
        p->weight[j] = input->jobs[j].weight;
    }
    return MODEL_OK;
}

static enum model_status predict(struct prediction *p, const size_t *cores,
                                 struct system_result *result)
{
    struct system_input system = {
        .machine = p->input->machine,
        .jobs = p->input->job_count,
        .profile = p->profile,
        .weight = p->weight,
        .cores = p->counts,
        .method = MVA_AUTOMATIC,
    };

    placement_sketch(p->input, cores, p->free, p->counts);
    return system_solve(&system, result, NULL);
}

static enum model_status score_utilisation(void *arg, const size_t *cores,
                                           size_t job, double *score)
{
    struct system_result result;
    enum model_status status = predict(arg, cores, &result);

    (void)job;
    *score = result.utilisation;
    return status;
}

static void explain(struct prediction *p, const size_t *cores,
                    const struct system_result *result,
                    struct policy_decision *out)
{
    size_t used = policy_describe(p->input, cores, out->reason,
                                  sizeof(out->reason));

    snprintf(out->reason + used, sizeof(out->reason) - used,
             "; predicted system utilisation %.2f (cores %.2f, memory %.2f)",
             result->utilisation, result->cpu, result->memory);
    out->system_util = result->utilisation;
}

/* The first parallel job whose profile is unknown, or NULL. */
static const struct policy_job *unknown(const struct policy_input *input)
{
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].kind == SECTION_PARALLEL && !input->jobs[j].profile)
            return &input->jobs[j];
    return NULL;
}

enum model_status greedy_dop(const struct policy_input *input, size_t *cores,
                             struct policy_decision *out)
{
    const struct policy_job *job = unknown(input);
    struct prediction p = {0};
    struct system_result result;
    enum model_status status;

    if (job) {
        status = equal_shares(input, cores, out);
        if (status == MODEL_OK) {
            size_t used = policy_describe(input, cores, out->reason,
                                          sizeof(out->reason));
            snprintf(out->reason + used, sizeof(out->reason) - used,
                     "; equal shares while the profile of job %u is unknown",
                     job->id);
        }
        return status;
    }
    status = prediction_init(&p, input);
    if (status != MODEL_OK)
        return status;
    status = divide(input, score_utilisation, &p, cores);
    if (status == MODEL_OK)
        status = predict(&p, cores, &result);
    if (status == MODEL_OK)
        explain(&p, cores, &result, out);
    prediction_free(&p);
    return status;
}

const struct policy policy_greedy = {
    .name = "greedy",
    .help = "number of cores by predicted system utilisation",
    .decide = greedy_dop,
};
