/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Thread mapping (mapping.h).
 *
 * What a round needs is the largest V of each node among threads without a place.  That is the root
 * of a tournament among the threads, held for all nodes at once: what a thread with a place won is
 * played anew, one match on each level. */

#include "model/mapping.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Two nodes' matches are played at once, in vectors of GCC and clang: who wins is random, and a
 * branch on it would be predicted wrongly. */
#define LANES 2
typedef double requests_of_two __attribute__((vector_size(16), may_alias));
typedef int64_t threads_of_two __attribute__((vector_size(16), may_alias));

struct mapping_scratch {
    size_t leaves; /* a power of 2 */
    size_t stride; /* nodes in a row, a multiple of LANES */
    /* [2 * leaves * stride] the winners of matches: row 1 is the root, rows 2 n and 2 n + 1 play
     * for row n, and thread i is row leaves + i. */
    double *most; /* V; -1: has a place, or is none */
    int64_t *who; /* as wide as MOST */
    double *far;  /* [nodes] all the same: no remote latency is less */
    double *away; /* [threads] IF if all requests were remote, and so far */
    double *load; /* [nodes] LC or CP so far */
    size_t *left; /* [nodes] free cores */
    size_t *open; /* [open_nodes], those with some */
    size_t open_nodes;
    size_t *trial; /* [threads] */
    struct mapping_candidate *candidates; /* [nodes] */
};

struct mapping_scratch *mapping_scratch_new(size_t threads, size_t nodes)
{
    struct mapping_scratch *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    for (s->leaves = 1; s->leaves < threads;)
        s->leaves *= 2;
    s->stride = (nodes + LANES - 1) / LANES * LANES;
    s->most = calloc(2 * s->leaves * s->stride, sizeof(*s->most));
    s->who = calloc(2 * s->leaves * s->stride, sizeof(*s->who));
    s->far = calloc(nodes, sizeof(*s->far));
    s->away = calloc(threads, sizeof(*s->away));
    s->load = calloc(nodes, sizeof(*s->load));
    s->left = calloc(nodes, sizeof(*s->left));
    s->open = calloc(nodes, sizeof(*s->open));
    s->trial = calloc(threads, sizeof(*s->trial));
    s->candidates = calloc(nodes, sizeof(*s->candidates));
    if (!(s->most && s->who && s->far && s->away && s->load && s->left && s->open && s->trial &&
          s->candidates)) {
        mapping_scratch_free(s);
        return NULL;
    }
    for (size_t at = s->leaves * s->stride; at < 2 * s->leaves * s->stride; at++)
        s->who[at] = (int64_t)(at / s->stride - s->leaves);
    return s;
}

