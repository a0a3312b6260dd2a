/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A closed network of servers with several classes of customers. */

#include "model/network.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/greater.h"

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

/* A class asks a station. */
struct ask {
    size_t station;
    double visits, service, posted, posted_service; /* as in the network */
};

/* Work space.  Populations are numbered 0 (full) and c + 1 (one customer of
 * class c less).  Who asks where is a list in the order of classes; class k has
 * its numbers first[k] to first[k + 1] - 1, and those are what tables go by. */
struct solver {
    const struct network *net;
    size_t classes, stations;
    size_t asks, state; /* state: asks + classes */
    struct ask *ask;    /* [asks + 1], the last one asks for nothing */
    size_t *first;      /* [classes + 1] */
    size_t *number;     /* [classes * stations] of the ask, asks: none */
    double *states;   /* [populations][state]: fractions(), then shares() */
    double *change;   /* [c][asks + 1]: fraction without one of class c, less
                         fraction with it; as Linearizer knows it so far; the
                         last one is 0 */
    double *known;    /* [asks]: sum of change over customers, as backlog */
    double *learnt;   /* [asks]: what of this a population sees */
    double *seen;     /* [stations] backlog: time until all that stall and are
                         there now are served */
    double *load;     /* [stations] utilisation by posted requests */
    double *own;      /* [stations] their load times their service time */
    double *slower;   /* [stations] how much posted requests stretch the wait
                         for those that stall, >= 1 */
    bool posting;     /* there are posted requests */
    double *damping;  /* [classes] weight of a round's new shares, 0..1 */
    double *turn;     /* [classes] which way the last round went, 0: the first */
    double *response; /* [asks] per visit */
    double *steps;    /* of settle(): [2][state] */
};

/* Queue per customer in population LESS, [asks]. */
static inline double *fractions(const struct solver *s, size_t less)
{
    return s->states + less * s->state;
}

/* Part of their time in which customers compute in population LESS, [classes]. */
static inline double *shares(const struct solver *s, size_t less)
{
    return fractions(s, less) + s->asks;
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
    const double *fraction = fractions(s, less), *share = shares(s, less);
    double *reads = s->slower; /* load by requests that stall, first */

    memset(s->seen, 0, 4 * s->stations * sizeof(*s->seen)); /* to slower */
    for (size_t k = 0; k < s->classes; k++) {
        double n = customers(s, less, k);

        for (size_t x = s->first[k]; x < s->first[k + 1]; x++) {
            const struct ask *a = &s->ask[x];

            s->seen[a->station] += n * fraction[x] * a->service;
            if (!s->posting)
                continue;
            double load = n * share[k] * a->posted * a->posted_service;
            s->load[a->station] += load;
            s->own[a->station] += load * a->posted_service;
            reads[a->station] += n * share[k] * a->visits * a->service;
        }
    }
    stretch(s, reads);
}

/* What Linearizer has learnt about population LESS, for all rounds with it. */
static void recall(struct solver *s, size_t less)
{
    for (size_t k = 0; k < s->classes; k++) {
        const double *change = &s->change[k * (s->asks + 1)];
        for (size_t x = s->first[k]; x < s->first[k + 1]; x++) {
            const struct ask *a = &s->ask[x];
            s->learnt[x] = s->known[x] - change[x] * a->service;
            if (!less)
                continue;
            size_t c = less - 1, e = c * s->stations + a->station;
            s->learnt[x] -= change[s->number[e]] * s->net->service[e];
        }
    }
}

/* Time that a request of who asks as A spends there, where the others have SEEN
 * as backlog. */
static inline double respond(const struct solver *s, const struct ask *a,
                             double seen)
{
    /* Behind both kinds, of which each waits behind the other. */
    return a->service + (greater(0, seen) + s->own[a->station]) *
                            s->slower[a->station];
}

