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

/* Cores of a job, or of nobody, on an LLC domain, some of which may go elsewhere. */
struct part {
    size_t node, job;
    size_t cores; /* NOBODY's are not counted as parts: SIZE_MAX */
    size_t spare; /* that may go */
    double distance;
};

struct layout_scratch {
    size_t *free;  /* [llc_domains] nobody's */
    size_t *total; /* [jobs] cores now */
    size_t *order; /* [jobs] who grows, the one with most to get first */
    size_t *open;  /* [llc_domains] where cores are free, in order */
    bool *shrinks; /* [jobs] has more now than it shall get */
    struct part *part; /* [llc_domains * (jobs + 1)] */
};

struct making {
    const struct layout_input *in;
    struct layout_scratch *scratch;
    size_t *layout;
    size_t parts, open, rest; /* of scratch->part, of scratch->open; cores that are free */
    bool some_shrink;
};

struct layout_scratch *layout_scratch_new(size_t llc_domains, size_t jobs)
{
    struct layout_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return NULL;
    scratch->free = calloc(2 * (llc_domains + jobs), sizeof(*scratch->free));
    scratch->shrinks = calloc(jobs, sizeof(*scratch->shrinks));
    scratch->part = calloc(llc_domains * (jobs + 1), sizeof(*scratch->part));
    if (!scratch->free || !scratch->shrinks || !scratch->part) {
        layout_scratch_free(scratch);
        return NULL;
    }
    scratch->total = scratch->free + llc_domains;
    scratch->order = scratch->total + jobs;
    scratch->open = scratch->order + jobs;
    return scratch;
}

void layout_scratch_free(struct layout_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->free);
    free(scratch->shrinks);
    free(scratch->part);
    free(scratch);
}

static size_t *cell(const struct making *m, size_t i, size_t j)
{
    return &m->layout[i * m->in->jobs + j];
}

