/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "nupoco": NuPoCo's two steps, greedy number of cores, then adaptive
 * placement.  While the situation is that of the last decision, each further
 * one is a step of thesis algorithm 3 (model/adaptive.h): cores change places
 * between LLC domains by their measured LLC accesses, and no job gains or loses
 * one.  A step that the closed network (model/aggregated_mva.h) predicts to slow the jobs
 * down is not taken, which the papers do not ask: even use of the caches may
 * mean busier links.  Counters that cannot see the LLC, as `progress`, give it nothing to
 * work on; the placement is then the common one of model/policy/search/placement.h. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/adaptive.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"
#include "model/policy/shares.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

/* A profile whose rates changed by more than this calls for other numbers of
 * cores rather than for other places. */
#define DRIFT 0.05

/* Index into policy_input.options. */
enum { PLACEMENT = POLICY_OWN, THRESHOLD, SWAP };
enum { ADAPTIVE, COMMON, PAPER };

static const struct policy_option options[] = {
    {"placement",
     "swap cores by LLC use between decisions where no loss is predicted, never, "
     "or always",
     ADAPTIVE, ADAPTIVE, PAPER, "adaptive|common|paper"},
    {"threshold", "ratio of LLC accesses of two LLC domains that calls for a swap",
     ADAPTIVE_THRESHOLD, 1, 100, NULL},
    {"swap", "cores that change places at once", ADAPTIVE_CORES, 1, 64, NULL},
    {NULL, NULL, 0, 0, 0, NULL},
};

/* Of policy_proposal.figure, behind those of greedy_dop(). */
enum { ADAPTED = 2, SWAPS, CORES, FIRST };
#define REFUSED FIRST /* where there are no swaps */

struct nupoco {
    double *access, *miss; /* [llc_domains * POLICY_MAX_JOBS] */
    struct adaptive_swap *swap; /* [llc_domains] */
    size_t *order;              /* [llc_domains] */
    size_t jobs; /* of the last greedy decision */
    uint32_t id[POLICY_MAX_JOBS];
    double rate[POLICY_MAX_JOBS]; /* requests per us of all NUMA nodes */
    bool swapped; /* cores of these jobs */
};

static void nupoco_free(void *memory)
{
    struct nupoco *n = memory;

    free(n->access);
    free(n->swap);
    free(n->order);
    free(n);
}

static void *nupoco_init(const struct machine *machine)
{
    size_t nodes = machine->llc_domains, cells = nodes * POLICY_MAX_JOBS;
    struct nupoco *n = calloc(1, sizeof(*n));

    if (!n)
        return NULL;
    n->access = calloc(2 * cells, sizeof(*n->access));
    n->swap = calloc(nodes, sizeof(*n->swap));
    n->order = calloc(nodes, sizeof(*n->order));
    if (!n->access || !n->swap || !n->order) {
        nupoco_free(n);
        return NULL;
    }
    n->miss = n->access + cells;
    return n;
}

/* ---- the same jobs as before? ------------------------------------------- */

static double rate_of(const struct policy_job *job)
{
    return job->profile ? workload_total(job->profile).mrr_per_us : 0;
}

static void remember(struct nupoco *n, const struct policy_input *in)
{
    n->jobs = in->job_count;
    for (size_t j = 0; j < in->job_count; j++) {
        n->id[j] = in->jobs[j].id;
        n->rate[j] = rate_of(&in->jobs[j]);
    }
}

/* The place of job ID in what is remembered; n->jobs: it is not. */
static size_t find(const struct nupoco *n, uint32_t id)
{
    size_t j = 0;

    while (j < n->jobs && n->id[j] != id)
        j++;
    return j;
}

static bool same_jobs(const struct nupoco *n, const struct policy_input *in)
{
    for (size_t j = 0; j < in->job_count; j++)
        if (find(n, in->jobs[j].id) == n->jobs)
            return false;
    return n->jobs == in->job_count;
}

static bool drifted(const struct nupoco *n, const struct policy_job *job)
{
    double now = rate_of(job);
    size_t j = find(n, job->id);

    return j == n->jobs ||
           fabs(now - n->rate[j]) > DRIFT * fmax(now, n->rate[j]);
}

/* Who begins with what a power budget has left never gets a core back. */
static bool has_budget(const struct policy_input *in)
{
    return in->options[POLICY_POWER] > 0 && machine_has_power(in->machine);
}

static bool settled(const struct nupoco *n, const struct policy_input *in)
{
    if (has_budget(in) || !in->state || !state_same(in->state, in) || predict_unknown(in))
        return false;
    for (size_t j = 0; j < in->job_count; j++)
        if (drifted(n, &in->jobs[j]))
            return false;
    return true;
}

/* True when counters see the LLC, so that there will be something to go by.
 * Without, further decisions would only repeat the first. */
static bool seen(const struct policy_input *in)
{
    for (size_t j = 0; j < in->job_count; j++)
        if (in->jobs[j].kind == REGION_PARALLEL &&
            !(in->jobs[j].profile && in->jobs[j].profile->llc_per_us > 0))
            return false;
    return in->job_count > 1;
}

/* ---- algorithm 3 -------------------------------------------------------- */

/* Present places into LAYOUT, and what was measured there.  A job in a serial
 * region whose cache use nobody counts is taken to have none. */
