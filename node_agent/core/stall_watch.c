/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long the jobs' reads stall them, relative to what the model says. */

#include "node_agent/core/stall_watch.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "model/aggregated_mva.h"
#include "model/stall_factor.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/region.h"

/* Of one job. */
struct watched {
    struct stall_factor *factor;
    const struct workload *profile;
    struct loop_cycles cycles;
};

struct stall_watch {
    const struct machine *machine;
    struct workload *compute; /* profile of who computes */
    struct aggregated_mva *aggregated; /* for `room` jobs; NULL: for none */
    struct watched *job; /* [room] */
    size_t *counts;      /* [llc_domains * room] */
    size_t room;
    uint64_t situation; /* hash of who ran what where */
    double us;          /* for which that was so */
    double sum, learnt_us; /* of logarithms of factors times us, and these */
};

struct stall_watch *stall_watch_new(const struct machine *machine)
{
    struct stall_watch *w = calloc(1, sizeof(*w));

    if (w && !(w->compute = workload_new(machine->numa_nodes))) {
        free(w);
        return NULL;
    }
    if (w)
        w->machine = machine;
    return w;
}

/* Release what there is for `room` jobs. */
static void clear(struct stall_watch *w)
{
    aggregated_free(w->aggregated);
    free(w->job);
    free(w->counts);
    w->aggregated = NULL;
    w->job = NULL;
    w->counts = NULL;
    w->room = 0;
}

void stall_watch_free(struct stall_watch *w)
{
    if (!w)
        return;
    clear(w);
    workload_free(w->compute);
    free(w);
}

static bool make_room(struct stall_watch *w, size_t count)
{
    if (count <= w->room)
        return true;
    clear(w);
    w->situation = 0;
    w->aggregated = aggregated_new(w->machine, count);
    w->job = calloc(count, sizeof(*w->job));
    w->counts = calloc(count * w->machine->llc_domains, sizeof(*w->counts));
    if (!w->aggregated || !w->job || !w->counts) {
        clear(w);
        return false;
    }
    w->room = count;
    return true;
}

/* The mean of the logarithms of all factors, 0 before there are any. */
static double usual(const struct stall_watch *w)
{
    return w->sum / (w->learnt_us + STALL_WATCH_SOME_US);
}

static void add_to_usual(struct stall_watch *w, const struct stall_factor *factor)
{
    w->sum += factor->log * w->us;
    w->learnt_us += w->us;
    if (w->learnt_us > STALL_WATCH_MOST_US) {
        w->sum *= STALL_WATCH_MOST_US / w->learnt_us;
        w->learnt_us = STALL_WATCH_MOST_US;
    }
}

/* What READING's job runs, of which SHARE was counted, into JOB; false when that is not known. */
static bool look(const struct stall_watch *w, const struct observer_reading *reading,
                 const struct attribute_job *share, struct watched *job)
{
    struct region *region = reading->region;

    job->profile = observer_profile(reading, share, w->compute);
    job->factor = NULL;
    if (!job->profile || job->profile == w->compute)
        return job->profile != NULL;
    job->factor = &region->stalls;
    if (!(region->stalls.us > 0)) {
        region->stalls.log = usual(w);
        region_take_stalls(region);
    }
    return true;
}

/* True when all jobs are known; is it still the same that they do, and where? */
static bool look_at_all(struct stall_watch *w, const struct observer_reading *readings,
                        const struct attribute_job *shares, size_t count, bool *same)
{
    size_t domains = w->machine->llc_domains;
    uint64_t situation = HASH_START;

    for (size_t j = 0; j < count; j++) {
        if (!look(w, &readings[j], &shares[j], &w->job[j]))
            return false;
        hash_word(&situation, (uintptr_t)w->job[j].profile);
        hash_bytes(&situation, shares[j].loop->cores, domains * sizeof(*shares[j].loop->cores));
    }
    *same = situation == w->situation;
    w->situation = situation;
    return true;
}

static void learn(struct stall_watch *w, const struct observer_reading *readings,
                  const struct attribute_job *shares, size_t count)
{
    struct stall_factor *factor[count];
    const struct workload *profile[count];
    double seen[count];

    for (size_t j = 0; j < count; j++) {
        factor[j] = w->job[j].factor;
        profile[j] = w->job[j].profile;
        struct loop_cycles c = w->job[j].cycles;
        seen[j] = c.useful > 0 ? c.stalled / c.useful : NAN;
        for (size_t i = 0; i < w->machine->llc_domains; i++)
            w->counts[i * count + j] = shares[j].loop->cores[i];
    }
    stall_factors_learn(factor, w->aggregated, profile, w->counts, seen, count, w->us, usual(w));
    for (size_t j = 0; j < count; j++)
        if (factor[j] && factor[j]->us > 0) {
            add_to_usual(w, factor[j]);
            region_take_stalls(readings[j].region);
            log_debug("job %u: reads stall %.2f times as long as the papers' model says, %.2f in a "
                      "us of computing now", readings[j].job->id, stall_factor(factor[j]), seen[j]);
        }
}

void stall_watch_add(struct stall_watch *w, const struct observer_reading *readings,
                     const struct attribute_job *shares, size_t count, double us)
{
    bool same;

    if (!count || !make_room(w, count) || !look_at_all(w, readings, shares, count, &same)) {
        w->situation = 0;
        return;
    }
    if (!same)
        w->us = 0;
    for (size_t j = 0; j < count; j++) {
        struct loop_cycles *sum = &w->job[j].cycles, more = loop_cycles(shares[j].loop);
        if (!(w->us > 0))
            *sum = (struct loop_cycles){0, 0};
        sum->useful += more.useful;
        sum->stalled += more.stalled;
    }
    w->us += us;
    if (w->us < STALL_WATCH_US)
        return;
    learn(w, readings, shares, count);
    w->us = 0;
}
