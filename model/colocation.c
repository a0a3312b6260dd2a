/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How near to its cores a job's interleaved pages should lie. */

#include "model/colocation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/aggregated_mva.h"

struct colocation {
    const struct machine *machine;
    struct aggregated_mva *aggregated;
    size_t jobs;
    struct workload **moved; /* [jobs] profiles with their pages elsewhere */
    const struct workload **profile; /* [jobs] */
    double *near;  /* [numa_nodes] */
    double *speed; /* [jobs] */
    double *even;  /* [jobs] the same with share 0 */
};

struct colocation *colocation_new(const struct machine *machine, size_t jobs)
{
    struct colocation *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->machine = machine;
    c->jobs = jobs;
    c->aggregated = aggregated_new(machine, jobs);
    c->moved = calloc(jobs, sizeof(*c->moved));
    c->profile = calloc(jobs, sizeof(*c->profile));
    c->near = calloc(machine->numa_nodes + 2 * jobs, sizeof(*c->near));
    bool done = c->aggregated && c->moved && c->profile && c->near;
    for (size_t j = 0; done && j < jobs; j++)
        done = (c->moved[j] = workload_new(machine->numa_nodes)) != NULL;
    if (!done) {
        colocation_free(c);
        return NULL;
    }
    c->speed = c->near + machine->numa_nodes;
    c->even = c->speed + jobs;
    return c;
}

void colocation_free(struct colocation *c)
{
    if (!c)
        return;
    for (size_t j = 0; c->moved && j < c->jobs; j++)
        workload_free(c->moved[j]);
    aggregated_free(c->aggregated);
    free(c->moved);
    free(c->profile);
    free(c->near);
    free(c);
}

double colocation_share(size_t i)
{
    return (double)i / (COLOCATION_SHARES - 1);
}

/* The parts of job number J's cores on each NUMA node; false: it has none. */
static bool find_near(struct colocation *c, const size_t *counts, size_t count, size_t j)
{
    const struct machine *m = c->machine;
    double sum = 0;

    memset(c->near, 0, m->numa_nodes * sizeof(*c->near));
    for (size_t i = 0; i < m->llc_domains; i++) {
        c->near[m->local_node[i]] += (double)counts[i * count + j];
        sum += (double)counts[i * count + j];
    }
    for (size_t k = 0; k < m->numa_nodes; k++)
        c->near[k] /= sum;
    return sum > 0;
}

/* TO is FROM with its pages by near share SHARE. */
static void move_pages(const struct colocation *c, const struct workload *from, double share,
                       struct workload *to)
{
    struct workload_rate *rate = to->rate, all = workload_total(from);

    *to = *from;
    to->rate = rate;
    for (size_t k = 0; k < from->numa_nodes; k++) {
        double part = share * c->near[k] + (1 - share) / (double)from->numa_nodes;
        rate[k].mrr_per_us = part * all.mrr_per_us;
        rate[k].read_per_us = part * all.read_per_us;
    }
}

/* The pages of all that MOVE by near share SHARE, and the speeds that come of it. */
static void predict(struct colocation *c, const struct workload *const *profile,
                    const bool *moves, size_t count, const size_t *counts, double share)
{
    for (size_t j = 0; j < count; j++) {
        c->profile[j] = profile[j];
        if (!moves[j] || !find_near(c, counts, count, j))
            continue;
        move_pages(c, profile[j], share, c->moved[j]);
        c->profile[j] = c->moved[j];
    }
    aggregated_prepare(c->aggregated, c->profile, count);
    aggregated_predict(c->aggregated, counts, c->speed);
}

void colocation_compare(struct colocation *c, const struct workload *const *profile,
                        const bool *moves, size_t count, const size_t *counts, double *value)
{
    double moving = 0;

    for (size_t j = 0; j < count; j++)
        moving += moves[j];
    for (size_t i = 0; i < COLOCATION_SHARES; i++) {
        double worst = 0;
        predict(c, profile, moves, count, counts, colocation_share(i));
        if (i == 0)
            memcpy(c->even, c->speed, count * sizeof(*c->even));
        value[i] = 0;
        for (size_t j = 0; j < count; j++) {
            double gain = c->even[j] > 0 ? log(c->speed[j] / c->even[j]) : 0;
            worst = fmin(worst, gain);
            value[i] += gain / moving;
        }
        if (worst < -COLOCATION_LOSS)
            value[i] = worst;
    }
}