void mapping_scratch_free(struct mapping_scratch *s)
{
    if (!s)
        return;
    free(s->most);
    free(s->who);
    free(s->far);
    free(s->away);
    free(s->load);
    free(s->left);
    free(s->open);
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

/* Sum of FACTOR times REQUESTS.  Four sums do not wait for each other. */
static double weighted(const double *factor, const double *requests, size_t nodes)
{
    double sum[4] = {0};
    size_t k = 0;

    for (; k + 4 <= nodes; k += 4)
        for (size_t n = 0; n < 4; n++)
            sum[n] += factor[k + n] * requests[k + n];
    for (; k < nodes; k++)
        sum[0] += factor[k] * requests[k];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* IF(i, j), eq. 4. */
static double impact(const struct mapping_input *in, size_t i, size_t j)
{
    return weighted(in->factor + j * in->nodes, in->requests + i * in->nodes, in->nodes);
}

/* ---- the largest V of each node --------------------------------------------- */

/* Play for ROW, of all nodes.  Ties go to the lower threads. */
static void play(struct mapping_scratch *s, size_t row)
{
    size_t pairs = s->stride / LANES;
    const requests_of_two *a = (const requests_of_two *)s->most + 2 * row * pairs, *b = a + pairs;
    const threads_of_two *who_a = (const threads_of_two *)s->who + 2 * row * pairs;
    const threads_of_two *who_b = who_a + pairs;
    requests_of_two *most = (requests_of_two *)s->most + row * pairs;
    threads_of_two *who = (threads_of_two *)s->who + row * pairs;

    for (size_t j = 0; j < pairs; j++) {
        threads_of_two a_wins = a[j] >= b[j]; /* all bits, or none */
        most[j] = (requests_of_two)((a_wins & (threads_of_two)a[j]) |
                                    (~a_wins & (threads_of_two)b[j]));
        who[j] = (a_wins & who_a[j]) | (~a_wins & who_b[j]);
    }
}

/* THREAD takes no part, or not any longer. */
static void leave(struct mapping_scratch *s, size_t thread)
{
    for (size_t j = 0; j < s->stride; j++)
        s->most[(s->leaves + thread) * s->stride + j] = -1;
}

static void begin_tournament(const struct mapping_input *in, struct mapping_scratch *s)
{
    for (size_t i = 0; i < in->threads; i++)
        memcpy(s->most + (s->leaves + i) * s->stride, in->requests + i * in->nodes,
               in->nodes * sizeof(*s->most));
    for (size_t i = in->threads; i < s->leaves; i++)
        leave(s, i);
    for (size_t row = s->leaves; --row > 0;)
        play(s, row);
}

/* THREAD has a place. */
static void leave_tournament(struct mapping_scratch *s, size_t thread)
{
    leave(s, thread);
    for (size_t row = (s->leaves + thread) / 2; row > 0; row /= 2)
        play(s, row);
}

/* Of NODE, among threads without a place. */
static double most_at(const struct mapping_scratch *s, size_t node)
{
    return s->most[s->stride + node];
}

static size_t who_at(const struct mapping_scratch *s, size_t node)
{
    return (size_t)s->who[s->stride + node];
}

/* ---- rounds ----------------------------------------------------------------- */

/* The least V with which a node competes. */
static double least_close(const struct mapping_input *in, const struct mapping_scratch *s)
{
    double most = 0;

    for (size_t n = 0; n < s->open_nodes; n++)
        most = most_at(s, s->open[n]) > most ? most_at(s, s->open[n]) : most;
    return in->closeness * most;
}

/* Placing the best thread of NODE there does not cost less: quicker to know than what it costs. */
static double least_cost(enum mapping_rule rule, const struct mapping_scratch *s, size_t node)
{
    if (rule == MAPPING_LOCALITY)
        return s->load[node];
    return s->load[node] + s->away[who_at(s, node)] + (1 - s->far[0]) * most_at(s, node);
}

/* Is it better to place a thread at node A for COST than at node B for COST_B? */
static bool is_better(const struct mapping_scratch *s, size_t a, double cost, size_t b,
                      double cost_b)
{
    double va = most_at(s, a), vb = most_at(s, b);

    if (cost != cost_b)
        return cost < cost_b;
    return va > vb || (va == vb && who_at(s, a) < who_at(s, b));
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
    double least = least_close(in, s), best = INFINITY;
    size_t count = 0, chosen = 0, node = SIZE_MAX; /* the best so far */

    for (size_t n = 0; n < s->open_nodes; n++) {
        size_t j = s->open[n];
        if (most_at(s, j) < least || (least_cost(rule, s, j) > best && !result->round))
            continue;
        double cost = s->load[j];
        if (rule == MAPPING_CRITICAL)
            cost += impact(in, who_at(s, j), j);
        if (node == SIZE_MAX || is_better(s, j, cost, node, best)) {
            chosen = count;
            node = j;
            best = cost;
        }
        if (result->round)
            s->candidates[count++] = (struct mapping_candidate){who_at(s, j), j, cost};
    }
    size_t thread = who_at(s, node);
    s->load[node] = rule == MAPPING_CRITICAL ? best : best + most_at(s, node);
    result->node[thread] = node;
    leave_tournament(s, thread);
    if (--s->left[node] == 0)
        close_node(s, node);
    if (result->round)
        result->round(result->arg, s->candidates, count, chosen);
}

/* What result->node comes to. */
static void sum_up(const struct mapping_input *in, struct mapping_result *result)
{
    memset(result->critical, 0, in->nodes * sizeof(*result->critical));
    result->local = result->critical_path = 0;
    for (size_t i = 0; i < in->threads; i++) {
        size_t j = result->node[i];
        result->local += in->requests[i * in->nodes + j];
        result->critical[j] += impact(in, i, j);
    }
    for (size_t j = 0; j < in->nodes; j++)
        result->critical_path = fmax(result->critical_path, result->critical[j]);
}

/* What least_cost() has to know. */
static void find_away(const struct mapping_input *in, struct mapping_scratch *s)
{
    double least = in->nodes > 1 ? in->factor[1] : 0;

    for (size_t j = 0; j < in->nodes; j++)
        for (size_t k = 0; k < in->nodes; k++)
            if (k != j)
                least = fmin(least, in->factor[j * in->nodes + k]);
    for (size_t j = 0; j < in->nodes; j++)
        s->far[j] = 0.999999 * least; /* sums are rounded */
    for (size_t i = 0; i < in->threads; i++)
        s->away[i] = weighted(s->far, in->requests + i * in->nodes, in->nodes);
}

static void begin_rounds(const struct mapping_input *in, struct mapping_scratch *s)
{
    memset(s->load, 0, in->nodes * sizeof(*s->load));
    memcpy(s->left, in->cores, in->nodes * sizeof(*s->left));
    s->open_nodes = 0;
    begin_tournament(in, s);
    for (size_t j = 0; j < in->nodes; j++)
        if (in->cores[j])
            s->open[s->open_nodes++] = j;
}

enum model_status mapping_make(enum mapping_rule rule, const struct mapping_input *in,
                               struct mapping_scratch *s, struct mapping_result *result)
{
    if (!is_valid(in))
        return MODEL_EINVAL;
    begin_rounds(in, s);
    if (rule == MAPPING_CRITICAL)
        find_away(in, s);
    for (size_t n = 0; n < in->threads; n++)
        choose(rule, in, s, result);
    sum_up(in, result);
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
        t->s->load[j] += impact(t->in, i, j);
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
    memset(s->load, 0, in->nodes * sizeof(*s->load));
    memcpy(s->left, in->cores, in->nodes * sizeof(*s->left));
    try_all(&t, 0, 0);
    sum_up(in, result);
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
