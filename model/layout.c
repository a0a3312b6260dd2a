/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* On which LLC domains a job's cores lie. */

#include "model/layout.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rounding must not move cores. */
#define BETTER 1e-9

#define NOBODY SIZE_MAX

/* Cores of a job, or of nobody, on an LLC domain that may go elsewhere. */
struct part {
    size_t node, job;
};

struct layout_scratch {
    size_t *free;  /* [llc_domains] nobody's */
    size_t *total; /* [jobs] cores now */
    size_t *order; /* [jobs] who grows, the one with most to get first */
    struct part *part; /* [llc_domains * (jobs + 1)] */
};

struct making {
    const struct layout_input *in;
    struct layout_scratch *scratch;
    size_t *layout;
    size_t parts;
};

struct layout_scratch *layout_scratch_new(size_t llc_domains, size_t jobs)
{
    struct layout_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return NULL;
    scratch->free = calloc(llc_domains + 2 * jobs, sizeof(*scratch->free));
    scratch->part = calloc(llc_domains * (jobs + 1), sizeof(*scratch->part));
    if (!scratch->free || !scratch->part) {
        layout_scratch_free(scratch);
        return NULL;
    }
    scratch->total = scratch->free + llc_domains;
    scratch->order = scratch->total + jobs;
    return scratch;
}

void layout_scratch_free(struct layout_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->free);
    free(scratch->part);
    free(scratch);
}

static size_t *cell(const struct making *m, size_t i, size_t j)
{
    return &m->layout[i * m->in->jobs + j];
}

static size_t had(const struct making *m, size_t i, size_t j)
{
    return m->in->have[i * m->in->jobs + j];
}

static double distance(const struct making *m, size_t i, size_t j)
{
    return m->in->distance && j != NOBODY ? m->in->distance[i * m->in->jobs + j]
                                          : 0;
}

static double noise(const struct making *m, size_t i)
{
    return m->in->noise ? m->in->noise[i] : 0;
}

static void take_stock(struct making *m)
{
    const struct layout_input *in = m->in;

    memset(m->scratch->total, 0, in->jobs * sizeof(*m->scratch->total));
    for (size_t i = 0; i < in->llc_domains; i++) {
        m->scratch->free[i] = in->pool[i];
        for (size_t j = 0; j < in->jobs; j++) {
            *cell(m, i, j) = had(m, i, j);
            m->scratch->free[i] -= had(m, i, j);
            m->scratch->total[j] += had(m, i, j);
        }
    }
}

/* -1, 0 or 1: A is less than, about, more than B. */
static int order(double a, double b)
{
    double limit = BETTER * fmax(fabs(a), fabs(b));

    return a < b - limit ? -1 : a > b + limit;
}

/* ---- greedy ------------------------------------------------------------- */

/* True when job J should rather leave LLC domain A than B: where it has least,
 * then the far one, then the one that is used most. */
static bool leaves_rather(const struct making *m, size_t j, size_t a, size_t b)
{
    if (*cell(m, a, j) != *cell(m, b, j))
        return *cell(m, a, j) < *cell(m, b, j);
    int far = order(distance(m, a, j), distance(m, b, j));
    return far ? far > 0 : order(noise(m, a), noise(m, b)) > 0;
}

static void shrink(struct making *m, size_t j)
{
    while (m->scratch->total[j] > m->in->cores[j]) {
        size_t best = NOBODY, excess = m->scratch->total[j] - m->in->cores[j];

        for (size_t i = 0; i < m->in->llc_domains; i++)
            if (*cell(m, i, j) &&
                (best == NOBODY || leaves_rather(m, j, i, best)))
                best = i;
        size_t count = *cell(m, best, j) < excess ? *cell(m, best, j) : excess;
        *cell(m, best, j) -= count;
        m->scratch->free[best] += count;
        m->scratch->total[j] -= count;
    }
}

/* True when job J, which wants NEED more cores, should rather join LLC domain A
 * than B: one where it is already, then one that takes all it wants and has
 * least to spare, then the one with most, then the near one, then the one that
 * is used least. */
static bool joins_rather(const struct making *m, size_t j, size_t need,
                         size_t a, size_t b)
{
    const size_t *free = m->scratch->free;
    bool own_a = *cell(m, a, j), own_b = *cell(m, b, j);

    if (own_a != own_b)
        return own_a;
    if (!own_a && free[a] != free[b]) {
        if ((free[a] >= need) != (free[b] >= need))
            return free[a] >= need;
        return free[a] >= need ? free[a] < free[b] : free[a] > free[b];
    }
    int far = order(distance(m, a, j), distance(m, b, j));
    return far ? far < 0 : order(noise(m, a), noise(m, b)) < 0;
}

static void grow(struct making *m, size_t j)
{
    while (m->scratch->total[j] < m->in->cores[j]) {
        size_t best = NOBODY, need = m->in->cores[j] - m->scratch->total[j];

        for (size_t i = 0; i < m->in->llc_domains; i++)
            if (m->scratch->free[i] &&
                (best == NOBODY || joins_rather(m, j, need, i, best)))
                best = i;
        if (best == NOBODY)
            return;
        size_t count = m->scratch->free[best] < need ? m->scratch->free[best] : need;
        *cell(m, best, j) += count;
        m->scratch->free[best] -= count;
        m->scratch->total[j] += count;
    }
}

