/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Speeds of a mix by a closed network with one class per job: fast. */

#include "model/lumped.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 500
#define SETTLED 1e-5
#define FULL 0.999 /* most that posted requests leave to reads */

struct lumped {
    const struct machine *machine;
    size_t max_jobs;
    const struct workload *const *profile;
    size_t count;
    size_t groups;
    size_t *member;  /* [groups] a memory node of each */
    size_t *members; /* [groups] how many */
    size_t *group;   /* [mem_nodes] */
    double *delay;   /* [cpu_nodes * groups] sum over members of the links */
    double *queue;   /* [max_jobs * groups] */
    double *total;   /* [groups] queue of all */
    double *posted;  /* [groups] utilisation */
    double *cores;   /* [max_jobs] */
    double *links;   /* [max_jobs] time on links per unit of computing */
    double *time;    /* [max_jobs] per unit of computing */
};

struct lumped *lumped_new(const struct machine *machine, size_t jobs)
{
    size_t nodes = machine->cpu_nodes, memories = machine->mem_nodes;
    struct lumped *l;

    if (!jobs || !(l = calloc(1, sizeof(*l))))
        return NULL;
    l->machine = machine;
    l->max_jobs = jobs;
    l->member = calloc(3 * memories, sizeof(*l->member));
    l->delay = calloc(nodes * memories + jobs * memories + 2 * memories +
                          3 * jobs,
                      sizeof(*l->delay));
    if (!l->member || !l->delay) {
        lumped_free(l);
        return NULL;
    }
    l->members = l->member + memories;
    l->group = l->members + memories;
    l->queue = l->delay + nodes * memories;
    l->total = l->queue + jobs * memories;
    l->posted = l->total + memories;
    l->cores = l->posted + memories;
    l->links = l->cores + jobs;
    l->time = l->links + jobs;
    return l;
}

void lumped_free(struct lumped *l)
{
    if (!l)
        return;
    free(l->member);
    free(l->delay);
    free(l);
}

/* True when all jobs treat the memory nodes A and B alike. */
static bool alike(const struct lumped *l, size_t a, size_t b)
{
    if (l->machine->controller_service_us[a] !=
        l->machine->controller_service_us[b])
        return false;
    for (size_t j = 0; j < l->count; j++) {
        const struct workload_rate *rate = l->profile[j]->rate;
        if (rate[a].mrr_per_us != rate[b].mrr_per_us ||
            rate[a].read_per_us != rate[b].read_per_us)
            return false;
    }
    return true;
}

static void find_groups(struct lumped *l)
{
    l->groups = 0;
    for (size_t m = 0; m < l->machine->mem_nodes; m++) {
        size_t g = 0;
        while (g < l->groups && !alike(l, l->member[g], m))
            g++;
        if (g == l->groups) {
            l->member[g] = m;
            l->members[g] = 0;
            l->groups++;
        }
        l->members[g]++;
        l->group[m] = g;
    }
}

static void sum_delays(struct lumped *l)
{
    const struct machine *machine = l->machine;

    memset(l->delay, 0,
           machine->cpu_nodes * l->groups * sizeof(*l->delay));
    for (size_t i = 0; i < machine->cpu_nodes; i++)
        for (size_t m = 0; m < machine->mem_nodes; m++) {
            const struct machine_route *route =
                &machine->route[i * machine->mem_nodes + m];
            for (size_t k = 0; k < route->links; k++)
                l->delay[i * l->groups + l->group[m]] +=
                    machine->link_service_us[route->link[k]];
        }
}

void lumped_prepare(struct lumped *l, const struct workload *const *profile,
                    size_t count)
{
    l->profile = profile;
    l->count = count;
    find_groups(l);
    sum_delays(l);
    memset(l->queue, 0, count * l->groups * sizeof(*l->queue));
    for (size_t j = 0; j < count; j++)
        l->time[j] = 1;
}

static double reads(const struct lumped *l, size_t j, size_t g)
{
    return l->profile[j]->rate[l->member[g]].read_per_us;
}

/* Cores of each job, and what its reads spend on links. */
static void take_counts(struct lumped *l, const size_t *counts)
{
    memset(l->cores, 0, l->count * sizeof(*l->cores));
    memset(l->links, 0, l->count * sizeof(*l->links));
    for (size_t i = 0; i < l->machine->cpu_nodes; i++)
        for (size_t j = 0; j < l->count; j++) {
            double n = (double)counts[i * l->count + j];
            if (n == 0)
                continue;
            l->cores[j] += n;
            for (size_t g = 0; g < l->groups; g++)
                l->links[j] += n * reads(l, j, g) * l->delay[i * l->groups + g];
        }
    for (size_t j = 0; j < l->count; j++)
        if (l->cores[j] > 0)
            l->links[j] /= l->cores[j];
}

/* Queues and posted utilisation of all jobs. */
static void add_up(struct lumped *l)
{
    memset(l->total, 0, l->groups * sizeof(*l->total));
    memset(l->posted, 0, l->groups * sizeof(*l->posted));
    for (size_t j = 0; j < l->count; j++)
        for (size_t g = 0; g < l->groups && l->cores[j] > 0; g++) {
            const struct workload_rate *rate =
                &l->profile[j]->rate[l->member[g]];
            l->total[g] += l->queue[j * l->groups + g];
            l->posted[g] += l->cores[j] / l->time[j] *
                            fmax(0, rate->mrr_per_us - rate->read_per_us) *
                            l->machine->controller_service_us[l->member[g]];
        }
}

/* Renew job J; returns the relative change of its time. */
static double renew(struct lumped *l, size_t j)
{
    double time = 1 + l->links[j], before = l->time[j], full = 0;
    double *queue = &l->queue[j * l->groups];

    for (size_t g = 0; g < l->groups; g++) {
        size_t m = l->member[g];
        const struct workload_rate *rate = &l->profile[j]->rate[m];
        double seen = l->total[g] - queue[g] / l->cores[j];
        double response = rate->read_per_us *
                          l->machine->controller_service_us[m] * (1 + seen) /
                          (1 - fmin(l->posted[g], FULL));
        if (rate->mrr_per_us > rate->read_per_us)
            full = fmax(full, l->posted[g] / FULL);
        time += (double)l->members[g] * response;
        l->total[g] -= queue[g];
        queue[g] = response; /* so far per unit of computing */
    }
    /* Where posted requests would saturate, all who make them wait. */
    time = fmax(time, before * full);
    for (size_t g = 0; g < l->groups; g++) {
        queue[g] *= l->cores[j] / time;
        l->total[g] += queue[g]; /* for the next job of this round */
    }
    l->time[j] = time;
    return fabs(time - before) / time;
}

void lumped_predict(struct lumped *l, const size_t *counts, double *speed)
{
    double change = 1;

    take_counts(l, counts);
    /* The solution before is the first guess. */
    for (int round = 0; round < ROUNDS && change > SETTLED; round++) {
        change = 0;
        add_up(l);
        for (size_t j = 0; j < l->count; j++)
            if (l->cores[j] > 0)
                change = fmax(change, renew(l, j));
    }
    for (size_t j = 0; j < l->count; j++)
        speed[j] = l->cores[j] > 0 ? l->cores[j] / l->time[j] : 0;
}
