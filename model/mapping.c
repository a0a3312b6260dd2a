/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Thread mapping (mapping.h).
 *
 * What a round needs is the largest V of each node among threads without a place.  Each node has a
 * heap of threads by V; placed ones are removed when they come to the top.  A top that is placed
 * is still a bound from above, so nodes whose bound is not close to the best are left alone. */

#include "model/mapping.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct mapping_scratch {
    double *column; /* [nodes * threads] V by node */
    double *impact; /* [threads * nodes] IF; NAN: not computed yet */
    double *load;   /* [nodes] LC or CP so far */
    size_t *left;   /* [nodes] free cores */
    size_t *heap;   /* [nodes * threads] */
    size_t *size;   /* [nodes] of the heap */
    bool *placed;   /* [threads] */
    size_t *top;    /* [nodes], of the heap */
    double *bound;  /* [nodes] V of the top: no thread without a place has more */
    size_t *open;   /* [open_nodes], those with free cores */
    size_t open_nodes;
    size_t *trial;  /* [threads] */
    struct mapping_candidate *candidates; /* [nodes] */
};

struct mapping_scratch *mapping_scratch_new(size_t threads, size_t nodes)
{
    struct mapping_scratch *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->column = calloc(threads * nodes, sizeof(*s->column));
    s->impact = calloc(threads * nodes, sizeof(*s->impact));
    s->load = calloc(nodes, sizeof(*s->load));
    s->left = calloc(nodes, sizeof(*s->left));
    s->heap = calloc(threads * nodes, sizeof(*s->heap));
    s->size = calloc(nodes, sizeof(*s->size));
    s->placed = calloc(threads, sizeof(*s->placed));
    s->top = calloc(nodes, sizeof(*s->top));
    s->bound = calloc(nodes, sizeof(*s->bound));
    s->open = calloc(nodes, sizeof(*s->open));
    s->trial = calloc(threads, sizeof(*s->trial));
    s->candidates = calloc(nodes, sizeof(*s->candidates));
    if (s->column && s->impact && s->load && s->left && s->heap && s->size && s->placed &&
        s->top && s->bound && s->open && s->trial && s->candidates)
        return s;
    mapping_scratch_free(s);
    return NULL;
}

void mapping_scratch_free(struct mapping_scratch *s)
{
    if (!s)
        return;
    free(s->column);
    free(s->impact);
    free(s->load);
    free(s->left);
    free(s->heap);
    free(s->size);
    free(s->placed);
    free(s->top);
    free(s->bound);
    free(s->open);
    free(s->trial);
    free(s->candidates);
    free(s);
}

static bool is_valid(const struct mapping_input *in)
{
    size_t cores = 0;

    if (!in->threads || !in->nodes || !(in->closeness > 0) || in->closeness > 1)
        return false;
    for (size_t j = 0; j < in->nodes; j++)
        cores += in->cores[j] < in->threads ? in->cores[j] : in->threads;
    for (size_t i = 0; i < in->threads * in->nodes; i++)
        if (!isfinite(in->requests[i]) || in->requests[i] < 0)
            return false;
    for (size_t j = 0; j < in->nodes; j++)
        for (size_t k = 0; k < in->nodes; k++) {
            double f = in->factor[j * in->nodes + k];
            if (!isfinite(f) || f <= 0 || (j == k && f != 1))
                return false;
        }
    return cores >= in->threads;
}

static void forget_impact(const struct mapping_input *in, struct mapping_scratch *s)
{
    for (size_t i = 0; i < in->threads * in->nodes; i++)
        s->impact[i] = NAN;
}

/* IF(i, j), eq. 4.  Few of them are ever asked for, those often: they are kept.  Four sums do not
 * wait for each other. */
