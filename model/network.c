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
#define DRAFT_TOLERANCE 1e-6 /* of what Linearizer makes anew */
#define LINEARIZER_ROUNDS 4 /* three do (Chandy and Neuse) */
#define JUMP_STRAIGHT 0.99 /* cosine between steps that are one line, squared */
#define JUMP_MOST 0.95
#define DAMP_DOWN 0.7 /* when it turns round */
#define DAMP_UP 1.2 /* as long as it goes on the same way */
#define DAMP_LEAST 0.02
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
    double *damping;  /* [classes] weight of a round's new shares, 0..1 */
    double *turn;     /* [classes] which way the last round went, 0: the first */
    double *slower;   /* [stations] how much posted requests stretch the wait
                         for those that stall, >= 1 */
    double *response; /* [entries] per visit */
    double *steps;    /* of settle(): [2][entries + classes] */
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
static inline double respond(const struct solver *s, size_t less, size_t k, size_t i)
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
    double step = wanted / *share - 1, change = fabs(step);
    *share = s->damping[k] < 1 ? *share * pow(1 + step, s->damping[k]) : wanted;
    if (s->posting)
        s->damping[k] = step * s->turn[k] < 0
                            ? greater(DAMP_DOWN * s->damping[k], DAMP_LEAST)
                            : lesser(DAMP_UP * s->damping[k], 1);
    s->turn[k] = step;
    for (size_t x = s->first[k]; x < s->first[k + 1]; x++) {
        size_t i = s->asked[x], e = k * s->stations + i;
        double queue = s->net->visits[e] * s->response[e] * *share;
        change = greater(change, fabs(queue - fraction[i]));
        fraction[i] = queue;
    }
    return change;
}

/* How the rounds went, to see how they would go on: near the solution each
 * comes closer by the same factor. */
struct steps {
    double *before; /* [entries + classes] what a population had, then its */
    double *step;   /* shares; and how the last round changed it */
    int known;      /* rounds since a jump that are in them, up to 2 */
    bool off;       /* a jump led away */
};

/* One round led to FRACTION and SHARE.  If it went along the same line as the
 * one before, and R times as far, all further rounds would go R / (1 - R) times
 * as far in sum (Aitken's extrapolation): go there.  True if it did. */
static bool jump(const struct solver *s, struct steps *steps, double *fraction,
                 double *share)
{
    double both = 0, now = 0, last = 0;
    size_t count = s->entries + s->classes;

    for (size_t i = 0; i < count; i++) {
        double *value = i < s->entries ? &fraction[i] : &share[i - s->entries];
        double step = *value - steps->before[i];
        both += step * steps->step[i];
        now += step * step;
        last += steps->step[i] * steps->step[i];
        steps->step[i] = step;
    }
    if (++steps->known < 3 || steps->off || !(now > 0) || !(last > 0) ||
        both * both < JUMP_STRAIGHT * now * last)
        return false;
    double r = both / last;
    if (fabs(r) > JUMP_MOST)
        return false;
    for (size_t i = 0; i < count; i++) {
        double *value = i < s->entries ? &fraction[i] : &share[i - s->entries];
        double far = *value + steps->step[i] * r / (1 - r);
        /* What was positive stays so. */
        *value = far > 0 ? far : *value;
    }
    steps->known = 0;
    return true;
}

/* The fixed point for population LESS.  A class whose rounds go to and fro, as
 * happens where posted requests nearly fill a station, takes smaller steps. */
static enum model_status settle(struct solver *s, size_t less,
                                double tolerance)
{
    double tried = INFINITY;
    double *fraction = s->fraction + less * s->entries;
    double *share = s->share + less * s->classes;
    struct steps steps = {s->steps, s->steps + s->entries + s->classes, 0,
                          false};

    for (size_t k = 0; k < s->classes; k++) {
        s->damping[k] = 1;
        s->turn[k] = 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double change = 0;

        memcpy(steps.before, fraction, s->entries * sizeof(*fraction));
        memcpy(steps.before + s->entries, share, s->classes * sizeof(*share));
        sum_stations(s, less);
        for (size_t k = 0; k < s->classes; k++)
            change = greater(change, improve(s, less, k));
        if (change < tolerance)
            return MODEL_OK;
        if (change > tried)
            steps.off = true;
        tried = INFINITY;
        if (jump(s, &steps, fraction, share))
            tried = change;
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

    /* Without one customer it is nearly the same. */
    for (size_t c = 1; c <= s->classes; c++) {
        memcpy(s->fraction + c * s->entries, s->fraction,
               s->entries * sizeof(*s->fraction));
        memcpy(s->share + c * s->classes, s->share,
               s->classes * sizeof(*s->share));
    }
    for (int round = 0; round < LINEARIZER_ROUNDS; round++) {
        bool last = round == LINEARIZER_ROUNDS - 1;
        double tolerance = last ? TOLERANCE : DRAFT_TOLERANCE;
        for (size_t c = 0; c < s->classes && status == MODEL_OK; c++)
            if (s->net->count[c])
                status = settle(s, c + 1, tolerance);
        if (status == MODEL_OK)
            learn(s);
        if (status == MODEL_OK)
            status = settle(s, 0, tolerance);
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
                     4 * s->stations + 3 * s->entries + 4 * s->classes;
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
    s->steps = s->response + s->entries;
    s->damping = s->steps + 2 * (s->entries + s->classes);
    s->turn = s->damping + s->classes;
    if (linearizer) {
        s->change = s->turn + s->classes;
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
    status = settle(&s, 0, TOLERANCE);
    if (status == MODEL_OK && method == NETWORK_LINEARIZER)
        status = linearize(&s);
    if (status == MODEL_OK)
        report(&s, result);
    free(s.fraction);
    free(s.first);
    return status;
}