/* Those with most to get first: what they leave is for small ones. */
static void grow_all(struct making *m)
{
    size_t count = 0, *order = m->scratch->order;

    for (size_t j = 0; j < m->in->jobs; j++) {
        size_t need = m->in->cores[j] - m->scratch->total[j], at = count++;
        for (; at && m->in->cores[order[at - 1]] -
                             m->scratch->total[order[at - 1]] < need;
             at--)
            order[at] = order[at - 1];
        order[at] = j;
    }
    for (size_t k = 0; k < count; k++)
        grow(m, order[k]);
}

/* ---- exchanges ---------------------------------------------------------- */

static bool shrinks(const struct making *m, size_t j)
{
    size_t before = 0;

    for (size_t i = 0; i < m->in->llc_domains; i++)
        before += had(m, i, j);
    return before > m->in->cores[j];
}

/* room->order is used for this after grow_all(). */
static bool shrinker(const struct making *m, size_t j)
{
    return m->scratch->order[j];
}

/* Cores that job J may take off LLC domain I, and put there, without more moves:
 * who grew has kept what it had, who shrank has taken nothing. */
static size_t may_leave(const struct making *m, size_t i, size_t j)
{
    if (j == NOBODY)
        return m->scratch->free[i];
    return shrinker(m, j) ? *cell(m, i, j) : *cell(m, i, j) - had(m, i, j);
}

static size_t may_join(const struct making *m, size_t i, size_t j)
{
    if (j == NOBODY || !shrinker(m, j))
        return SIZE_MAX;
    return had(m, i, j) - *cell(m, i, j);
}

static void find_parts(struct making *m)
{
    m->parts = 0;
    for (size_t i = 0; i < m->in->llc_domains; i++) {
        for (size_t j = 0; j < m->in->jobs; j++)
            if (may_leave(m, i, j))
                m->scratch->part[m->parts++] = (struct part){i, j};
        if (m->scratch->free[i])
            m->scratch->part[m->parts++] = (struct part){i, NOBODY};
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Change of the number of parts when job J takes COUNT from A to B. */
static int parts_change(const struct making *m, size_t j, size_t a, size_t b,
                        size_t count)
{
    if (j == NOBODY)
        return 0;
    return (*cell(m, b, j) == 0) - (*cell(m, a, j) == count);
}

static void carry(struct making *m, size_t j, size_t a, size_t b, size_t count)
{
    *(j == NOBODY ? &m->scratch->free[a] : cell(m, a, j)) -= count;
    *(j == NOBODY ? &m->scratch->free[b] : cell(m, b, j)) += count;
}

/* Exchange as many cores as possible of P and Q if that is better. */
static bool exchange(struct making *m, const struct part *p,
                     const struct part *q)
{
    size_t a = p->node, b = q->node;

    if (a == b || p->job == q->job)
        return false;
    size_t count = least(least(may_leave(m, a, p->job), may_leave(m, b, q->job)),
                         least(may_join(m, b, p->job), may_join(m, a, q->job)));
    if (!count)
        return false;
    int parts = parts_change(m, p->job, a, b, count) +
                parts_change(m, q->job, b, a, count);
    double before = distance(m, a, p->job) + distance(m, b, q->job);
    double after = distance(m, b, p->job) + distance(m, a, q->job);
    if (parts > 0 || (parts == 0 && order(after, before) >= 0))
        return false;
    carry(m, p->job, a, b, count);
    carry(m, q->job, b, a, count);
    return true;
}

/* Exchange what part P can.  False when EVALUATIONS are used up. */
static bool exchange_part(struct making *m, size_t p, size_t *evaluations,
                          bool *better)
{
    for (size_t q = p + 1; q < m->parts; q++) {
        if (!*evaluations)
            return false;
        --*evaluations;
        *better |= exchange(m, &m->scratch->part[p], &m->scratch->part[q]);
    }
    return true;
}

static void exchange_all(struct making *m)
{
    size_t evaluations = m->in->evaluations;
    bool better = true;

    for (size_t j = 0; j < m->in->jobs; j++)
        m->scratch->order[j] = shrinks(m, j);
    while (better) {
        better = false;
        find_parts(m);
        for (size_t p = 0; p < m->parts; p++)
            if (!exchange_part(m, p, &evaluations, &better))
                return;
    }
}

void layout_make(const struct layout_input *in, struct layout_scratch *scratch,
                 size_t *layout)
{
    struct making m = {.in = in, .scratch = scratch, .layout = layout};

    take_stock(&m);
    for (size_t j = 0; j < in->jobs; j++)
        shrink(&m, j);
    grow_all(&m);
    exchange_all(&m);
}

/* ---- distance ----------------------------------------------------------- */

void layout_cores(const size_t *layout, size_t llc_domains, size_t jobs,
                  size_t *cores)
{
    memset(cores, 0, jobs * sizeof(*cores));
    for (size_t c = 0; c < llc_domains * jobs; c++)
        cores[c % jobs] += layout[c];
}

void layout_delays(const struct machine *machine, double *delay)
{
    for (size_t i = 0; i < machine->llc_domains; i++)
        for (size_t m = 0; m < machine->numa_nodes; m++)
            delay[i * machine->numa_nodes + m] =
                machine->links            ? machine_route_us(machine, i, m)
                : machine->local_node[i] == (int)m ? 0
                                             : MACHINE_DEFAULT_SERVICE_US;
}

void layout_distance(const struct machine *machine, const double *delay,
                     const struct workload *profile, size_t stride,
                     double *distance)
{
    for (size_t i = 0; i < machine->llc_domains; i++) {
        double sum = 0;
        for (size_t m = 0; profile && m < machine->numa_nodes; m++)
            sum += profile->rate[m].mrr_per_us *
                   delay[i * machine->numa_nodes + m];
        distance[i * stride] = sum;
    }
}
