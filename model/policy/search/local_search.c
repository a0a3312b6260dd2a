/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Local search over layouts. */

#include "model/policy/search/local_search.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

struct local_searcher {
    const struct local_search_input *in;
    size_t *layout;
    struct local_search_result result;
    bool stop; /* no looks left, or no value */
};

/* Cores of job J on LLC domain I; of nobody, as a job after the last. */
static size_t *cell(const struct local_searcher *c, size_t i, size_t j)
{
    return j < c->in->jobs ? &c->layout[i * c->in->jobs + j] : &c->in->scratch[i].free;
}

static size_t total(const struct local_searcher *c, size_t j)
{
    size_t sum = 0;

    for (size_t i = 0; i < c->in->llc_domains; i++)
        sum += *cell(c, i, j);
    return sum;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool alike(const struct local_searcher *c, size_t i, size_t k)
{
    return (!c->in->kind || c->in->kind[k] == c->in->kind[i]) &&
           memcmp(cell(c, k, 0), cell(c, i, 0),
                  c->in->jobs * sizeof(*c->layout)) == 0;
}

/* Find the looks of all LLC domains.  Steps make them stale, but the sweep that
 * ends the search takes none. */
static void find_kinds(struct local_searcher *c)
{
    for (size_t i = 0; i < c->in->llc_domains; i++) {
        size_t k = 0;
        while (k < i && (c->in->scratch[k].copies || !alike(c, i, k)))
            k++;
        c->in->scratch[i].first = k;
        c->in->scratch[i].copies = 0;
        for (size_t n = k; n < i; n++)
            c->in->scratch[i].copies += c->in->scratch[n].first == k;
    }
}

/* Sizes of a step of up to MOST cores: all, half, one.  0 after the last. */
static size_t smaller(size_t size, size_t most)
{
    size_t half = (most + 1) / 2;

    return size > half ? half : size > 1 ? 1 : 0;
}

/* Judge the layout; true when it is better by more than GAIN than what was. */
static bool gains(struct local_searcher *c, double gain)
{
    if (c->result.evaluations == c->in->evaluations) {
        c->stop = true;
        return false;
    }
    double value = c->in->value(c->in->arg, c->layout);
    c->result.evaluations++;
    c->stop |= isnan(value);
    if (!(value > c->result.value + gain))
        return false;
    c->result.value = value;
    c->result.steps++;
    return true;
}

static void carry(struct local_searcher *c, size_t i, size_t from, size_t to,
                  size_t count)
{
    *cell(c, i, from) -= count;
    *cell(c, i, to) += count;
}

/* Bounds of job A's cores; nobody has any number. */
static size_t min_of(const struct local_searcher *c, size_t a)
{
    return a < c->in->jobs ? c->in->min[a] : 0;
}

static size_t max_of(const struct local_searcher *c, size_t a)
{
    return a < c->in->jobs ? c->in->max[a] : SIZE_MAX;
}

/* Job A hands cores on LLC domain I to B. */
static bool give(struct local_searcher *c, size_t i, size_t a, size_t b)
{
    size_t spare = total(c, a) - min_of(c, a);
    size_t most = least(*cell(c, i, a), least(spare, max_of(c, b) - total(c, b)));
    double gain = b < c->in->jobs ? c->in->gain : c->in->idle_gain;

    for (size_t n = most; n && !c->stop; n = smaller(n, most)) {
        carry(c, i, a, b, n);
        if (gains(c, gain))
            return true;
        carry(c, i, b, a, n);
    }
    return false;
}

/* Job A's cores on LLC domain I against B's on K. */
static bool swap(struct local_searcher *c, size_t i, size_t a, size_t k, size_t b)
{
    size_t most = least(*cell(c, i, a), *cell(c, k, b));

    for (size_t n = most; n && !c->stop; n = smaller(n, most)) {
        carry(c, i, a, b, n);
        carry(c, k, b, a, n);
        if (gains(c, c->in->gain))
            return true;
        carry(c, k, a, b, n);
        carry(c, i, b, a, n);
    }
    return false;
}

/* Up to COUNT cores of job A on each LLC domain go to B. */
static void carry_everywhere(struct local_searcher *c, size_t a, size_t b, size_t count)
{
    for (size_t i = 0; i < c->in->llc_domains; i++) {
        c->in->scratch[i].levied = least(*cell(c, i, a), count);
        carry(c, i, a, b, c->in->scratch[i].levied);
    }
}

static void return_levy(struct local_searcher *c, size_t a, size_t b)
{
    for (size_t i = 0; i < c->in->llc_domains; i++)
        carry(c, i, b, a, c->in->scratch[i].levied);
}

/* Job A hands cores on all its LLC domains to B. */
static bool levy(struct local_searcher *c, size_t a, size_t b)
{
    size_t most = 0;

    for (size_t i = 0; i < c->in->llc_domains; i++)
        most = *cell(c, i, a) > most ? *cell(c, i, a) : most;
    for (size_t n = smaller(most, most); n && !c->stop; n = smaller(n, most)) {
        carry_everywhere(c, a, b, n);
        if (total(c, a) >= c->in->min[a] && total(c, b) <= c->in->max[b] &&
            gains(c, c->in->gain))
            return true;
        return_levy(c, a, b);
    }
    return false;
}

static bool levy_all(struct local_searcher *c)
{
    bool better = false;

    for (size_t a = 0; a < c->in->jobs; a++)
        for (size_t b = 0; b < c->in->jobs; b++)
            better |= a != b && levy(c, a, b);
    return better;
}

static bool give_all(struct local_searcher *c)
{
    bool better = false;

    for (size_t i = 0; i < c->in->llc_domains; i++) {
        if (c->in->scratch[i].copies)
            continue;
        for (size_t a = 0; a <= c->in->jobs; a++)
            for (size_t b = 0; b <= c->in->jobs && *cell(c, i, a); b++)
                better |= a != b && give(c, i, a, b);
    }
    return better;
}

/* All swaps of LLC domains I and K > I. */
static bool swap_nodes(struct local_searcher *c, size_t i, size_t k)
{
    bool better = false;

    for (size_t a = 0; a <= c->in->jobs; a++)
        for (size_t b = 0; b <= c->in->jobs && *cell(c, i, a); b++)
            better |= a != b && *cell(c, k, b) && swap(c, i, a, k, b);
    return better;
}

/* Of each pair of looks one pair of LLC domains, of a look with itself too. */
static bool swap_all(struct local_searcher *c)
{
    const struct local_search_kind *look = c->in->scratch;
    bool better = false;

    for (size_t i = 0; i < c->in->llc_domains; i++)
        for (size_t k = i + 1; k < c->in->llc_domains && !c->stop; k++)
            if (!look[i].copies &&
                (!look[k].copies ||
                 (look[k].copies == 1 && look[k].first == i)))
                better |= swap_nodes(c, i, k);
    return better;
}

static void trade(struct local_searcher *c, size_t a, size_t b)
{
    for (size_t i = 0; i < c->in->llc_domains; i++) {
        size_t cores = *cell(c, i, a);
        *cell(c, i, a) = *cell(c, i, b);
        *cell(c, i, b) = cores;
    }
}

static bool trade_all(struct local_searcher *c)
{
    bool better = false;

    for (size_t a = 0; a < c->in->jobs; a++)
        for (size_t b = a + 1; b < c->in->jobs && !c->stop; b++) {
            size_t of_a = total(c, a), of_b = total(c, b);
            if (of_b < c->in->min[a] || of_b > c->in->max[a] ||
                of_a < c->in->min[b] || of_a > c->in->max[b])
                continue;
            trade(c, a, b);
            if (gains(c, c->in->gain))
                better = true;
            else
                trade(c, a, b);
        }
    return better;
}

/* Cores that nobody has, of the pool or of none. */
static void find_free(struct local_searcher *c)
{
    for (size_t i = 0; i < c->in->llc_domains; i++) {
        size_t *free = &c->in->scratch[i].free;
        *free = c->in->pool ? c->in->pool[i] : 0;
        for (size_t j = 0; j < c->in->jobs && c->in->pool; j++)
            *free -= *cell(c, i, j);
    }
}

struct local_search_result local_search(const struct local_search_input *in, size_t *layout)
{
    struct local_searcher c = {.in = in, .layout = layout};
    bool better = true;

    find_free(&c);
    c.result.value = in->value(in->arg, layout);
    c.result.evaluations = 1;
    c.stop = isnan(c.result.value);
    while (better && !c.stop) {
        find_kinds(&c);
        better = trade_all(&c);
        better |= give_all(&c);
        better |= swap_all(&c);
        better = better || levy_all(&c);
    }
    c.result.converged = !c.stop;
    return c.result;
}