static double impact(const struct mapping_input *in, struct mapping_scratch *s, size_t i, size_t j)
{
    const double *f = in->factor + j * in->nodes, *v = in->requests + i * in->nodes;
    double *kept = &s->impact[i * in->nodes + j], sum[4] = {0};
    size_t k = 0;

    if (!isnan(*kept))
        return *kept;
    for (; k + 4 <= in->nodes; k += 4)
        for (size_t n = 0; n < 4; n++)
            sum[n] += f[k + n] * v[k + n];
    for (; k < in->nodes; k++)
        sum[0] += f[k] * v[k];
    return *kept = sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* ---- heaps of threads by V, lower threads first ---------------------------- */

static bool comes_before(const double *value, size_t a, size_t b)
{
    return value[a] > value[b] || (value[a] == value[b] && a < b);
}

/* Put the element at AT where it belongs below.  What is there comes from the bottom and mostly
 * goes back there: the way down compares children only, then it is taken up again. */
static void sift_down(const double *value, size_t *heap, size_t size, size_t at)
{
    size_t thread = heap[at], hole = at;

    for (size_t child; (child = 2 * hole + 1) < size; hole = child) {
        if (child + 1 < size && comes_before(value, heap[child + 1], heap[child]))
            child++;
        heap[hole] = heap[child];
    }
    for (size_t parent; hole > at; hole = parent) {
        parent = (hole - 1) / 2;
        if (!comes_before(value, thread, heap[parent]))
            break;
        heap[hole] = heap[parent];
    }
    heap[hole] = thread;
}

static void build_heaps(const struct mapping_input *in, struct mapping_scratch *s)
{
    for (size_t j = 0; j < in->nodes; j++) {
        double *value = s->column + j * in->threads;
        size_t *heap = s->heap + j * in->threads;
        for (size_t i = 0; i < in->threads; i++) {
            value[i] = in->requests[i * in->nodes + j];
            heap[i] = i;
        }
        for (size_t at = in->threads / 2; at-- > 0;)
            sift_down(value, heap, in->threads, at);
        s->size[j] = in->threads;
    }
}

static void note_top(const struct mapping_input *in, struct mapping_scratch *s, size_t node)
{
    s->top[node] = s->heap[node * in->threads];
    s->bound[node] = s->column[node * in->threads + s->top[node]];
}

/* Make the top of NODE a thread without a place, of which there is one, unless its V is below
 * LEAST. */
static void find_top(const struct mapping_input *in, struct mapping_scratch *s, size_t node,
                     double least)
{
    const double *value = s->column + node * in->threads;
    size_t *heap = s->heap + node * in->threads;

    while (s->bound[node] >= least && s->placed[s->top[node]]) {
        heap[0] = heap[--s->size[node]];
        sift_down(value, heap, s->size[node], 0);
        note_top(in, s, node);
    }
}

/* ---- rounds ----------------------------------------------------------------- */

static size_t find_candidates(enum mapping_rule rule, const struct mapping_input *in,
                              struct mapping_scratch *s)
{
    size_t count = 0;
    double least = 0;

    for (size_t n = 0; n < s->open_nodes; n++) {
        size_t j = s->open[n];
        if (s->bound[j] < least)
            continue;
        if (s->placed[s->top[j]])
            find_top(in, s, j, least);
        double close = in->closeness * s->bound[j];
        least = close > least ? close : least;
    }
    for (size_t n = 0; n < s->open_nodes; n++) {
        size_t j = s->open[n];
        if (s->bound[j] < least)
            continue;
        struct mapping_candidate *c = &s->candidates[count++];
        c->node = j;
        c->thread = s->top[j];
        c->cost = s->load[j] + (rule == MAPPING_CRITICAL ? impact(in, s, c->thread, j) : 0);
    }
    return count;
}

/* Is A better than B? */
static bool is_better(const struct mapping_scratch *s, const struct mapping_candidate *a,
                      const struct mapping_candidate *b)
{
    double va = s->bound[a->node], vb = s->bound[b->node];

    if (a->cost != b->cost)
        return a->cost < b->cost;
    return va > vb || (va == vb && a->thread < b->thread);
}

static void close_node(struct mapping_scratch *s, size_t node)
{
    size_t n = 0;

    while (s->open[n] != node)
        n++;
    s->open_nodes--;
    memmove(s->open + n, s->open + n + 1, (s->open_nodes - n) * sizeof(*s->open));
}

static void choose(enum mapping_rule rule, const struct mapping_input *in,
                   struct mapping_scratch *s, struct mapping_result *result)
{
    size_t count = find_candidates(rule, in, s), chosen = 0;

    for (size_t n = 1; n < count; n++)
        if (is_better(s, &s->candidates[n], &s->candidates[chosen]))
            chosen = n;
    const struct mapping_candidate *c = &s->candidates[chosen];
    s->load[c->node] = rule == MAPPING_CRITICAL ? c->cost : c->cost + s->bound[c->node];
    s->placed[c->thread] = true;
    result->node[c->thread] = c->node;
    if (--s->left[c->node] == 0)
        close_node(s, c->node);
    if (result->round)
        result->round(result->arg, s->candidates, count, chosen);
}

/* What result->node comes to. */
static void sum_up(const struct mapping_input *in, struct mapping_scratch *s,
                   struct mapping_result *result)
{
    memset(result->critical, 0, in->nodes * sizeof(*result->critical));
    result->local = result->critical_path = 0;
    for (size_t i = 0; i < in->threads; i++) {
        size_t j = result->node[i];
        result->local += in->requests[i * in->nodes + j];
        result->critical[j] += impact(in, s, i, j);
    }
    for (size_t j = 0; j < in->nodes; j++)
        result->critical_path = fmax(result->critical_path, result->critical[j]);
}

static void begin_rounds(const struct mapping_input *in, struct mapping_scratch *s)
{
    forget_impact(in, s);
    build_heaps(in, s);
    memset(s->load, 0, in->nodes * sizeof(*s->load));
    memset(s->placed, 0, in->threads * sizeof(*s->placed));
    memcpy(s->left, in->cores, in->nodes * sizeof(*s->left));
    s->open_nodes = 0;
    for (size_t j = 0; j < in->nodes; j++) {
        note_top(in, s, j);
        if (in->cores[j])
            s->open[s->open_nodes++] = j;
    }
}

enum model_status mapping_make(enum mapping_rule rule, const struct mapping_input *in,
                               struct mapping_scratch *s, struct mapping_result *result)
{
    if (!is_valid(in))
        return MODEL_EINVAL;
    begin_rounds(in, s);
    for (size_t n = 0; n < in->threads; n++)
        choose(rule, in, s, result);
    sum_up(in, s, result);
    return MODEL_OK;
}

/* ---- all maps ---------------------------------------------------------------- */

double mapping_count(const struct mapping_input *in)
{
    double ways[MAPPING_MOST_THREADS + 1] = {1}; /* to place so many on the nodes so far */

    if (in->threads > MAPPING_MOST_THREADS)
        return INFINITY;
    for (size_t j = 0; j < in->nodes; j++)
        for (size_t n = in->threads; n > 0; n--) {
            double choose_here = 1;
            for (size_t here = 1; here <= n && here <= in->cores[j]; here++) {
                /* Which of these N are here, in any order. */
                choose_here *= (double)(n - here + 1) / (double)here;
                ways[n] += ways[n - here] * choose_here;
            }
        }
    return ways[in->threads];
}

struct trial {
    enum mapping_rule rule;
    const struct mapping_input *in;
    struct mapping_scratch *s;
    struct mapping_result *result;
    double best;
    bool found;
};

/* Place thread I and those after it, when the ones before are worth so much: the local accesses,
 * or the critical path, negative. */
static void try_all(struct trial *t, size_t i, double worth)
{
    size_t nodes = t->in->nodes;

    if (i == t->in->threads) {
        if (t->found && worth <= t->best)
            return;
        t->found = true;
        t->best = worth;
        memcpy(t->result->node, t->s->trial, i * sizeof(*t->s->trial));
        return;
    }
    for (size_t j = 0; j < nodes; j++) {
        if (!t->s->left[j])
            continue;
        double load = t->s->load[j], next = worth + t->in->requests[i * nodes + j];
        t->s->load[j] += impact(t->in, t->s, i, j);
        if (t->rule == MAPPING_CRITICAL)
            next = fmin(worth, -t->s->load[j]);
        t->s->left[j]--;
        t->s->trial[i] = j;
        try_all(t, i + 1, next);
        t->s->left[j]++;
        t->s->load[j] = load;
    }
}

enum model_status mapping_optimum(enum mapping_rule rule, const struct mapping_input *in,
                                  struct mapping_scratch *s, struct mapping_result *result)
{
    struct trial t = {.rule = rule, .in = in, .s = s, .result = result};

    if (!is_valid(in) || mapping_count(in) > MAPPING_MOST_MAPS)
        return MODEL_EINVAL;
    forget_impact(in, s);
    memset(s->load, 0, in->nodes * sizeof(*s->load));
    memcpy(s->left, in->cores, in->nodes * sizeof(*s->left));
    try_all(&t, 0, 0);
    sum_up(in, s, result);
    return MODEL_OK;
}

/* ---- latencies ---------------------------------------------------------------- */

void mapping_factor_uniform(size_t nodes, double ratio, double *factor)
{
    for (size_t j = 0; j < nodes; j++)
        for (size_t k = 0; k < nodes; k++)
            factor[j * nodes + k] = j == k ? 1 : ratio;
}

void mapping_factor_machine(const struct machine *machine, double *factor)
{
    size_t nodes = machine->numa_nodes;

    mapping_factor_uniform(nodes, 1, factor);
    for (size_t i = machine->llc_domains; i-- > 0;) {
        size_t j = (size_t)machine->local_node[i];
        double own = machine->controller_service_us[j];
        for (size_t k = 0; k < nodes; k++)
            if (k != j)
                factor[j * nodes + k] =
                    (machine->controller_service_us[k] + machine_route_us(machine, i, k)) / own;
    }
}
