/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From what was measured of a region to what policies may know of it. */

#include "node_agent/core/plan_facts.h"

#include <math.h>

/* Fewer units of work say more about when we looked than about the job. */
#define ENOUGH_WORK 16

/* Shorter than this a region was on its way to other cores. */
#define ENOUGH_NS 20000000u

/* The finest unit with enough work at each point, or COUNTERS_UNITS. */
static size_t common_unit(const struct measure *m)
{
    for (size_t unit = 0; unit < COUNTERS_UNITS; unit++) {
        bool enough = true;
        for (size_t i = 0; i < MEASURE_POINTS; i++)
            if (m->point[i].dop && m->point[i].time_ns &&
                m->point[i].work[unit] < ENOUGH_WORK)
                enough = false;
        if (enough)
            return unit;
    }
    return COUNTERS_UNITS;
}

static void fill_points(struct plan_facts *f, const struct measure *m)
{
    size_t unit = common_unit(m), count = 0;

    for (size_t i = 0; i < MEASURE_POINTS && unit < COUNTERS_UNITS; i++) {
        const struct measure_point *p = &m->point[i];
        if (!p->dop || !p->time_ns)
            continue;
        f->points[count++] = (struct station_sample){
            .cores = p->dop,
            .throughput = p->work[unit] / (double)p->time_ns,
            .weight = (double)p->time_ns,
        };
    }
    f->facts.points = f->points;
    f->facts.point_count = count;
}

/* From the counters at the present number of cores. */
static void fill_counted(struct plan_facts *f, const struct loop *loop,
                         size_t llc_domains)
{
    struct loop_cycles c = loop_cycles(loop);

    if (loop->llc_domains != llc_domains || !(loop->total_us > 0))
        return;
    for (size_t i = 0; i < llc_domains; i++) {
        double misses = 0;
        for (size_t m = 0; m < loop->numa_nodes; m++)
            misses += loop->read_misses[i * loop->numa_nodes + m];
        if (!loop->cores[i] || !(loop->llc_accesses[i] > 0))
            continue;
        f->llc_access[i] = loop->llc_accesses[i] / loop->total_us;
        f->llc_miss[i] = misses / loop->total_us;
    }
    if (c.useful > 0)
        f->facts.cpu_share = c.useful / (c.useful + c.stalled);
}

/* Earlier runs may have been shorter: what is left is never less than a part of
 * what has been done. */
#define LEFT_LEAST 0.05

void plan_facts_fill(struct plan_facts *f, const struct job *job, size_t dop,
                     size_t llc_domains)
{
    const struct measure *measure =
        job->region ? &job->region->measure : NULL;

    policy_facts_init(&f->facts);
    f->facts.done_s = job->done_s;
    if (job->expected_s > 0)
        f->facts.left_s = fmax(job->expected_s - job->done_s,
                               LEFT_LEAST * job->done_s);
    for (size_t i = 0; i < llc_domains; i++)
        f->llc_access[i] = f->llc_miss[i] = NAN;
    f->facts.llc_access = f->llc_access;
    f->facts.llc_miss = f->llc_miss;
    f->facts.counted = job->regions.counted;
    if (!measure)
        return;
    fill_points(f, measure);
    const struct measure_point *now = measure_find(measure, dop);
    if (now && now->loop)
        fill_counted(f, now->loop, llc_domains);
}

/* Work in a second at A relative to that at B, or NAN. */
static double relative_rate(const struct measure_point *a,
                            const struct measure_point *b)
{
    for (size_t unit = 0; a && b && unit < COUNTERS_UNITS; unit++)
        if (a->time_ns >= ENOUGH_NS && b->time_ns >= ENOUGH_NS &&
            a->work[unit] >= ENOUGH_WORK && b->work[unit] >= ENOUGH_WORK)
            return a->work[unit] / (double)a->time_ns /
                   (b->work[unit] / (double)b->time_ns);
    return NAN;
}

void plan_facts_alone(struct plan_facts *f, const struct job *job, size_t whole)
{
    const struct region *longest = job->regions.first;
    double known = 0, all = 0, need = 0;

    for (const struct region *s = longest; s; s = s->next)
        if (s->run_ns > longest->run_ns)
            longest = s;
    const struct measure_point *point = longest ? region_usual(longest, whole) : NULL;
    size_t usual = point ? point->dop : 0;
    for (const struct region *s = job->regions.first; s && usual; s = s->next) {
        double relative = relative_rate(measure_find(&s->measure, usual),
                                        measure_find(&s->measure, whole));
        all += (double)s->run_ns;
        if (isnan(relative))
            continue;
        known += (double)s->run_ns;
        need += relative * (double)s->run_ns;
    }
    f->facts.shared_cores = usual;
    f->facts.alone_need = known > all / 2 ? need / known : NAN;
}

bool plan_facts_mean(const struct job *job, struct workload *mean)
{
    double time = 0, asked = 0, known = 0; /* requests: all, and those of known locality */

    for (size_t m = 0; m < mean->numa_nodes; m++)
        mean->rate[m] = (struct workload_rate){0};
    mean->sync_share = mean->llc_per_us = mean->locality = 0;
    mean->llc_power = mean->llc_cores = mean->stall_factor = 0;
    for (const struct region *s = job->regions.first; s; s = s->next)
        time += s->profile ? (double)s->run_ns : 0;
    for (const struct region *s = job->regions.first; s && time > 0;
         s = s->next) {
        double part = (double)s->run_ns / time;
        if (!s->profile)
            continue;
        double requests = part * workload_total(s->profile).mrr_per_us;
        for (size_t m = 0; m < mean->numa_nodes; m++) {
            mean->rate[m].mrr_per_us += part * s->profile->rate[m].mrr_per_us;
            mean->rate[m].read_per_us += part * s->profile->rate[m].read_per_us;
        }
        if (!isnan(s->profile->locality)) {
            known += requests;
            mean->locality += requests * s->profile->locality;
        }
        mean->sync_share += part * s->profile->sync_share;
        mean->llc_per_us += part * s->profile->llc_per_us;
        asked += requests;
        mean->llc_power += requests * s->profile->llc_power;
        mean->llc_cores += requests * s->profile->llc_cores;
        mean->stall_factor += requests * s->profile->stall_factor;
    }
    if (asked > 0) {
        mean->llc_power /= asked;
        mean->llc_cores = fmax(1, mean->llc_cores / asked);
        mean->stall_factor /= asked;
    } else {
        mean->stall_factor = 1;
    }
    mean->locality = known > 0 ? fmin(1, mean->locality / known) : NAN;
    /* Rounding must not make more reads than requests. */
    for (size_t m = 0; m < mean->numa_nodes; m++)
        mean->rate[m].mrr_per_us = fmax(mean->rate[m].mrr_per_us,
                                        mean->rate[m].read_per_us);
    return time > 0;
}