static void measure(const struct policy_input *in, struct nupoco *n,
                    size_t *layout)
{
    size_t jobs = in->job_count;

    placement_present(in, layout);
    for (size_t j = 0; j < jobs; j++) {
        const struct policy_facts *facts = in->jobs[j].facts;
        double unknown = in->jobs[j].kind == REGION_SERIAL ? 0 : NAN;
        for (size_t i = 0; i < in->machine->llc_domains; i++) {
            double access = facts && facts->llc_access ? facts->llc_access[i]
                                                       : NAN;
            n->access[i * jobs + j] = isnan(access) ? unknown : access;
            n->miss[i * jobs + j] =
                facts && facts->llc_miss ? facts->llc_miss[i] : NAN;
        }
    }
}

/* How much faster the jobs would be in the mean as LAYOUT has them than as they
 * are in NOW: 1 for no change. */
static double speedup(const struct policy_input *in, const size_t *now,
                      const size_t *layout)
{
    double before[POLICY_MAX_JOBS], after[POLICY_MAX_JOBS], sum = 0;

    predict_layout(in, now, before);
    predict_layout(in, layout, after);
    for (size_t j = 0; j < in->job_count; j++)
        sum += before[j] > 0 ? after[j] / before[j] : 1;
    return sum / (double)in->job_count;
}

/* Would whole LLC domains, which undo what the swaps have gained, gain more? */
static bool worth_regrouping(const struct policy_input *in,
                             const struct policy_proposal *proposal)
{
    size_t *fresh = in->workspace->fresh;

    if (!predict_begin(in))
        return false;
    placement_counts(in, proposal->cores, proposal->layout);
    placement_fresh(in, proposal->cores, fresh);
    return speedup(in, proposal->layout, fresh) >
           1 + in->options[POLICY_HYSTERESIS];
}

/* One step into PROPOSAL; false when there is nothing to go by. */
static bool adapt(const struct policy_input *in, struct nupoco *n,
                  struct policy_proposal *proposal)
{
    struct adaptive_input step = {
        .llc_domains = in->machine->llc_domains,
        .jobs = in->job_count,
        .pool = in->workspace->pool,
        .access = n->access,
        .miss = n->miss,
        .threshold = in->options[THRESHOLD],
        .cores = (size_t)in->options[SWAP],
    };

    measure(in, n, proposal->layout);
    if (!adaptive_possible(&step, proposal->layout))
        return false;
    size_t cells = in->machine->llc_domains * in->job_count;
    size_t *now = in->workspace->have;
    memcpy(now, proposal->layout, cells * sizeof(*now));
    size_t swaps = adaptive_step(&step, proposal->layout, n->swap, n->order);
    if (swaps && in->options[PLACEMENT] == ADAPTIVE &&
        predict_begin(in) &&
        speedup(in, now, proposal->layout) < 1) {
        memcpy(proposal->layout, now, cells * sizeof(*now));
        proposal->figure[REFUSED] = 1;
        swaps = 0;
    }
    n->swapped |= swaps > 0;
    proposal->figure[ADAPTED] = 1;
    proposal->figure[SWAPS] = (double)swaps;
    for (size_t s = 0; s < swaps; s++)
        proposal->figure[CORES] += (double)n->swap[s].cores;
    if (swaps)
        proposal->figure[FIRST] =
            fmin(n->swap[0].busy_access / n->swap[0].idle_access, 999);
    layout_cores(proposal->layout, in->machine->llc_domains, in->job_count,
                 proposal->cores);
    proposal->placed = proposal->own_rules = true;
    return true;
}

/* ---- the policy --------------------------------------------------------- */

static enum model_status nupoco_decide(const struct policy_input *in,
                                       void *memory,
                                       struct policy_proposal *proposal)
{
    struct nupoco *n = memory;

    proposal->periodic = in->options[PLACEMENT] != COMMON && !has_budget(in) && seen(in);
    if (in->options[PLACEMENT] == COMMON || !settled(n, in) ||
        !adapt(in, n, proposal)) {
        n->swapped &= same_jobs(n, in);
        remember(n, in);
        greedy_dop(in, proposal);
        if (n->swapped)
            proposal->keeps = !worth_regrouping(in, proposal);
    } else if (predict_begin(in))
        proposal->system_util = predict_utilisation(in, proposal->layout).system;
    return MODEL_OK;
}

static void nupoco_explain(const struct policy_input *in,
                           const struct policy_proposal *proposal, char *text,
                           size_t size)
{
    const double *figure = proposal->figure;

    if (!(figure[ADAPTED] > 0))
        greedy_explain(in, proposal, text, size);
    else if (figure[SWAPS] > 0)
        snprintf(text, size, "%.0f cores change places between %.0f LLC "
                             "domains, of which the busiest has %.1f times the "
                             "LLC accesses of the idlest",
                 2 * figure[CORES], 2 * figure[SWAPS], figure[FIRST]);
    else if (figure[REFUSED] > 0)
        snprintf(text, size, "to even out the LLC accesses of LLC domains is "
                             "predicted to slow the jobs down");
    else
        snprintf(text, size, "no swap of cores would even out the LLC "
                             "accesses of LLC domains further");
}

const struct policy policy_nupoco = {
    .name = "nupoco",
    .help = "greedy by predicted system utilisation, then placement by LLC use",
    .options = options,
    .profiles = true,
    .init = nupoco_init,
    .free = nupoco_free,
    .decide = nupoco_decide,
    .value = greedy_value,
    .explain = nupoco_explain,
};
