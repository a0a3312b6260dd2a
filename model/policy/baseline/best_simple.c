/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "best-simple": the papers' Simple, a resource manager that chooses
 * between running jobs together under the kernel's time sharing and running
 * them one after the other (thesis 4.4.2).
 *
 * The papers take the better one from measurements afterwards.  Here it has to
 * be predicted: under time sharing threads of all jobs are everywhere, as if
 * each job had its equal part of each LLC domain, and a job loses at its
 * barriers the time in which threads that are needed do not run, at best
 * (1 - 1/K) of the share that it spends in synchronisation.  Time sharing is
 * worth it when the jobs' speeds, each relative to its speed alone, sum up to
 * more than the 1 that taking turns gives. */

#include <stdio.h>
#include <string.h>

#include "model/policy/search/divide.h"
#include "model/policy/search/predict.h"
#include "model/policy/shares.h"
#include "model/policy/search/workspace.h"

enum { GAIN = POLICY_OWN };

/* Of policy_proposal.figure. */
enum { SUM, KNOWN };

static const struct policy_option options[] = {
    {"gain", "by how much sharing must be better than running in turn", 0.05, 0,
     1, NULL},
    {0},
};

/* Equal parts of each LLC domain, as evenly as whole cores allow. */
static void spread(const struct policy_input *input, size_t *counts)
{
    size_t jobs = input->job_count, next = 0;

    memset(counts, 0,
           input->machine->llc_domains * jobs * sizeof(*counts));
    for (size_t i = 0; i < input->machine->llc_domains; i++)
        for (size_t c = 0; c < input->workspace->pool[i]; c++)
            counts[i * jobs + next++ % jobs]++;
}

/* How much faster JOB, whose threads are as many under time sharing as alone, would seem on
 * CORES, because fewer wait for each other. */
static double sync_gain(const struct policy_input *input, const struct policy_job *job,
                        double cores)
{
    double all = (double)machine_all_cpus(input->machine);

    if (!job->profile)
        return 1;
    return (1 - workload_sync(job->profile, cores / all)) /
           (1 - workload_sync(job->profile, (double)job->max_cores / all));
}

/* Sum of the jobs' speeds under time sharing relative to those alone. */
static double shared_sum(const struct policy_input *input)
{
    struct policy_workspace *ws = input->workspace;
    double lost = 1 - 1 / (double)input->job_count, sum = 0;
    double cores = (double)divide_pool(input) / (double)input->job_count;

    predict_alone(input, ws->alone);
    spread(input, ws->layout);
    predict_layout(input, ws->layout, ws->speed);
    for (size_t j = 0; j < input->job_count; j++) {
        const struct policy_job *job = &input->jobs[j];
        double sync = job->profile ? job->profile->sync_share : 0;
        /* A serial job uses one core only, and mostly gets it. */
        double relative = job->kind == REGION_SERIAL
                              ? 1
                              : ws->speed[j] / ws->alone[j] /
                                    sync_gain(input, job, cores);
        sum += relative * (1 - sync * lost);
    }
    return sum;
}

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    bool known = predict_begin(input);

    (void)memory;
    if (known)
        proposal->figure[SUM] = shared_sum(input);
    proposal->figure[KNOWN] = known;
    bool together =
        !known || proposal->figure[SUM] > 1 + input->options[GAIN];
    proposal->mode = together ? POLICY_NATIVE : POLICY_TURNS;
    for (size_t j = 0; j < input->job_count; j++)
        proposal->cores[j] =
            together || j == 0 ? input->jobs[j].max_cores : 0;
    return MODEL_OK;
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    bool together = proposal->mode == POLICY_NATIVE;

    if (!proposal->figure[KNOWN])
        snprintf(text, size, "the kernel shares the time while the profile of "
                             "job %u is unknown",
                 predict_unknown(input) ? predict_unknown(input)->id : 0);
    else
        snprintf(text, size, "%s: time sharing is predicted to do %.2f of what "
                             "running in turn does",
                 together ? "the kernel shares the time" : "one after the other",
                 proposal->figure[SUM]);
}

const struct policy policy_best_simple = {
    .name = "best-simple",
    .help = "the better one of native and batch, by prediction",
    .options = options,
    .profiles = true,
    .decide = decide,
    .explain = explain,
};
