/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Thread mapping (mapping.h).
 *
 * What a round needs is the largest V of each node among threads without a place.  Each node has
 * its threads' V in blocks, and the largest of each block; a thread with a place is taken out when
 * it is found to be the largest.  Such a largest is a bound from above, so nodes whose bound is
 * not close to the best are left alone. */

#include "model/mapping.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 16

struct mapping_scratch {
    size_t stride;     /* of columns */
    double *column;    /* [nodes * stride] V by node; -1: was found to have a place */
    double *block_max; /* [nodes * blocks] the largest of each block, */
    size_t *block_top; /* and its thread */
    double *bound;     /* [nodes] of all: no thread without a place has more */
    size_t *top;       /* [nodes] its thread */
    double *cost;      /* [nodes] of placing this one; NAN: not computed since either changed */
    double *impact;    /* [threads * nodes] IF; NAN: not computed yet */
    double *load;      /* [nodes] LC or CP so far */
    size_t *left;      /* [nodes] free cores */
    size_t *open;      /* [open_nodes], those with some */
    size_t open_nodes;
    bool *placed;  /* [threads] */
    size_t *trial; /* [threads] */
    struct mapping_candidate *candidates; /* [nodes] */
};

struct mapping_scratch *mapping_scratch_new(size_t threads, size_t nodes)
{
    struct mapping_scratch *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    size_t blocks = nodes * ((threads + BLOCK - 1) / BLOCK);
    s->stride = threads + 8;
    s->column = calloc(s->stride * nodes, sizeof(*s->column));
    s->block_max = calloc(blocks, sizeof(*s->block_max));
    s->block_top = calloc(blocks, sizeof(*s->block_top));
    s->bound = calloc(nodes, sizeof(*s->bound));
    s->top = calloc(nodes, sizeof(*s->top));
    s->cost = calloc(nodes, sizeof(*s->cost));
    s->impact = calloc(threads * nodes, sizeof(*s->impact));
    s->load = calloc(nodes, sizeof(*s->load));
    s->left = calloc(nodes, sizeof(*s->left));
    s->open = calloc(nodes, sizeof(*s->open));
    s->placed = calloc(threads, sizeof(*s->placed));
    s->trial = calloc(threads, sizeof(*s->trial));
    s->candidates = calloc(nodes, sizeof(*s->candidates));
    if (s->column && s->block_max && s->block_top && s->bound && s->top && s->cost &&
        s->impact && s->load && s->left && s->open && s->placed && s->trial && s->candidates)
        return s;
    mapping_scratch_free(s);
    return NULL;
}

void mapping_scratch_free(struct mapping_scratch *s)
{
    if (!s)
        return;
    free(s->column);
    free(s->block_max);
    free(s->block_top);
    free(s->bound);
    free(s->top);
    free(s->cost);
    free(s->impact);
    free(s->load);
    free(s->left);
    free(s->open);
    free(s->placed);
    free(s->trial);
    free(s->candidates);
    free(s);
}

/* Are all COUNT numbers finite and not negative?  As bits those are the smallest ones: one
 * comparison for each, and a second look where one is -0. */
static bool are_requests(const double *value, size_t count)
{
    const uint64_t infinite = UINT64_C(0x7ff) << 52;
    uint64_t bits;
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &value[i], sizeof(bits));
        good &= bits < infinite;
    }
    for (size_t i = 0; !good && i < count; i++)
        if (!(value[i] >= 0 && value[i] <= DBL_MAX))
            return false;
    return true;
}

