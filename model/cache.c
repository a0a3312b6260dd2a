/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who may fill how much of a last-level cache, and of the bandwidth behind it. */

#include "model/cache.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/maxmin.h"

const struct cache_share cache_unlimited = {1, 1, INFINITY};

/* A decision in the making. */
struct decision {
    const struct cache_node *node; /* that is looked at */
    size_t n;                      /* its number */
    struct cache_job *jobs;
    size_t count;
    bool changed;
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct decision *d,
                                                      const char *format, ...)
{
    va_list ap;

    d->changed = true;
    if (d->used && d->used + 3 < d->size)
        d->used += (size_t)snprintf(d->text + d->used, d->size - d->used, "; ");
    if (d->used + 1 >= d->size)
        return;
    va_start(ap, format);
    int n = vsnprintf(d->text + d->used, d->size - d->used, format, ap);
    va_end(ap);
    d->used += n > 0 ? (size_t)n : 0;
    if (d->used >= d->size)
        d->used = d->size - 1;
}

/* ---- the cache ----------------------------------------------------------- */

static double miss_ratio(const struct cache_use *u)
{
    return u->accesses > 0 ? fmin(u->misses / u->accesses, 1) : NAN;
}

/* 1: streams, 0: does not, -1: not known.  A job that is CONFINED is held
 * against the thresholds of release. */
static int streams(const struct cache_use *u, const struct cache_memory *m,
                   bool confined)
{
    double fills = u->misses / u->cores, hits = 1 / miss_ratio(u) - 1;

    if (isnan(fills) || (fills > 0 && isnan(hits)))
        return -1;
    if (confined)
        return hits <= CACHE_HITS_RELEASE && fills >= CACHE_FILLS_RELEASE &&
               miss_ratio(u) <= m->miss_ratio + CACHE_LOSS;
    return fills >= CACHE_FILLS && hits <= CACHE_HITS_STREAM && !m->pause;
}

/* Somebody else than J, who does not stream (NOW), may gain from the cache. */
static bool gains_another(const struct decision *d, const int *now, size_t j)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct cache_use *u = &d->jobs[i].use[d->n];
        if (i != j && u->cores > 0 && now[i] <= 0 &&
            !(u->accesses / u->cores < CACHE_USES))
            return true;
    }
    return false;
}

static void switch_confined(struct decision *d, struct cache_job *job,
                            bool another)
{
    const struct cache_use *u = &job->use[d->n];
    struct cache_memory *m = &job->memory[d->n];
    struct cache_share *s = &job->share[d->n];
    double misses = 100 * miss_ratio(u);

    m->looks = 0;
    if (s->part == 1) {
        s->part = CACHE_PART;
        m->miss_ratio = miss_ratio(u);
        say(d, "job %u on CPU node %zu is confined to %.0f %% of the cache (two "
               "ways at least): %.0f %% of its %.0f LLC accesses per us miss",
            (unsigned)job->id, d->n, 100 * CACHE_PART, misses, u->accesses);
        return;
    }
    s->part = 1;
    if (miss_ratio(u) > m->miss_ratio + CACHE_LOSS) {
        m->pause = CACHE_PAUSE;
        say(d, "job %u on CPU node %zu has all of the cache again: %.0f %% of "
               "its accesses miss since it was confined, before %.0f %%",
            (unsigned)job->id, d->n, misses, 100 * m->miss_ratio);
    } else if (!another) {
        say(d, "job %u on CPU node %zu has all of the cache again: no other "
               "job would gain by it", (unsigned)job->id, d->n);
    } else {
        say(d, "job %u on CPU node %zu has all of the cache again: it no "
               "longer streams (%.0f %% of %.0f LLC accesses per us miss)",
            (unsigned)job->id, d->n, misses, u->accesses);
    }
}

