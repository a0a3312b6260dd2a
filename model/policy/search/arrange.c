/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From numbers of cores to the best layout nearby, by the outlook. */

#include "model/policy/search/arrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/search/climb.h"
#include "model/policy/search/workspace.h"

/* A new layout must be better than the present one by this part, and a step of
 * the search by that. */
#define STAY 5e-3
#define STEP 1e-3

struct arrange {
    struct climb_look *look; /* [cpu_nodes] */
    size_t *kind;            /* [cpu_nodes] */
    size_t *start;           /* [cpu_nodes * POLICY_MAX_JOBS] */
    struct outlook *outlook; /* while arranging */
    const double *fair;
};

struct arrange *arrange_new(const struct machine *machine)
{
    size_t nodes = machine->cpu_nodes;
    struct arrange *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->look = calloc(nodes, sizeof(*a->look));
    a->kind = calloc(nodes * (1 + POLICY_MAX_JOBS), sizeof(*a->kind));
    if (!a->look || !a->kind) {
        arrange_free(a);
        return NULL;
    }
    a->start = a->kind + nodes;
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

/* KIND[cpu_nodes] for climb(): CPU nodes with as many cores in the pool and as far
 * from all memory are alike. */
static void find_kinds(const struct policy_input *in, size_t *kind)
{
    const struct policy_workspace *ws = in->workspace;
    size_t jobs = in->job_count;

    for (size_t i = 0; i < in->machine->cpu_nodes; i++) {
        size_t k = 0;
        while (k < i && (ws->pool[k] != ws->pool[i] ||
                         memcmp(&ws->distance[k * jobs],
                                &ws->distance[i * jobs],
                                jobs * sizeof(*ws->distance)) != 0))
            k++;
        kind[i] = k;
    }
}

/* The present layout into LAYOUT; false when it is out of bounds or leaves
 * cores unused that somebody may have. */
static bool present(const struct policy_input *in, size_t *layout)
{
    size_t total[POLICY_MAX_JOBS], jobs = in->job_count;
    bool unused = false, room = false;

    placement_present(in, layout);
    layout_cores(layout, in->machine->cpu_nodes, jobs, total);
    for (size_t cpu = 0; cpu < in->machine->cpus; cpu++)
        unused |= in->owner[cpu] == POLICY_NOBODY;
    for (size_t j = 0; j < jobs; j++) {
        if (total[j] < in->jobs[j].min_cores ||
            total[j] > in->jobs[j].max_cores)
            return false;
        room |= total[j] < in->jobs[j].max_cores;
    }
    return !(unused && room);
}

static double worth_of(void *arg, const size_t *layout)
{
    struct arrange *a = arg;
    double time;

    if (outlook_layout(a->outlook, layout, &time) != MODEL_OK)
        return NAN;
    return -outlook_cost(a->outlook, a->fair);
}

/* Where the search for a layout of CORES begins: where it is now, as usual, or as
 * if nobody had a CPU, as a search by single steps does not find its way from
 * scattered cores to whole CPU nodes.  Who moves more must gain more.  Returns its
 * worth. */
static double begin(struct arrange *a, const size_t *cores, size_t *layout)
{
    const struct policy_input *in = a->outlook->in;
    size_t size = in->machine->cpu_nodes * in->job_count * sizeof(*layout);
    double best = present(in, layout) ? worth_of(a, layout) : NAN;

    for (int fresh = 0; fresh < 2; fresh++) {
        if (fresh)
            placement_fresh(in, cores, a->start);
        else
            placement_counts(in, cores, a->start);
        double worth = worth_of(a, a->start);
        if (isnan(best) || worth > best + STAY * fabs(best)) {
            memcpy(layout, a->start, size);
            best = worth;
        }
    }
    return best;
}

void arrange(struct arrange *a, struct outlook *outlook, const double *fair,
             size_t looks, size_t *cores, size_t *layout)
{
    const struct policy_input *in = outlook->in;
    size_t jobs = in->job_count, nodes = in->machine->cpu_nodes;
    size_t min[POLICY_MAX_JOBS], max[POLICY_MAX_JOBS];

    a->outlook = outlook;
    a->fair = fair;
    double value = begin(a, cores, layout);
    find_kinds(in, a->kind);
    for (size_t j = 0; j < jobs; j++) {
        min[j] = in->jobs[j].min_cores;
        max[j] = in->jobs[j].max_cores;
    }
    struct climb_input search = {.cpu_nodes = nodes,
                                 .jobs = jobs,
                                 .kind = a->kind,
                                 .pool = in->workspace->pool,
                                 .min = min,
                                 .max = max,
                                 .value = worth_of,
                                 .arg = a,
                                 .gain = STEP * fabs(value),
                                 .looks = looks + 1,
                                 .room = a->look};
    climb(&search, layout);
    worth_of(a, layout); /* the outlook is the layout's again */
    layout_cores(layout, nodes, jobs, cores);
}
