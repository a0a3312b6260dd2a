/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictions of one decision: how fast the jobs would be. */

#include "model/policy/search/predict.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/search/prediction_cache.h"
#include "model/policy/search/workspace.h"

const struct policy_job *predict_unknown(const struct policy_input *input)
{
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].kind == REGION_PARALLEL && !input->jobs[j].profile)
            return &input->jobs[j];
    return NULL;
}

/* Predictions are of PROFILE[job_count] from now on. */
static void prepare(const struct policy_input *input, const struct workload *const *profile)
{
    struct aggregated_mva *a = input->workspace->aggregated;

    aggregated_prepare(a, profile, input->job_count);
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].pinned)
            aggregated_waits(a, j);
        else
            aggregated_rounds(a, j, input->jobs[j].threads);
}

bool predict_begin(const struct policy_input *input)
{
    struct policy_workspace *ws = input->workspace;

    if (predict_unknown(input))
        return false;
    for (size_t j = 0; j < input->job_count; j++)
        ws->profile[j] = input->jobs[j].profile ? input->jobs[j].profile
                                                : ws->compute;
    if (!prediction_cache_begin(ws->predictions, input, ws->pool, ws->profile))
        prepare(input, ws->profile);
    return true;
}

void predict_layout(const struct policy_input *input, const size_t *counts,
                    double *speed)
{
    bool known;
    double *kept = prediction_cache_speeds(input->workspace->predictions, counts, &known);

    if (!known)
        aggregated_predict(input->workspace->aggregated, counts, kept);
    memcpy(speed, kept, input->job_count * sizeof(*speed));
}

void predict_cores(const struct policy_input *input, const size_t *cores,
                   double *speed)
{
    placement_rough(input, cores, input->workspace->fresh);
    predict_layout(input, input->workspace->fresh, speed);
}

/* W as it would be had its job begun alone, into LONE: what threads touched themselves lies as
 * the pool's cores do, of which CORES[numa_nodes] are the parts. */
static void begin_alone(const double *cores, const struct workload *w, struct workload *lone)
{
    double own = w->locality > 0 ? w->locality : 0;
    struct workload_rate *rate = lone->rate, all = workload_total(w);

    *lone = *w;
    lone->rate = rate;
    for (size_t m = 0; m < w->numa_nodes; m++) {
        double here = own * cores[m];
        rate[m].mrr_per_us = (1 - own) * w->rate[m].mrr_per_us + here * all.mrr_per_us;
        rate[m].read_per_us = (1 - own) * w->rate[m].read_per_us + here * all.read_per_us;
    }
}

/* Predictions are of jobs that began alone, until prepare(). */
static void prepare_alone(const struct policy_input *input)
{
    const struct machine *machine = input->machine;
    struct policy_workspace *ws = input->workspace;
    double cores[machine->numa_nodes], pool = 0;

    memset(cores, 0, sizeof(cores));
    for (size_t i = 0; i < machine->llc_domains; i++)
        pool += (double)ws->pool[i];
    for (size_t i = 0; i < machine->llc_domains; i++)
        cores[machine->local_node[i]] += (double)ws->pool[i] / pool;
    for (size_t j = 0; j < input->job_count; j++)
        begin_alone(cores, ws->profile[j], ws->lone[j]);
    prepare(input, (const struct workload *const *)ws->lone);
}

/* As those prepared, into SPEED. */
static void each_alone(const struct policy_input *input, double *speed)
{
    struct policy_workspace *ws = input->workspace;

    for (size_t j = 0; j < input->job_count; j++) {
        memset(ws->trial, 0, input->job_count * sizeof(*ws->trial));
        ws->trial[j] = input->jobs[j].max_cores;
        placement_rough(input, ws->trial, ws->fresh);
        aggregated_predict(ws->aggregated, ws->fresh, ws->speed);
        speed[j] = ws->speed[j];
    }
}

void predict_alone(const struct policy_input *input, double *speed)
{
    bool known;
    double *kept = prediction_cache_alone(input->workspace->predictions, ALONE_NOW, &known);

    if (!known)
        each_alone(input, kept);
    memcpy(speed, kept, input->job_count * sizeof(*speed));
}

void predict_begun_alone(const struct policy_input *input, double *speed)
{
    struct policy_workspace *ws = input->workspace;
    bool known, local = false;
    double *kept = prediction_cache_alone(ws->predictions, ALONE_BEGUN, &known);

    for (size_t j = 0; j < input->job_count && !known; j++)
        local |= ws->profile[j]->locality > 0;
    if (local) {
        prepare_alone(input);
        each_alone(input, kept);
        prepare(input, ws->profile);
    } else if (!known) {
        predict_alone(input, kept);
    }
    memcpy(speed, kept, input->job_count * sizeof(*speed));
}

struct utilisation predict_utilisation(const struct policy_input *input,
                                       const size_t *counts)
{
    const struct machine *machine = input->machine;
    const struct policy_workspace *ws = input->workspace;
    struct utilisation use = {0};
    size_t jobs = input->job_count;

    predict_layout(input, counts, ws->speed);
    for (size_t j = 0; j < jobs; j++) {
        double cores = 0, nodes = 0; /* of the job; their sum as parts of nodes */
        for (size_t i = 0; i < machine->llc_domains; i++) {
            double here = (double)counts[i * jobs + j];
            if (!(here > 0))
                continue;
            cores += here;
            nodes += here / (double)ws->size[i];
        }
        if (cores > 0)
            use.cpu += input->jobs[j].weight * ws->speed[j] / cores * nodes;
    }
    for (size_t m = 0; m < machine->numa_nodes; m++) {
        double requests = 0;
        for (size_t j = 0; j < jobs; j++)
            requests += ws->speed[j] * ws->profile[j]->rate[m].mrr_per_us;
        use.memory += fmin(1, requests * machine->controller_service_us[m]);
    }
    use.system = use.cpu + use.memory;
    return use;
}

struct utilisation predict_utilisation_cores(const struct policy_input *input,
                                             const size_t *cores)
{
    placement_rough(input, cores, input->workspace->fresh);
    return predict_utilisation(input, input->workspace->fresh);
}
