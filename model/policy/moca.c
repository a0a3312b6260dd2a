/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "moca": MOCA's evolution of core allocations (thesis 4.5).  Four random
 * allocations evolve towards thresholds for the use of cores and of memory controllers, for fifty
 * generations under MOCA's own model (chromosome.h), or for four by running them (sampling.h).
 * The latter is done while all jobs are in parallel regions; else the model decides. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/hash.h"
#include "model/policy/rules.h"
#include "model/policy/search/evolution.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"
#include "model/policy/search/sampling.h"
#include "model/policy/shares.h"
#include "model/policy/search/workspace.h"

/* Index into policy_input.options. */
enum {
    EVALUATE = POLICY_OWN,
    GENERATIONS,
    MUTATION,
    CPU_THRESHOLD,
    BW_THRESHOLD,
    FORM,
    SEED,
};
enum { BY_MODEL, BY_SAMPLE };

static const struct policy_option options[] = {
    {"evaluate", "allocations by the model, or by running each for a while", BY_MODEL, BY_MODEL,
     BY_SAMPLE, "model|sample"},
    {"generations", "of the evolution; 0: 50 by the model, 4 by sampling runs", 0, 0, 10000, NULL},
    {"mutation", "probability that a core of a new allocation changes its job",
     0.05, 0, 1, NULL},
    {"cpu_threshold", "goal for the use of cores: above both, only cores count",
     0.7, 0, 1, NULL},
    {"bw_threshold", "goal for the use of memory controllers", 0.7, 0, 1, NULL},
    {"form", "of the evolution's model", MOCA_CONSISTENT, 0, 1,
     "paper|consistent"},
    {"seed", "of the evolution's random numbers", 1, 0, 1000000000, NULL},
    {NULL, NULL, 0, 0, 0, NULL},
};

/* Of policy_proposal.figure. */
enum { CPU, BW, REACHED, JUDGED, SAMPLED };

struct moca {
    struct evolution *evolution; /* by the model */
    struct sampling *sampling;
    bool sampled; /* last time, not by the model */
    size_t min[POLICY_MAX_JOBS], max[POLICY_MAX_JOBS];
    double weight[POLICY_MAX_JOBS];
};

static void moca_free(void *memory)
{
    struct moca *m = memory;

    evolution_free(m->evolution);
    sampling_free(m->sampling);
    free(m);
}

static void *moca_init(const struct machine *machine)
{
    struct moca *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->evolution = evolution_new(machine);
    m->sampling = sampling_new(machine);
    if (!m->evolution || !m->sampling) {
        moca_free(m);
        return NULL;
    }
    return m;
}

static double value(const struct policy_input *in, void *memory,
                    const size_t *layout)
{
    struct moca *m = memory;
    struct chromosome worth;

    if (m->sampled || predict_unknown(in) ||
        evolution_judge(m->evolution, layout, &worth) != MODEL_OK)
        return NAN;
    return worth.cpu + worth.bw;
}

/* ---- sampling runs ------------------------------------------------------ */

/* Are there several jobs, all in parallel regions and counted for? */
static bool may_sample(const struct policy_input *in)
{
    for (size_t j = 0; j < in->job_count; j++)
        if (in->jobs[j].kind != REGION_PARALLEL || !in->jobs[j].facts ||
            !(in->jobs[j].facts->counted.us > 0))
            return false;
    return in->options[EVALUATE] == BY_SAMPLE && in->job_count > 1;
}

/* Of all that makes another division out of what was measured. */
static uint64_t situation(const struct policy_input *in)
{
    uint64_t h = HASH_START;

    for (size_t j = 0; j < in->job_count; j++)
        hash_word(&h, in->jobs[j].id);
    hash_bytes(&h, in->workspace->pool,
               in->machine->llc_domains * sizeof(*in->workspace->pool));
    hash_bytes(&h, in->options, policy_option_count(&policy_moca) * sizeof(*in->options));
    return h;
}

