/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was measured of one region, per number of cores. */

#include "node_agent/counters/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A region has changed when it was so many times as memory-intensive, or the
 * other way round, for so long on end; shorter than that is part of it, as the
 * serial stretches between the regions of a program that reports nothing. */
#define CHANGED 2
#define CHANGED_US 1e6

#define SYNC_MOST 0.95 /* somebody computes */

const struct measure_point *measure_find(const struct measure *m, size_t dop)
{
    for (size_t i = 0; i < MEASURE_POINTS; i++)
        if (m->point[i].dop == dop && dop)
            return &m->point[i];
    return NULL;
}

enum counters_unit measure_unit(const struct measure_point *p,
                                struct throughput_rate *rate)
{
    enum counters_unit best = COUNTERS_UNITS;
    struct throughput_rate r;

    for (enum counters_unit u = 0; p->series && u < COUNTERS_UNITS; u++)
        if (throughput_rate(&p->series[u], &r) == MODEL_OK &&
            (best == COUNTERS_UNITS || r.error < rate->error)) {
            best = u;
            *rate = r;
        }
    return best;
}

static void clear_point(struct measure_point *p)
{
    loop_free(p->loop);
    free(p->series);
    memset(p, 0, sizeof(*p));
}

bool measure_add(struct measure *m, size_t dop, uint64_t time_ns,
                 const double work[COUNTERS_UNITS])
{
    struct measure_point *p = (struct measure_point *)measure_find(m, dop);
    bool drift[COUNTERS_UNITS] = {false}, any = false;
    struct throughput_rate rate;

    if (!dop)
        return false;
    if (!p) {
        p = &m->point[0];
        for (size_t i = 1; i < MEASURE_POINTS; i++)
            if (m->point[i].time_ns < p->time_ns)
                p = &m->point[i];
        clear_point(p);
        p->dop = dop;
        p->series = calloc(COUNTERS_UNITS, sizeof(*p->series));
    }
    p->time_ns += time_ns;
    for (size_t u = 0; u < COUNTERS_UNITS; u++) {
        p->work[u] += work[u];
        if (p->series && time_ns)
            any |= drift[u] = throughput_add(&p->series[u], work[u],
                                             (double)time_ns * 1e-9);
    }
    if (!any)
        return false;
    enum counters_unit unit = measure_unit(p, &rate);
    return unit != COUNTERS_UNITS && drift[unit];
}

static bool same_cores(const struct loop *a, const struct loop *b)
{
    return a->llc_domains == b->llc_domains && a->numa_nodes == b->numa_nodes &&
           !memcmp(a->cores, b->cores, a->llc_domains * sizeof(*a->cores));
}

/* True when B knows something of an LLC domain that A does not: a sample was late, or a counter was
 * somebody else's. */
static bool knows_less(const struct loop *a, const struct loop *b)
{
    for (size_t n = 0; n < a->llc_domains; n++)
        if ((!(a->llc_accesses[n] > 0) && b->llc_accesses[n] > 0) ||
            (!(a->useful_cycles[n] > 0) && b->useful_cycles[n] > 0))
            return true;
    return false;
}

static void add(struct loop *to, const struct loop *more)
{
    double sync_us = to->sync_share * to->total_us + more->sync_share * more->total_us;

    to->total_us += more->total_us;
    to->sync_share = sync_us / to->total_us;
    for (size_t n = 0; n < to->llc_domains; n++) {
        if (!to->cores[n]) /* nothing was counted there */
            continue;
        for (size_t i = n * to->numa_nodes; i < (n + 1) * to->numa_nodes; i++) {
            to->requests[i].read += more->requests[i].read;
            to->requests[i].write += more->requests[i].write;
            to->requests[i].prefetch += more->requests[i].prefetch;
            to->read_misses[i] += more->read_misses[i];
        }
        to->llc_accesses[n] += more->llc_accesses[n];
        to->useful_cycles[n] += more->useful_cycles[n];
        to->stalled_cycles[n] += more->stalled_cycles[n];
    }
}