/* One round for class K in population LESS; how far it is from settled. */
static double improve(struct solver *s, size_t less, size_t k)
{
    double *fraction = fractions(s, less);
    double *share = shares(s, less) + k;
    double total = 1, wanted = 1;

    for (size_t x = s->first[k]; x < s->first[k + 1]; x++) {
        const struct ask *a = &s->ask[x];
        double seen = s->seen[a->station] - fraction[x] * a->service;
        s->response[x] = respond(s, a, seen + s->learnt[x]);
        total += a->visits * s->response[x];
        /* Full buffers: no faster than the station takes them. */
        if (s->posting && a->posted > 0 && s->load[a->station] > 0)
            wanted = lesser(wanted, *share * POSTED_LOAD / s->load[a->station]);
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
        double queue = s->ask[x].visits * s->response[x] * *share;
        change = greater(change, fabs(queue - fraction[x]));
        fraction[x] = queue;
    }
    return change;
}

/* How the rounds went, to see how they would go on: near the solution each
 * comes closer by the same factor. */
struct steps {
    double *before; /* [state] what a population had, then its */
    double *step;   /* shares; and how the last round changed it */
    int known;      /* rounds since a jump that are in them, up to 2 */
    bool off;       /* a jump led away */
};

/* One round led to STATE[count].  If it went along the same line as the
 * one before, and R times as far, all further rounds would go R / (1 - R) times
 * as far in sum (Aitken's extrapolation): go there.  True if it did. */
