/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From numbers of cores to the best layout nearby, by the completion. */

#include "model/policy/search/arrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/search/local_search.h"
#include "model/policy/search/workspace.h"

/* A step of the search must gain this part.  One that leaves cores idle needs more: where a
 * prediction is wrong they are missed. */
#define STEP 1e-3
#define IDLE 3e-3

struct arrange {
    struct local_search_kind *look; /* [llc_domains] */
    size_t *kind;            /* [llc_domains] */
    size_t *start;           /* [llc_domains * POLICY_MAX_JOBS] */
    size_t *have;            /* [llc_domains * POLICY_MAX_JOBS] cores now, while arranging */
    struct completion *completion; /* while arranging */
    const double *fair;
};

struct arrange *arrange_new(const struct machine *machine)
{
    size_t nodes = machine->llc_domains;
    struct arrange *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->look = calloc(nodes, sizeof(*a->look));
    a->kind = calloc(nodes * (1 + 2 * POLICY_MAX_JOBS), sizeof(*a->kind));
    if (!a->look || !a->kind) {
        arrange_free(a);
        return NULL;
    }
    a->start = a->kind + nodes;
    a->have = a->start + nodes * POLICY_MAX_JOBS;
    return a;
}

void arrange_free(struct arrange *a)
{
    if (!a)
        return;
    free(a->look);
    free(a->kind);
    free(a);
}

/* KIND[llc_domains] for local_search(): LLC domains with as many cores in the pool and as far
 * from all memory are alike. */
static void find_kinds(const struct policy_input *in, size_t *kind)
{
    const struct policy_workspace *ws = in->workspace;
    size_t jobs = in->job_count;

    for (size_t i = 0; i < in->machine->llc_domains; i++) {
        size_t k = 0;
        while (k < i && (ws->pool[k] != ws->pool[i] ||
                         memcmp(&ws->distance[k * jobs],
                                &ws->distance[i * jobs],
                                jobs * sizeof(*ws->distance)) != 0))
            k++;
        kind[i] = k;
    }
}

/* True when each job may have as many cores as in LAYOUT. */
static bool within_bounds(const struct policy_input *in, const size_t *layout)
{
    size_t total[POLICY_MAX_JOBS], jobs = in->job_count;

    layout_cores(layout, in->machine->llc_domains, jobs, total);
    for (size_t j = 0; j < jobs; j++)
        if (total[j] < in->jobs[j].min_cores || total[j] > in->jobs[j].max_cores)
            return false;
    return true;
}

/* True when LAYOUT takes a serial job away from where it is. */
static bool uproots(const struct policy_input *in, const size_t *have, const size_t *layout)
{
    size_t jobs = in->job_count;

    for (size_t j = 0; j < jobs; j++) {
        size_t had = 0, kept = 0;
        if (in->jobs[j].kind != REGION_SERIAL)
            continue;
        for (size_t c = j; c < in->machine->llc_domains * jobs; c += jobs) {
            had += have[c];
            kept += layout[c] && have[c];
        }
        if (had && !kept)
            return true;
    }
    return false;
}

static double worth_of(void *arg, const size_t *layout)
{
    struct arrange *a = arg;

    if (uproots(a->completion->in, a->have, layout))
        return -INFINITY;
    if (isnan(completion_layout(a->completion, layout)))
        return NAN;
    return -completion_cost(a->completion, a->fair);
}

/* Where the search for a layout of CORES begins: where it is now, as usual, or as
 * if nobody had a CPU, as a search by single steps does not find its way from
 * scattered cores to whole LLC domains.  Who moves more must gain more.  NOW is the present one's
 * worth, NAN where it cannot stay.  Returns the worth of LAYOUT. */
static double begin(struct arrange *a, double now, const size_t *cores, size_t *layout)
{
    const struct policy_input *in = a->completion->in;
    size_t size = in->machine->llc_domains * in->job_count * sizeof(*layout);
    double best = now;

    memcpy(layout, a->have, size);
    for (int fresh = 0; fresh < 2; fresh++) {
        if (fresh)
            placement_fresh(in, cores, a->start);
        else
            placement_counts(in, cores, a->start);
        double worth = worth_of(a, a->start);
        if (isnan(best) || worth > best + in->options[POLICY_HYSTERESIS] * fabs(best)) {
            memcpy(layout, a->start, size);
            best = worth;
        }
    }
    return best;
}

double arrange(struct arrange *a, struct completion *completion, const double *fair,
               size_t evaluations, size_t *cores, size_t *layout, double *now)
{
    const struct policy_input *in = completion->in;
    size_t jobs = in->job_count, nodes = in->machine->llc_domains;
    size_t min[POLICY_MAX_JOBS], max[POLICY_MAX_JOBS];

    a->completion = completion;
    a->fair = fair;
    placement_present(in, a->have);
    *now = within_bounds(in, a->have) ? worth_of(a, a->have) : NAN;
    double value = begin(a, *now, cores, layout);
    find_kinds(in, a->kind);
    for (size_t j = 0; j < jobs; j++) {
        min[j] = in->jobs[j].min_cores;
        max[j] = in->jobs[j].max_cores;
    }
    struct local_search_input search = {.llc_domains = nodes,
                                 .jobs = jobs,
                                 .kind = a->kind,
                                 .pool = in->workspace->pool,
                                 .min = min,
                                 .max = max,
                                 .value = worth_of,
                                 .arg = a,
                                 .gain = STEP * fabs(value),
                                 .idle_gain = IDLE * fabs(value),
                                 .evaluations = evaluations + 1,
                                 .scratch = a->look};
    struct local_search_result found = local_search(&search, layout);
    layout_cores(layout, nodes, jobs, cores);
    return found.value;
}