static const struct loop *longest(const struct measure *m)
{
    const struct loop *best = NULL;

    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct loop *l = m->point[i].loop;
        if (l && (!best || l->total_us > best->total_us))
            best = l;
    }
    return best;
}

/* What LOOP would ask if it were as BEFORE, with as many cores on each LLC as it has. */
static double expected(const struct measure *m, const struct loop *before, const struct loop *loop)
{
    struct cache_power_line line = cache_power_line(&m->power);
    double crowd = cache_power_cores(loop->cores, loop->llc_domains) /
                   cache_power_cores(before->cores, before->llc_domains);

    return loop_intensity(before) * pow(crowd, cache_power_slope(&line, CACHE_POWER_USUAL));
}

/* Has the region become another one?  What was counted is of the old one. */
static bool has_changed(struct measure *m, const struct loop *loop)
{
    const struct loop *before = longest(m);
    double old = before ? expected(m, before, loop) : NAN, now = loop_intensity(loop);
    bool odd = now > CHANGED * old || now * CHANGED < old;

    m->odd_us = odd ? m->odd_us + loop->total_us : 0;
    return m->odd_us >= CHANGED_US;
}

static void forget_loops(struct measure *m)
{
    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        loop_free(m->point[i].loop);
        m->point[i].loop = NULL;
    }
    m->power = (struct cache_power){0};
    m->odd_us = 0;
}

static struct loop *copy(const struct loop *from)
{
    struct loop *l = loop_new(from->llc_domains, from->numa_nodes);
    size_t nodes = from->llc_domains, pairs = nodes * from->numa_nodes;

    if (!l)
        return NULL;
    l->total_us = from->total_us;
    l->work = from->work;
    l->sync_share = from->sync_share;
    memcpy(l->cores, from->cores, nodes * sizeof(*l->cores));
    memcpy(l->requests, from->requests, pairs * sizeof(*l->requests));
    memcpy(l->read_misses, from->read_misses, pairs * sizeof(*l->read_misses));
    memcpy(l->llc_accesses, from->llc_accesses, nodes * sizeof(double));
    memcpy(l->useful_cycles, from->useful_cycles, nodes * sizeof(double));
    memcpy(l->stalled_cycles, from->stalled_cycles, nodes * sizeof(double));
    return l;
}

/* A process may say what it likes. */
void measure_idle(struct loop *l, double idle_us, double rounds)
{
    if (!(idle_us > 0) || !(l->total_us > 0))
        return;
    double idle = fmin(idle_us / l->total_us, SYNC_MOST);
    l->sync_share = fmax(0, 1 - (1 - idle) / rounds);
    for (size_t n = 0; n < l->llc_domains; n++) {
        double all = l->useful_cycles[n] + l->stalled_cycles[n];
        l->useful_cycles[n] = fmax(l->useful_cycles[n] - idle * all,
                                   (1 - SYNC_MOST) * l->useful_cycles[n]);
    }
}

void measure_add_loop(struct measure *m, size_t dop, const struct loop *loop)
{
    struct measure_point *p = (struct measure_point *)measure_find(m, dop);

    if (!p)
        return;
    if (has_changed(m, loop))
        forget_loops(m);
    cache_power_add(&m->power, loop);
    if (p->loop && same_cores(p->loop, loop)) {
        if (knows_less(loop, p->loop))
            return;
        if (!knows_less(p->loop, loop)) {
            add(p->loop, loop);
            return;
        }
    }
    loop_free(p->loop);
    p->loop = copy(loop);
}

void measure_clear(struct measure *m)
{
    for (size_t i = 0; i < MEASURE_POINTS; i++)
        clear_point(&m->point[i]);
    m->power = (struct cache_power){0};
    m->odd_us = 0;
}