static bool jump(struct steps *steps, double *state, size_t count)
{
    double both = 0, now = 0, last = 0;

    for (size_t i = 0; i < count; i++) {
        double step = state[i] - steps->before[i];
        both += step * steps->step[i];
        now += step * step;
        last += steps->step[i] * steps->step[i];
        steps->step[i] = step;
    }
    if (++steps->known < 3 || !(now > 0) || !(last > 0) ||
        both * both < JUMP_STRAIGHT * now * last)
        return false;
    double r = both / last;
    if (fabs(r) > JUMP_MOST)
        return false;
    for (size_t i = 0; i < count; i++) {
        double far = state[i] + steps->step[i] * r / (1 - r);
        /* What was positive stays so. */
        state[i] = far > 0 ? far : state[i];
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
    double *state = fractions(s, less);
    struct steps steps = {s->steps, s->steps + s->state, 0, false};

    for (size_t k = 0; k < s->classes; k++) {
        s->damping[k] = 1;
        s->turn[k] = 0;
    }
    if (s->change)
        recall(s, less);
    for (int round = 0; round < ROUNDS; round++) {
        double change = 0;

        if (!steps.off)
            memcpy(steps.before, state, s->state * sizeof(*state));
        sum_stations(s, less);
        for (size_t k = 0; k < s->classes; k++)
            change = greater(change, improve(s, less, k));
        if (change < tolerance)
            return MODEL_OK;
        if (change > tried)
            steps.off = true;
        tried = INFINITY;
        if (!steps.off && jump(&steps, state, s->state))
            tried = change;
    }
    return MODEL_ENOCONV;
}

/* What all see at station I without one of class K, less what they see with it. */
static double change_at(const struct solver *s, size_t k, size_t i)
{
    const double *change = &s->change[k * (s->asks + 1)];
    double sum = 0;

    for (size_t c = 0; c < s->classes; c++) {
        size_t e = c * s->stations + i;
        sum += (double)s->net->count[c] * change[s->number[e]] *
               s->net->service[e];
    }
    return sum;
}

/* Learn from the solutions of all populations. */
static void learn(struct solver *s)
{
    const double *with = fractions(s, 0);

    for (size_t c = 0; c < s->classes; c++) {
        const double *without = fractions(s, c + 1);
        double *change = &s->change[c * (s->asks + 1)];
        for (size_t x = 0; x < s->asks; x++)
            change[x] = s->net->count[c] ? without[x] - with[x] : 0;
        for (size_t x = s->first[c]; x < s->first[c + 1]; x++)
            s->known[x] = change_at(s, c, s->ask[x].station);
    }
}

static enum model_status linearize(struct solver *s)
{
    enum model_status status = MODEL_OK;

    /* Without one customer it is nearly the same. */
    for (size_t c = 1; c <= s->classes; c++)
        memcpy(fractions(s, c), s->states, s->state * sizeof(*s->states));
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

static bool asked(const struct network *net, size_t e)
{
    return net->visits[e] > 0 || net->posted[e] > 0;
}

static bool valid(const struct network *net)
{
    size_t entries = net->classes * net->stations;

    if (!net->classes || !net->stations)
        return false;
    for (size_t e = 0; e < entries; e++) {
        if (!(net->visits[e] >= 0) || !isfinite(net->visits[e]) ||
            !(net->posted[e] >= 0) || !isfinite(net->posted[e]) ||
            !(net->service[e] >= 0) || !isfinite(net->service[e]) ||
            !(net->posted_service[e] >= 0) ||
            !isfinite(net->posted_service[e]) ||
            (asked(net, e) && net->service[e] + net->posted_service[e] == 0))
            return false;
    }
    return true;
}

/* Who asks where. */
static bool list_asks(struct solver *s)
{
    const struct network *net = s->net;
    size_t entries = s->classes * s->stations;

    for (size_t e = 0; e < entries; e++)
        s->asks += asked(net, e);
    s->ask = calloc(s->asks + 1, sizeof(*s->ask));
    s->first = calloc(s->classes + 1 + entries, sizeof(*s->first));
    if (!s->ask || !s->first)
        return false;
    s->number = s->first + s->classes + 1;
    size_t x = 0;
    for (size_t e = 0; e < entries; e++) {
        s->number[e] = asked(net, e) ? x : s->asks;
        if (asked(net, e))
            s->ask[x++] =
                (struct ask){e % s->stations, net->visits[e], net->service[e],
                             net->posted[e], net->posted_service[e]};
        s->first[e / s->stations + 1] = x;
        s->posting = s->posting || net->posted[e] > 0;
    }
    return true;
}

static void release(struct solver *s)
{
    free(s->ask);
    free(s->first);
    free(s->states);
}

static bool setup(struct solver *s, enum network_method method,
                  const struct network *net)
{
    bool linearizer = method == NETWORK_LINEARIZER;
    size_t populations = linearizer ? net->classes + 1 : 1;

    *s = (struct solver){
        .net = net, .classes = net->classes, .stations = net->stations};
    if (!list_asks(s))
        return false;
    s->state = s->asks + s->classes;
    s->states = calloc((populations + 2) * s->state + 4 * s->stations +
                           2 * s->asks + 2 * s->classes +
                           (linearizer ? (s->classes + 1) * (s->asks + 1) : 0),
                       sizeof(*s->states));
    if (!s->states)
        return false;
    s->steps = s->states + populations * s->state;
    s->seen = s->steps + 2 * s->state;
    s->load = s->seen + s->stations;
    s->own = s->load + s->stations;
    s->slower = s->own + s->stations;
    s->response = s->slower + s->stations;
    s->learnt = s->response + s->asks;
    s->damping = s->learnt + s->asks;
    s->turn = s->damping + s->classes;
    if (linearizer) {
        s->change = s->turn + s->classes;
        s->known = s->change + s->classes * (s->asks + 1);
    }
    for (size_t k = 0; k < s->classes; k++)
        shares(s, 0)[k] = 1;
    return true;
}

/* Response of class K at station I, also where it never asks. */
static double response_at(const struct solver *s, size_t k, size_t i)
{
    size_t e = k * s->stations + i, x = s->number[e];
    struct ask none = {.station = i, .service = s->net->service[e]};

    if (x < s->asks)
        return s->response[x];
    return respond(s, &none,
                   s->seen[i] + (s->change ? change_at(s, k, i) : 0));
}

static void report(struct solver *s, const struct network_result *result)
{

    if (result->share)
        memcpy(result->share, shares(s, 0), s->classes * sizeof(double));
    for (size_t e = 0; e < s->classes * s->stations && result->response; e++)
        result->response[e] = response_at(s, e / s->stations, e % s->stations);
    for (size_t i = 0; i < s->stations && result->utilisation; i++) {
        double sum = 0;
        for (size_t k = 0; k < s->classes; k++) {
            const struct ask *a = &s->ask[s->number[k * s->stations + i]];
            sum += (double)s->net->count[k] * shares(s, 0)[k] *
                   (a->visits * a->service + a->posted * a->posted_service);
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
    status = setup(&s, method, network) ? settle(&s, 0, TOLERANCE)
                                        : MODEL_ENOMEM;
    if (status == MODEL_OK && method == NETWORK_LINEARIZER)
        status = linearize(&s);
    if (status == MODEL_OK)
        report(&s, result);
    release(&s);
    return status;
}