/* A look at the sampling runs, if there are to be any. */
static enum model_status sample(const struct policy_input *in, struct moca *m,
                                struct evolution_input input, struct evolution_result *result,
                                enum sampling_state *state)
{
    *state = SAMPLING_VAIN;
    if (!may_sample(in)) {
        sampling_pause(m->sampling);
        return MODEL_OK;
    }
    if (!input.generations)
        input.generations = SAMPLING_GENERATIONS;
    placement_present(in, in->workspace->have);
    input.start = in->workspace->have;
    return sampling_look(m->sampling, situation(in), &input, in->jobs, state, result);
}

/* ---- the policy --------------------------------------------------------- */

/* Have allocations judged, by runs where that is possible and wanted. */
static enum model_status evolve(const struct policy_input *in,
                                struct moca *m,
                                struct evolution_result *result, enum sampling_state *state)
{
    struct chromosome_space space = {
        .machine = in->machine,
        .jobs = in->job_count,
        .pool = in->workspace->pool,
        .profile = in->workspace->profile,
        .weight = m->weight,
        .min = m->min,
        .max = m->max,
        .form = in->options[FORM] > 0 ? MOCA_CONSISTENT : MOCA_PAPER,
    };
    struct evolution_input input = {
        .space = &space,
        .generations = (size_t)in->options[GENERATIONS],
        .mutation = in->options[MUTATION],
        .cpu_threshold = in->options[CPU_THRESHOLD],
        .bw_threshold = in->options[BW_THRESHOLD],
        .seed = (uint64_t)in->options[SEED],
    };

    for (size_t j = 0; j < in->job_count; j++) {
        m->min[j] = in->jobs[j].min_cores;
        m->max[j] = in->jobs[j].max_cores;
        m->weight[j] = in->jobs[j].weight;
    }
    enum model_status status = sample(in, m, input, result, state);
    if (status != MODEL_OK || *state != SAMPLING_VAIN)
        return status;
    if (!input.generations)
        input.generations = EVOLUTION_GENERATIONS;
    return evolution_run(m->evolution, &input, result);
}

static enum model_status moca_decide(const struct policy_input *in,
                                     void *memory,
                                     struct policy_proposal *proposal)
{
    struct evolution_result result = {.layout = proposal->layout};
    struct moca *m = memory;
    enum sampling_state state;

    m->sampled = false;
    if (!predict_begin(in)) {
        equal_shares(in, proposal->cores);
        return MODEL_OK;
    }
    enum model_status status = evolve(in, m, &result, &state);
    if (status != MODEL_OK)
        return status;
    m->sampled = state != SAMPLING_VAIN;
    proposal->periodic = state == SAMPLING_ASKS || state == SAMPLING_RUNS;
    proposal->own_rules = state == SAMPLING_RUNS;
    proposal->figure[SAMPLED] = state;
    proposal->figure[CPU] = result.cpu;
    proposal->figure[BW] = result.bw;
    proposal->figure[REACHED] = result.reached;
    proposal->figure[JUDGED] = (double)result.judged;
    proposal->placed = true;
    proposal->system_util = predict_utilisation(in, proposal->layout).system;
    layout_cores(proposal->layout, in->machine->llc_domains, in->job_count,
                 proposal->cores);
    return MODEL_OK;
}

static void moca_explain(const struct policy_input *in,
                         const struct policy_proposal *proposal, char *text,
                         size_t size)
{
    const struct policy_job *job = predict_unknown(in);
    const double *figure = proposal->figure;

    if (job)
        snprintf(text, size, "equal shares while the profile of job %u is "
                             "unknown", job->id);
    else if (figure[SAMPLED] == SAMPLING_ASKS || figure[SAMPLED] == SAMPLING_RUNS)
        snprintf(text, size, "an allocation is tried out, %.0f have been", figure[JUDGED]);
    else
        snprintf(text, size, "best of %.0f allocations%s: cores used %.2f, "
                             "controllers %.2f%s",
                 figure[JUDGED], figure[SAMPLED] == SAMPLING_DONE ? " tried out" : "",
                 figure[CPU], figure[BW],
                 figure[REACHED] > 0 ? ", both goals reached" : "");
}

const struct policy policy_moca = {
    .name = "moca",
    .help = "MOCA's evolution of allocations of single cores",
    .options = options,
    .profiles = true,
    .init = moca_init,
    .free = moca_free,
    .decide = moca_decide,
    .value = value,
    .explain = moca_explain,
};