static void confine(struct decision *d)
{
    int now[d->count];
    double held = 0;

    for (size_t j = 0; j < d->count; j++) {
        const struct cache_job *job = &d->jobs[j];
        const struct cache_use *u = &job->use[d->n];
        now[j] = u->cores > 0 ? streams(u, &job->memory[d->n],
                                        job->share[d->n].part < 1)
                              : -1;
        held += now[j] > 0 ? u->llc_bytes : 0;
    }
    bool small = held <= CACHE_PART * d->node->llc_bytes;
    for (size_t j = 0; j < d->count; j++) {
        struct cache_memory *m = &d->jobs[j].memory[d->n];
        bool confined = d->jobs[j].share[d->n].part < 1;
        bool another = gains_another(d, now, j);
        bool want = now[j] > 0 && another && (confined || !small);
        m->pause -= m->pause > 0;
        m->looks = now[j] >= 0 && want != confined ? m->looks + 1 : 0;
        if (m->looks >= CACHE_LOOKS)
            switch_confined(d, &d->jobs[j], another);
    }
}

/* ---- bandwidth ----------------------------------------------------------- */

/* What JOB asks for: as counted, and before it was capped if that was more. */
static double demand_of(const struct decision *d, const struct cache_job *job)
{
    double now = job->use[d->n].requests;

    return job->share[d->n].rate < 1 ? fmax(job->memory[d->n].demand, now) : now;
}

static void set_cap(struct decision *d, struct cache_job *job, double demand,
                    double part)
{
    struct cache_share *s = &job->share[d->n];
    struct cache_memory *m = &job->memory[d->n];

    *s = (struct cache_share){s->part, part, part < 1 ? part * demand : INFINITY};
    m->cap = part;
    m->demand = demand;
    m->cap_looks = m->steer_looks = m->steer_pause = 0;
    m->steered = 0;
    if (part < 1)
        say(d, "job %u on CPU node %zu is capped to %.0f of the %.0f requests "
               "per us that it would make: memory serves %.0f",
            (unsigned)job->id, d->n, s->requests, demand, d->node->capacity);
    else
        say(d, "job %u on CPU node %zu is no longer capped", (unsigned)job->id,
            d->n);
}

/* Turn the rate of a capped JOB so that it makes as many requests as it may. */
static void steer(struct decision *d, struct cache_job *job)
{
    struct cache_share *s = &job->share[d->n];
    struct cache_memory *m = &job->memory[d->n];
    double now = job->use[d->n].requests;
    int way = now > s->requests * (1 + CACHE_STEP)   ? -1
              : now < s->requests * (1 - CACHE_STEP) ? 1
                                                     : 0;

    m->steer_pause -= m->steer_pause > 0;
    if (!way || m->steer_pause || (way < 0 && s->rate <= CACHE_LEAST)) {
        m->steer_looks = 0;
        return;
    }
    if (++m->steer_looks < CACHE_LOOKS)
        return;
    m->steer_looks = 0;
    if (way == -m->steered) { /* neither step is right */
        m->steered = 0;
        m->steer_pause = CACHE_PAUSE;
        return;
    }
    m->steered = way;
    double rate = fmax(s->rate + way * CACHE_STEP, CACHE_LEAST);
    if (rate > 1 - CACHE_STEP / 2) { /* so little is all that it wants */
        set_cap(d, job, now, 1);
        return;
    }
    s->rate = rate;
    say(d, "job %u on CPU node %zu makes %.0f requests per us for a cap of %.0f: "
           "rate %.0f %%",
        (unsigned)job->id, d->n, now, s->requests, 100 * rate);
}

/* Let JOB have PART of its DEMAND if that has been wanted for long enough. */
static void want_cap(struct decision *d, struct cache_job *job, double demand,
                     double part)
{
    const struct cache_share *s = &job->share[d->n];
    struct cache_memory *m = &job->memory[d->n];
    double had = s->rate < 1 ? m->cap : 1;

    part = part > 1 - CACHE_STEP ? 1 : fmax(part, CACHE_LEAST);
    if (part == had || (part < 1 && fabs(part - had) < CACHE_STEP)) {
        m->cap_looks = 0;
        if (s->rate < 1)
            steer(d, job);
    } else if (++m->cap_looks >= CACHE_LOOKS) {
        set_cap(d, job, demand, part);
    }
}