static bool is_valid(const struct mapping_input *in)
{
    size_t cores = 0;

    if (!in->threads || !in->nodes || !(in->closeness > 0) || in->closeness > 1)
        return false;
    for (size_t j = 0; j < in->nodes; j++)
        cores += in->cores[j] < in->threads ? in->cores[j] : in->threads;
    if (!are_requests(in->requests, in->threads * in->nodes))
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
    memset(s->impact, 0xff, in->threads * in->nodes * sizeof(*s->impact)); /* NAN */
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

/* ---- the largest V of each node --------------------------------------------- */

static size_t count_blocks(const struct mapping_input *in)
{
    return (in->threads + BLOCK - 1) / BLOCK;
}

/* Index of the first of the largest of COUNT values, which is in a register while others are
 * compared, and not predicted. */
static size_t largest(const double *value, size_t count)
{
    double a = -1, b = -1, c = -1, d = -1;
    size_t i = 0;

    for (; i + 4 <= count; i += 4) {
        a = value[i] > a ? value[i] : a;
        b = value[i + 1] > b ? value[i + 1] : b;
        c = value[i + 2] > c ? value[i + 2] : c;
        d = value[i + 3] > d ? value[i + 3] : d;
    }
    for (; i < count; i++)
        a = value[i] > a ? value[i] : a;
    a = b > a ? b : a;
    c = d > c ? d : c;
    a = c > a ? c : a;
    for (i = 0; value[i] != a; i++)
        ;
    return i;
}

static void look_at_block(const struct mapping_input *in, struct mapping_scratch *s, size_t node,
                          size_t block)
{
    size_t first = block * BLOCK, left = in->threads - first;
    const double *value = s->column + node * s->stride + first;
    size_t at = largest(value, left < BLOCK ? left : BLOCK);

    block += node * count_blocks(in);
    s->block_top[block] = first + at;
    s->block_max[block] = value[at];
}

static void look_at_node(const struct mapping_input *in, struct mapping_scratch *s, size_t node)
{
    size_t first = node * count_blocks(in);
    size_t block = first + largest(s->block_max + first, count_blocks(in));

    s->top[node] = s->block_top[block];
    s->bound[node] = s->block_max[block];
    s->cost[node] = NAN;
}

static void begin_columns(const struct mapping_input *in, struct mapping_scratch *s)
{
    const double *v = in->requests;

    for (size_t i = 0; i < in->threads; i++)
        for (size_t j = 0; j < in->nodes; j++)
            s->column[j * s->stride + i] = *v++;
}

static void begin_node(const struct mapping_input *in, struct mapping_scratch *s, size_t node)
{
    for (size_t block = 0; block < count_blocks(in); block++)
        look_at_block(in, s, node, block);
    look_at_node(in, s, node);
}

/* Make the top of NODE a thread without a place, of which there is one, unless its V is below
 * LEAST. */
static void find_top(const struct mapping_input *in, struct mapping_scratch *s, size_t node,
                     double least)
{
    while (s->bound[node] >= least && s->placed[s->top[node]]) {
        s->column[node * s->stride + s->top[node]] = -1;
        look_at_block(in, s, node, s->top[node] / BLOCK);
        look_at_node(in, s, node);
    }
}

/* ---- rounds ----------------------------------------------------------------- */

static double cost_of(enum mapping_rule rule, const struct mapping_input *in,
                      struct mapping_scratch *s, size_t node)
{
    if (isnan(s->cost[node]))
        s->cost[node] = s->load[node] +
                        (rule == MAPPING_CRITICAL ? impact(in, s, s->top[node], node) : 0);
    return s->cost[node];
}

/* Make the tops of all nodes that can compete threads without a place; returns the least V with
 * which a node competes. */
static double find_tops(const struct mapping_input *in, struct mapping_scratch *s)
{
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
    return least;
}

/* Is it better to place a thread at node A for COST than at node B for COST_B? */
static bool is_better(const struct mapping_scratch *s, size_t a, double cost, size_t b,
                      double cost_b)
{
    double va = s->bound[a], vb = s->bound[b];

    if (cost != cost_b)
        return cost < cost_b;
    return va > vb || (va == vb && s->top[a] < s->top[b]);
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
    double least = find_tops(in, s), best = INFINITY;
    size_t count = 0, chosen = 0, node = SIZE_MAX; /* the best so far */

    for (size_t n = 0; n < s->open_nodes; n++) {
        size_t j = s->open[n];
        /* A cost is not less than the load so far. */
        if (s->bound[j] < least || (s->load[j] > best && !result->round))
            continue;
        double cost = cost_of(rule, in, s, j);
        if (node == SIZE_MAX || is_better(s, j, cost, node, best)) {
            chosen = count;
            node = j;
            best = cost;
        }
        if (result->round)
            s->candidates[count++] = (struct mapping_candidate){s->top[j], j, cost};
    }
    s->load[node] = rule == MAPPING_CRITICAL ? best : best + s->bound[node];
    s->cost[node] = NAN;
    s->placed[s->top[node]] = true;
    result->node[s->top[node]] = node;
    if (--s->left[node] == 0)
        close_node(s, node);
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
    memset(s->load, 0, in->nodes * sizeof(*s->load));
    memset(s->placed, 0, in->threads * sizeof(*s->placed));
    memcpy(s->left, in->cores, in->nodes * sizeof(*s->left));
    s->open_nodes = 0;
    begin_columns(in, s);
    for (size_t j = 0; j < in->nodes; j++) {
        begin_node(in, s, j);
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