static size_t had(const struct making *m, size_t i, size_t j)
{
    return m->in->have ? m->in->have[i * m->in->jobs + j] : 0;
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

/* Nobody has anything. */
static void begin_empty(struct making *m)
{
    const struct layout_input *in = m->in;

    memset(m->scratch->total, 0, in->jobs * sizeof(*m->scratch->total));
    memset(m->scratch->shrinks, 0, in->jobs * sizeof(*m->scratch->shrinks));
    memset(m->layout, 0, in->llc_domains * in->jobs * sizeof(*m->layout));
    memcpy(m->scratch->free, in->pool, in->llc_domains * sizeof(*m->scratch->free));
}

static void take_stock(struct making *m)
{
    const struct layout_input *in = m->in;
    const size_t *had_here = in->have;
    size_t *total = m->scratch->total;

    memset(total, 0, in->jobs * sizeof(*total));
    memcpy(m->layout, in->have, in->llc_domains * in->jobs * sizeof(*m->layout));
    for (size_t i = 0; i < in->llc_domains; i++, had_here += in->jobs) {
        size_t free_here = in->pool[i];
        for (size_t j = 0; j < in->jobs; j++) {
            free_here -= had_here[j];
            total[j] += had_here[j];
        }
        m->scratch->free[i] = free_here;
    }
    for (size_t j = 0; j < in->jobs; j++)
        m->some_shrink |= m->scratch->shrinks[j] = total[j] > in->cores[j];
}

/* -1, 0 or 1: A is less than, about, more than B. */
static int order(double a, double b)
{
    if (a == b)
        return 0;
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

/* True when job J should rather have a core on LLC domain A than on B, of those that are alike
 * otherwise: the near one, then the one that is used least. */
static bool is_better(const struct making *m, size_t j, size_t a, size_t b)
{
    int far = order(distance(m, a, j), distance(m, b, j));
    return far ? far < 0 : order(noise(m, a), noise(m, b)) < 0;
}

/* How much a job that wants NEED more cores likes an LLC domain with FREE ones: most where it has
 * some already, then the one that takes all it wants and has least to spare, then the one with
 * most. */
static size_t fit(bool own, size_t free, size_t need)
{
    return own ? SIZE_MAX : free >= need ? SIZE_MAX - 1 - (free - need) : free;
}

/* The index in scratch->open of the LLC domain that job J should join, which wants NEED more. */
static size_t find_site(const struct making *m, size_t j, size_t need)
{
    const size_t *open = m->scratch->open, *free = m->scratch->free;
    bool alike = !m->in->distance && !m->in->noise;
    bool only = m->in->cores[j] == 1; /* it has none yet: what it touches will be here */
    size_t best = 0, best_fit = 0;

    for (size_t n = 0; n < m->open; n++) {
        size_t here = only ? free[open[n]] : fit(*cell(m, open[n], j) > 0, free[open[n]], need);
        if (here < best_fit ||
            (here == best_fit && (alike || !is_better(m, j, open[n], open[best]))))
            continue;
        best = n;
        best_fit = here;
    }
    return best;
}

static void grow(struct making *m, size_t j)
{
    size_t *free = m->scratch->free, *open = m->scratch->open;

    while (m->scratch->total[j] < m->in->cores[j] && m->open) {
        size_t need = m->in->cores[j] - m->scratch->total[j];
        size_t at = need < m->rest ? find_site(m, j, need) : 0; /* or it takes all */
        size_t node = open[at], count = free[node] < need ? free[node] : need;

        *cell(m, node, j) += count;
        free[node] -= count;
        m->rest -= count;
        m->scratch->total[j] += count;
        if (!free[node])
            memmove(&open[at], &open[at + 1], (--m->open - at) * sizeof(*open));
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
    m->open = m->rest = 0;
    for (size_t i = 0; i < m->in->llc_domains; i++)
        if (m->scratch->free[i]) {
            m->scratch->open[m->open++] = i;
            m->rest += m->scratch->free[i];
        }
    for (size_t k = 0; k < count; k++)
        grow(m, order[k]);
}

/* ---- exchanges ---------------------------------------------------------- */

/* Cores that job J may take off LLC domain I, and put there, without more moves:
 * who grew has kept what it had, who shrank has taken nothing. */
static size_t may_leave(const struct making *m, size_t i, size_t j)
{
    if (j == NOBODY)
        return m->scratch->free[i];
    return m->scratch->shrinks[j] ? *cell(m, i, j) : *cell(m, i, j) - had(m, i, j);
}

static size_t may_join(const struct making *m, size_t i, size_t j)
{
    if (j == NOBODY || !m->scratch->shrinks[j])
        return SIZE_MAX;
    return had(m, i, j) - *cell(m, i, j);
}

static void fill_part(const struct making *m, struct part *part)
{
    part->cores = part->job == NOBODY ? SIZE_MAX : *cell(m, part->node, part->job);
    part->spare = may_leave(m, part->node, part->job);
}

static void add_part(struct making *m, size_t i, size_t j)
{
    struct part *part = &m->scratch->part[m->parts];

    *part = (struct part){.node = i, .job = j, .distance = distance(m, i, j)};
    fill_part(m, part);
    m->parts += part->spare > 0;
}

static void find_parts(struct making *m)
{
    m->parts = 0;
    for (size_t i = 0; i < m->in->llc_domains; i++) {
        const size_t *here = cell(m, i, 0);
        /* Who has a whole LLC domain gains nothing by another one, unless that is nearer. */
        size_t most = m->in->distance ? SIZE_MAX : m->in->pool[i];
        for (size_t j = 0; j < m->in->jobs; j++)
            if (here[j] && here[j] < most)
                add_part(m, i, j);
        if (m->scratch->free[i])
            add_part(m, i, NOBODY);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* True when job J gets a part more by cores on LLC domain I. */
static bool begins(const struct making *m, size_t i, size_t j)
{
    return j != NOBODY && *cell(m, i, j) == 0;
}

static void carry(struct making *m, size_t j, size_t a, size_t b, size_t count)
{
    *(j == NOBODY ? &m->scratch->free[a] : cell(m, a, j)) -= count;
    *(j == NOBODY ? &m->scratch->free[b] : cell(m, b, j)) += count;
}

/* True when a core of P and one of Q, exchanged, are nearer to their jobs' memory. */
static bool is_nearer(const struct making *m, const struct part *p, const struct part *q)
{
    if (!m->in->distance)
        return false;
    double before = p->distance + q->distance;
    double after = distance(m, q->node, p->job) + distance(m, p->node, q->job);

    return order(after, before) < 0;
}

/* Exchange as many cores as possible of P and Q if that is better. */
static bool exchange(struct making *m, const struct part *p, const struct part *q)
{
    size_t a = p->node, b = q->node, count = least(p->spare, q->spare);

    if (a == b || p->job == q->job)
        return false;
    if (m->some_shrink)
        count = least(count, least(may_join(m, b, p->job), may_join(m, a, q->job)));
    if (!count)
        return false;
    int parts = begins(m, b, p->job) + begins(m, a, q->job) - (count == p->cores) -
                (count == q->cores);
    if (parts > 0 || (parts == 0 && !is_nearer(m, p, q)))
        return false;
    carry(m, p->job, a, b, count);
    carry(m, q->job, b, a, count);
    /* This changes what other parts may spare, too. */
    for (size_t n = 0; n < m->parts; n++)
        fill_part(m, &m->scratch->part[n]);
    return true;
}

/* Exchange what part P can.  False when EVALUATIONS are used up. */
static bool exchange_part(struct making *m, size_t p, size_t *evaluations, bool *better)
{
    size_t rest = m->parts - p - 1, count = least(rest, *evaluations);
    const struct part *part = &m->scratch->part[p];

    for (size_t n = 1; n <= count; n++)
        *better |= exchange(m, part, part + n);
    *evaluations -= count;
    return count == rest;
}

static void exchange_all(struct making *m)
{
    size_t evaluations = m->in->evaluations;
    bool better = true;

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

    if (in->have)
        take_stock(&m);
    else
        begin_empty(&m);
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
    for (size_t i = 0; i < llc_domains; i++, layout += jobs)
        for (size_t j = 0; j < jobs; j++)
            cores[j] += layout[j];
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