static void cap(struct decision *d)
{
    double demand[d->count], weight[d->count], sum = 0;
    size_t index[d->count], count = 0;
    bool capped = false;

    for (size_t j = 0; j < d->count; j++) {
        struct cache_job *job = &d->jobs[j];
        if (!(job->use[d->n].cores > 0))
            continue;
        capped |= job->share[d->n].rate < 1;
        index[count] = j;
        weight[count] = job->weight * job->use[d->n].cores;
        demand[count] = demand_of(d, job);
        sum += demand[count++];
    }
    double full = capped ? CACHE_FULL_RELEASE : CACHE_FULL;
    if (!(sum >= 0) || isnan(d->node->capacity))
        return;
    bool fights = count > 1 && sum >= full * d->node->capacity;
    double level = maxmin_level(demand, weight, count,
                                CACHE_FULL * d->node->capacity);
    for (size_t i = 0; i < count; i++)
        want_cap(d, &d->jobs[index[i]], demand[i],
                 fights && demand[i] > level * weight[i]
                     ? level * weight[i] / demand[i]
                     : 1);
}

/* ---- all together -------------------------------------------------------- */

/* Undo what a rule did that is no longer in force. */
static void undo(struct decision *d, unsigned rules)
{
    for (size_t j = 0; j < d->count; j++) {
        struct cache_share *s = &d->jobs[j].share[d->n];
        bool part = !(rules & CACHE_CONFINE) && s->part < 1;
        bool rate = !(rules & CACHE_CAP) && s->rate < 1;
        if (!part && !rate)
            continue;
        if (part)
            s->part = 1;
        if (rate) {
            s->rate = 1;
            s->requests = INFINITY;
        }
        d->jobs[j].memory[d->n] = (struct cache_memory){0};
        say(d, "job %u on CPU node %zu has all of the %s again: no rule applies",
            (unsigned)d->jobs[j].id, d->n,
            part && rate ? "cache and bandwidth"
            : part       ? "cache"
                         : "bandwidth");
    }
}

bool cache_decide(const struct cache_node *node, size_t nodes, unsigned rules,
                  struct cache_job *jobs, size_t count, char *text,
                  size_t size)
{
    struct decision d = {
        .jobs = jobs, .count = count, .text = text, .size = size};

    if (size)
        text[0] = '\0';
    for (d.n = 0; d.n < nodes && count; d.n++) {
        d.node = &node[d.n];
        undo(&d, rules);
        if (rules & CACHE_CONFINE)
            confine(&d);
        if (rules & CACHE_CAP)
            cap(&d);
    }
    return d.changed;
}

/* ---- what the hardware takes --------------------------------------------- */

uint64_t cache_run(uint64_t mask)
{
    uint64_t best = 0;

    while (mask) {
        uint64_t run = mask & ~(mask + (mask & -mask)); /* the lowest */
        if (__builtin_popcountll(run) > __builtin_popcountll(best))
            best = run;
        mask &= ~run;
    }
    return best;
}

/* COUNT (1..64) ones. */
static uint64_t ones(unsigned count)
{
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

uint64_t cache_mask(const struct cache_ways *ways, double part)
{
    uint64_t run = cache_run(ways->usable);
    unsigned all = (unsigned)__builtin_popcountll(run);
    unsigned least = ways->least > 2 ? ways->least : 2;

    if (!(part < 1) || !all)
        return run;
    unsigned count = (unsigned)ceil(fmax(part, 0) * all);
    if (count < least)
        count = least;
    if (count + (ways->least ? ways->least : 1) > all)
        return run;
    uint64_t low = ones(count) << __builtin_ctzll(run);
    uint64_t high = low << (all - count);
    return __builtin_popcountll(high & ways->shareable) <
                   __builtin_popcountll(low & ways->shareable)
               ? high
               : low;
}

unsigned cache_percent(double rate, unsigned least, unsigned step)
{
    unsigned percent = (unsigned)ceil(100 * fmin(fmax(rate, 0), 1) - 1e-9);

    if (step > 1)
        percent = (percent + step - 1) / step * step;
    if (percent < least)
        percent = least;
    return percent < 100 ? percent : 100;
}
