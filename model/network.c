/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A closed network of servers with several classes of customers. */

#include "model/network.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20000
#define TOLERANCE 1e-8
#define LINEARIZER_ROUNDS 4 /* three do (Chandy and Neuse) */
#define POSTED_LOAD 0.98 /* posted requests never fill a station more: their
                            buffers hold some fifty then */

/* Work space.  Populations are numbered 0 (full) and c + 1 (one customer of
 * class c less).  Of the tables [classes * stations] only those entries matter
 * where a class asks a station: the stations of class k are asked[first[k]] to
 * asked[first[k + 1] - 1]. */
struct solver {
    const struct network *net;
    size_t classes, stations, entries;
    size_t *first, *asked;
    double *fraction; /* [populations][entries] queue per customer */
    double *share;    /* [populations][classes] */
    double *change;   /* [c][entries]: fraction without one of class c, less
                         fraction with it; as Linearizer knows it so far */
    double *known;    /* [entries]: sum of change over customers, as backlog */
    double *seen;     /* [stations] backlog: time until all that stall and are
                         there now are served */
    double *load;     /* [stations] utilisation by posted requests */
    double *own;      /* [stations] their load times their service time */
    bool posting;     /* there are posted requests */
    double damping;   /* weight of a round's new shares, 0..1 */
    double *slower;   /* [stations] how much posted requests stretch the wait
                         for those that stall, >= 1 */
    double *response; /* [entries] per visit */
};

/* fmax() and fmin() take care of NaN, which inner loops pay for. */
static inline double greater(double a, double b)
{
    return a > b ? a : b;
}

static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double customers(const struct solver *s, size_t less, size_t k)
{
    return (double)s->net->count[k] - (less == k + 1 ? 1 : 0);
}

/* How much each station's posted requests stretch the wait of the others, whose
 * load READS has.  The stream of posted requests takes its load off the server.
 * As both loads together are 1 at most, 1 / free is no more than 1 + load /
 * reads; twice that holds the first rounds, where shares are far too high, near
 * the solution and leaves room for the approximation's own error. */
static void stretch(struct solver *s, const double *reads)
{
    for (size_t i = 0; i < s->stations; i++) {
        double free = 1 - lesser(s->load[i], POSTED_LOAD);
        s->slower[i] = reads[i] > 0
                           ? lesser(1 / free, 2 + 2 * s->load[i] / reads[i])
                           : 1 / free;
    }
}

/* Sum up what all classes have at the stations in population LESS. */
static void sum_stations(struct solver *s, size_t less)
{
    const double *fraction = s->fraction + less * s->entries;
    const double *share = s->share + less * s->classes;
    double *reads = s->slower; /* load by requests that stall, first */

    memset(s->seen, 0, 4 * s->stations * sizeof(*s->seen)); /* to slower */
    for (size_t k = 0; k < s->classes; k++) {
        double n = customers(s, less, k);

        for (size_t x = s->first[k]; x < s->first[k + 1]; x++) {
            size_t i = s->asked[x], e = k * s->stations + i;
            double service = s->net->service[e];

            s->seen[i] += n * fraction[e] * service;
            if (!s->posting)
                continue;
            double load = n * share[k] * s->net->posted[e] *
                          s->net->posted_service[e];
            s->load[i] += load;
            s->own[i] += load * s->net->posted_service[e];
            reads[i] += n * share[k] * s->net->visits[e] * service;
        }
    }
    stretch(s, reads);
}

/* Time that a request of class K spends at station I in population LESS. */
static double respond(const struct solver *s, size_t less, size_t k, size_t i)
{
    size_t e = k * s->stations + i;
    double service = s->net->service[e];
    double seen = s->seen[i] - s->fraction[less * s->entries + e] * service;

    if (s->change) {
        seen += s->known[e] - s->change[k * s->entries + e] * service;
        if (less) {
            size_t c = less - 1, f = c * s->stations + i;
            seen -= s->change[k * s->entries + f] * s->net->service[f];
        }
    }
    /* Behind both kinds, of which each waits behind the other. */
    return service + (greater(0, seen) + s->own[i]) * s->slower[i];
}

/* One round for class K in population LESS; how far it is from settled. */
static double improve(struct solver *s, size_t less, size_t k)
{
    double *fraction = s->fraction + less * s->entries + k * s->stations;
    double *share = s->share + less * s->classes + k;
    double total = 1, wanted = 1;

    for (size_t x = s->first[k]; x < s->first[k + 1]; x++) {
        size_t i = s->asked[x], e = k * s->stations + i;
        s->response[e] = respond(s, less, k, i);
        total += s->net->visits[e] * s->response[e];
        /* Full buffers: no faster than the station takes them. */
        if (s->posting && s->net->posted[e] > 0 && s->load[i] > 0)
            wanted = lesser(wanted, *share * POSTED_LOAD / s->load[i]);
    }
    wanted = lesser(wanted, 1 / total);
    double change = fabs(wanted / *share - 1);
    *share = s->damping < 1 ? *share * pow(wanted / *share, s->damping)
                            : wanted;
    for (size_t x = s->first[k]; x < s->first[k + 1]; x++) {
        size_t i = s->asked[x], e = k * s->stations + i;
        double queue = s->net->visits[e] * s->response[e] * *share;
        change = greater(change, fabs(queue - fraction[i]));
        fraction[i] = queue;
    }
    return change;
}

/* The fixed point for population LESS.  Rounds are damped as soon as they
 * lead away, as happens where posted requests nearly fill a station. */
