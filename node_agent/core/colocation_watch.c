/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How near to its cores each job's interleaved pages should lie. */

#include "node_agent/core/colocation_watch.h"

#include <math.h>
#include <stdlib.h>

#include "common/log.h"
#include "model/colocation.h"
#include "model/policy.h"
#include "node_agent/core/observer.h"
#include "protocol/near_share.h"

struct colocation_watch {
    const struct machine *machine;
    struct workload *compute; /* profile of who computes */
    struct colocation *colocation;
    size_t *counts; /* [llc_domains * POLICY_MAX_JOBS] */
    double value[COLOCATION_SHARES]; /* relative to share 0, averaged, */
    double us;      /* over so long; 0: nothing so far */
    double look_us; /* since the last look */
    size_t share;   /* number of the present one */
};

struct colocation_watch *colocation_watch_new(const struct machine *machine)
{
    struct colocation_watch *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->machine = machine;
    w->compute = workload_new(machine->numa_nodes);
    w->colocation = colocation_new(machine, POLICY_MAX_JOBS);
    w->counts = calloc(machine->llc_domains * POLICY_MAX_JOBS, sizeof(*w->counts));
    if (!w->compute || !w->colocation || !w->counts) {
        colocation_watch_free(w);
        return NULL;
    }
    return w;
}

void colocation_watch_free(struct colocation_watch *w)
{
    if (!w)
        return;
    workload_free(w->compute);
    colocation_free(w->colocation);
    free(w->counts);
    free(w);
}

/* What runs, and whose pages move: false where one job is not known, or nobody's do. */
static bool look(struct colocation_watch *w, const struct observer_reading *readings,
                 const struct attribute_job *shares, size_t count,
                 const struct workload **profile, bool *moves)
{
    bool any = false;

    for (size_t j = 0; j < count; j++) {
        if (!(profile[j] = observer_profile(&readings[j], &shares[j], w->compute)))
            return false;
        moves[j] = readings[j].job->interleaved &&
                   readings[j].job->options.interleave != OPTION_INTERLEAVE_OFF;
        any |= moves[j];
        for (size_t i = 0; i < w->machine->llc_domains; i++)
            w->counts[i * count + j] = shares[j].loop->cores[i];
    }
    return any;
}

/* VALUE is how it has been for US. */
static void average(struct colocation_watch *w, const double *value, double us)
{
    us = fmin(us, COLOCATION_WATCH_US);
    w->us = fmin(w->us + us, COLOCATION_WATCH_US);
    for (size_t i = 0; i < COLOCATION_SHARES; i++)
        w->value[i] += us / w->us * (value[i] - w->value[i]);
}

static void choose(struct colocation_watch *w)
{
    size_t best = w->share;

    for (size_t i = 0; i < COLOCATION_SHARES; i++)
        if (w->value[i] > w->value[best] + (best == w->share ? COLOCATION_WATCH_GAIN : 0))
            best = i;
    if (best == w->share)
        return;
    log_debug("interleaved pages: a near share of %.2f instead of %.2f is predicted to make jobs "
              "%.1f %% faster", colocation_share(best), colocation_share(w->share),
              100 * expm1(w->value[best] - w->value[w->share]));
    w->share = best;
}

void colocation_watch_add(struct colocation_watch *w, const struct observer_reading *readings,
                          const struct attribute_job *shares, size_t count, double us)
{
    const struct workload *profile[POLICY_MAX_JOBS];
    bool moves[POLICY_MAX_JOBS];
    double value[COLOCATION_SHARES];

    if ((w->look_us += us) < COLOCATION_WATCH_LOOK_US)
        return;
    us = w->look_us;
    w->look_us = 0; /* time in which nothing is known tells nothing */
    if (count < 2 || count > POLICY_MAX_JOBS ||
        !look(w, readings, shares, count, profile, moves))
        return;
    colocation_compare(w->colocation, profile, moves, count, w->counts, value);
    average(w, value, us);
    choose(w);
    for (size_t j = 0; j < count; j++)
        if (moves[j])
            readings[j].job->near_share =
                1 + (uint32_t)(colocation_share(w->share) * COSCHED_NEAR_WHOLE);
}