static enum model_status settle(struct solver *s, size_t less)
{
    double last = INFINITY;

    s->damping = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double change = 0;

        sum_stations(s, less);
        for (size_t k = 0; k < s->classes; k++)
            change = greater(change, improve(s, less, k));
        if (change < TOLERANCE)
            return MODEL_OK;
        if (s->posting)
            s->damping = change > last ? fmax(0.5 * s->damping, 0.01)
                                       : fmin(1.05 * s->damping, 1);
        last = change;
    }
    return MODEL_ENOCONV;
}

/* Learn from the solutions of all populations. */
static void learn(struct solver *s)
{
    memset(s->known, 0, s->entries * sizeof(*s->known));
    for (size_t c = 0; c < s->classes; c++)
        for (size_t e = 0; e < s->entries; e++) {
            double *change = &s->change[c * s->entries + e];
            size_t k = e / s->stations;

            *change = s->net->count[c] ? s->fraction[(c + 1) * s->entries + e] -
                                             s->fraction[e]
                                       : 0;
            s->known[c * s->stations + e % s->stations] +=
                (double)s->net->count[k] * *change * s->net->service[e];
        }
}

static enum model_status linearize(struct solver *s)
{
    enum model_status status = MODEL_OK;

    for (int round = 0; round < LINEARIZER_ROUNDS; round++) {
        for (size_t c = 0; c < s->classes && status == MODEL_OK; c++)
            if (s->net->count[c])
                status = settle(s, c + 1);
        if (status == MODEL_OK)
            learn(s);
        if (status == MODEL_OK)
            status = settle(s, 0);
    }
    return status;
}

static bool valid(const struct network *net)
{
    size_t entries = net->classes * net->stations;

    if (!net->classes || !net->stations)
        return false;
    for (size_t e = 0; e < entries; e++) {
        bool asks = net->visits[e] > 0 || net->posted[e] > 0;
        if (!(net->visits[e] >= 0) || !isfinite(net->visits[e]) ||
            !(net->posted[e] >= 0) || !isfinite(net->posted[e]) ||
            !(net->service[e] >= 0) || !isfinite(net->service[e]) ||
            !(net->posted_service[e] >= 0) ||
            !isfinite(net->posted_service[e]) ||
            (asks && net->service[e] + net->posted_service[e] == 0))
            return false;
    }
    return true;
}

static bool setup(struct solver *s, enum network_method method,
                  const struct network *net)
{
    bool linearizer = method == NETWORK_LINEARIZER;
    size_t populations = linearizer ? net->classes + 1 : 1;

    *s = (struct solver){.net = net,
                         .classes = net->classes,
                         .stations = net->stations,
                         .entries = net->classes * net->stations};
    size_t numbers = populations * (s->entries + s->classes) +
                     (linearizer ? s->classes * s->entries + s->entries : 0) +
                     4 * s->stations + s->entries;
    double *block = calloc(numbers, sizeof(*block));
    s->first = calloc(s->classes + 1 + s->entries, sizeof(*s->first));
    if (!block || !s->first) {
        free(block);
        free(s->first);
        return false;
    }
    s->asked = s->first + s->classes + 1;
    s->fraction = block; /* first: the block's owner */
    s->share = s->fraction + populations * s->entries;
    s->seen = s->share + populations * s->classes;
    s->load = s->seen + s->stations;
    s->own = s->load + s->stations;
    s->slower = s->own + s->stations;
    s->response = s->slower + s->stations;
    if (linearizer) {
        s->change = s->response + s->entries;
        s->known = s->change + s->classes * s->entries;
    }
    for (size_t i = 0; i < populations * s->classes; i++)
        s->share[i] = 1;
    for (size_t e = 0; e < s->entries; e++) {
        s->posting = s->posting || net->posted[e] > 0;
        if (e % s->stations == 0)
            s->first[e / s->stations + 1] = s->first[e / s->stations];
        if (net->visits[e] > 0 || net->posted[e] > 0)
            s->asked[s->first[e / s->stations + 1]++] = e % s->stations;
    }
    return true;
}

static void report(struct solver *s, const struct network_result *result)
{
    const struct network *net = s->net;

    if (result->share)
        memcpy(result->share, s->share, s->classes * sizeof(*s->share));
    for (size_t e = 0; e < s->entries && result->response; e++)
        result->response[e] =
            net->visits[e] > 0 || net->posted[e] > 0
                ? s->response[e]
                : respond(s, 0, e / s->stations, e % s->stations);
    for (size_t i = 0; i < s->stations && result->utilisation; i++) {
        double sum = 0;
        for (size_t k = 0; k < s->classes; k++) {
            size_t e = k * s->stations + i;
            sum += (double)s->net->count[k] * s->share[k] *
                   (s->net->visits[e] * s->net->service[e] +
                    s->net->posted[e] * s->net->posted_service[e]);
        }
        result->utilisation[i] = fmin(1, sum);
    }
}

enum model_status network_solve(enum network_method method,
                                const struct network *network,
                                const struct network_result *result)
{
    struct solver s;
    enum model_status status;

    if (method > NETWORK_LINEARIZER || !valid(network))
        return MODEL_EINVAL;
    if (!setup(&s, method, network))
        return MODEL_ENOMEM;
    status = settle(&s, 0);
    if (status == MODEL_OK && method == NETWORK_LINEARIZER)
        status = linearize(&s);
    if (status == MODEL_OK)
        report(&s, result);
    free(s.fraction);
    free(s.first);
    return status;
}
