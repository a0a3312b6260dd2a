/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters: choice of the backends, samples, and profiles of what they saw. */

#include "node_agent/counters/counters.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/counters/askers.h"
#include "node_agent/counters/attribute.h"
#include "node_agent/counters/emulated.h"
#include "node_agent/counters/energy.h"
#include "node_agent/counters/likwid.h"
#include "node_agent/counters/resctrl.h"

#define MAX_OPEN 4     /* the chosen one and supplements */
#define MOVE_ROUNDS 5  /* loads after which a value that stands still is dead */
#define NAMES_MAX 128

struct open_backend {
    const struct counters_backend *backend;
    void *state;
};

struct counters {
    struct counters_setup setup;
    char argument[256]; /* of the chosen one */
    struct open_backend open[MAX_OPEN];
    size_t count;
    char names[NAMES_MAX];
    size_t points; /* that a profile needs, as of the last news */
    struct sample *sample, *more;
};

const struct counters_backend *const counters_backends[] = {
    &counters_emulated,
    &counters_likwid,
    &counters_perf,
    &counters_resctrl,
    &counters_powercap,
    &counters_askers,
    &counters_progress,
    NULL,
};

/* ---- words -------------------------------------------------------------- */

static const char *const metrics[COUNTERS_METRICS] = {
    [COUNTERS_CYCLES] = "cycles",
    [COUNTERS_STALLED] = "stalled",
    [COUNTERS_INSTRUCTIONS] = "instructions",
    [COUNTERS_LLC_ACCESSES] = "llc-accesses",
    [COUNTERS_READ_MISSES] = "read-misses",
    [COUNTERS_LOCALITY] = "locality",
    [COUNTERS_MEMORY_READS] = "memory-reads",
    [COUNTERS_MEMORY_WRITES] = "memory-writes",
    [COUNTERS_PREFETCHES] = "prefetches",
    [COUNTERS_TRAFFIC] = "traffic",
    [COUNTERS_JOB_TRAFFIC] = "job-traffic",
    [COUNTERS_JOB_LLC] = "job-llc",
    [COUNTERS_THREADS] = "threads",
    [COUNTERS_ENERGY] = "energy",
    [COUNTERS_WORK] = "work",
};

const char *counters_metric_name(enum counters_metric metric)
{
    return metrics[metric];
}

/* Reasons, one after the other, as far as there is room. */
struct reason {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct reason *r,
                                                      const char *format, ...)
{
    va_list ap;

    if (!r->text || r->used + 3 >= r->size)
        return;
    if (r->used)
        r->used += (size_t)snprintf(r->text + r->used, r->size - r->used, "; ");
    va_start(ap, format);
    int n = vsnprintf(r->text + r->used, r->size - r->used, format, ap);
    va_end(ap);
    r->used += n > 0 ? (size_t)n : 0;
    if (r->used >= r->size)
        r->used = r->size - 1;
}

/* ---- opening ------------------------------------------------------------ */

static struct sample *new_sample(const struct counters_setup *setup)
{
    return sample_new(setup->machine->cpus, setup->machine->llc_domains,
                      setup->machine->numa_nodes, setup->packages);
}

/* Do the values of an open backend move when something happens? */
static bool moves(struct counters *c, const struct counters_backend *b,
                  void *state)
{
    if (!b->sample || b->flags & COUNTERS_STILL)
        return true;
    for (int i = 0; i < MOVE_ROUNDS; i++) {
        c->setup.load(&c->setup);
        sample_clear(c->more);
        c->more->time_ns = 1;
        b->sample(state, c->more, NULL);
        if (sample_moved(c->more))
            return true;
    }
    return false;
}

/* Open B; CHECK: only if its values move. */
static int open_one(struct counters *c, const struct counters_backend *b,
                    bool check, struct errtext *err)
{
    struct open_backend *o = &c->open[c->count];

    if (c->count == MAX_OPEN)
        return errtext_set(err, ENOSPC, "%s: too many at a time", b->name);
    err->text[0] = '\0';
    if (b->open(&c->setup, &o->state, err) < 0) {
        if (!err->text[0])
            errtext_set(err, errno, "%s: %s", b->name, strerror(errno));
        return -1;
    }
    if (check && !moves(c, b, o->state)) {
        b->close(o->state);
        return errtext_set(err, ENOTSUP,
                           "%s: opens, but its values do not move under load",
                           b->name);
    }
    o->backend = b;
    c->count++;
    size_t used = strlen(c->names);
    snprintf(c->names + used, sizeof(c->names) - used, "%s%s",
             used ? " + " : "", b->name);
    return 0;
}

static int open_auto(struct counters *c, struct reason *reason,
                     struct errtext *err)
{
    struct errtext why;

    for (size_t i = 0; c->setup.backends[i]; i++) {
        const struct counters_backend *b = c->setup.backends[i];
        if (!(b->flags & COUNTERS_AUTO))
            continue;
        if (open_one(c, b, true, &why) == 0) {
            say(reason, "chose %s: %s", b->name, b->help);
            return 0;
        }
        say(reason, "not %s", why.text);
    }
    return errtext_set(err, ENOTSUP, "counters auto: none works here");
}

static bool named(const struct counters_backend *b, const char *name,
                  size_t length)
{
    return b && strlen(b->name) == length && !strncmp(b->name, name, length);
}

static const struct counters_backend *
find(const struct counters_setup *setup, const char *name, size_t length)
{
    for (size_t i = 0; setup->backends[i]; i++)
        if (named(setup->backends[i], name, length))
            return setup->backends[i];
    return named(setup->replay, name, length) ? setup->replay : NULL;
}

/* NAME of NAME:ARGUMENT, whose argument goes into the setup. */
static int open_named(struct counters *c, const char *specification,
                      struct reason *reason, struct errtext *err)
{
    const char *colon = strchr(specification, ':');
    size_t length = colon ? (size_t)(colon - specification)
                          : strlen(specification);
    struct errtext why;

    if (colon && snprintf(c->argument, sizeof(c->argument), "%s", colon + 1) >=
                     (int)sizeof(c->argument))
        return errtext_set(err, EINVAL, "counters %.40s...: too long",
                           specification);
    c->setup.argument = c->argument;
    const struct counters_backend *b = find(&c->setup, specification, length);
    if (!b)
        return errtext_set(err, EINVAL, "counters %.100s: no such backend",
                           specification);
    if (open_one(c, b, false, &why) < 0)
        return errtext_set(err, errno, "counters %.180s", why.text);
    say(reason, "asked for %s: %s", b->name, b->help);
    return 0;
}

/* AUTOMATIC: what open_auto() did not take has said why already. */
static void open_supplements(struct counters *c, bool automatic,
                             struct reason *reason)
{
    struct errtext why;
    bool passed = automatic;

    if (c->open[0].backend->flags & COUNTERS_COMPLETE)
        return;
    c->setup.argument = "";
    for (size_t i = 0; c->setup.backends[i]; i++) {
        const struct counters_backend *b = c->setup.backends[i];
        if (b == c->open[0].backend)
            passed = false;
        if (!(b->flags & COUNTERS_SUPPLEMENT) || b == c->open[0].backend ||
            (passed && b->flags & COUNTERS_AUTO))
            continue;
        if (open_one(c, b, true, &why) == 0)
            say(reason, "with %s: %s", b->name, b->help);
        else
            say(reason, "without %s", why.text);
    }
}

static size_t find_points(const struct counters *c)
{
    struct counters_ability a[COUNTERS_METRICS];

    counters_describe(c, a);
    if (a[COUNTERS_CYCLES].can && a[COUNTERS_STALLED].can)
        return 1;
    /* Times of requests are needed to turn numbers of them into stalls. */
    return c->setup.calibrated &&
                   (a[COUNTERS_READ_MISSES].can || a[COUNTERS_JOB_TRAFFIC].can)
               ? 1
               : 2;
}

struct counters *counters_open(const char *specification,
                               const struct counters_setup *setup,
                               char *reason, size_t reason_size,
                               struct errtext *err)
{
    struct reason r = {reason, reason_size, 0};
    struct counters *c = calloc(1, sizeof(*c));

    if (reason_size)
        reason[0] = '\0';
    if (!c) {
        errtext_set(err, ENOMEM, "counters: out of memory");
        return NULL;
    }
    c->setup = *setup;
    if (!c->setup.backends)
        c->setup.backends = counters_backends;
    if (!(c->sample = new_sample(setup)) || !(c->more = new_sample(setup))) {
        counters_close(c);
        errtext_set(err, ENOMEM, "counters: out of memory");
        return NULL;
    }
    bool automatic = !strcmp(specification, "auto");
    int rc = automatic ? open_auto(c, &r, err)
                       : open_named(c, specification, &r, err);
    if (rc < 0) {
        int saved = errno;
        counters_close(c);
        errno = saved;
        return NULL;
    }
    open_supplements(c, automatic, &r);
    c->points = find_points(c);
    return c;
}

void counters_close(struct counters *c)
{
    if (!c)
        return;
    while (c->count > 0) {
        struct open_backend *o = &c->open[--c->count];
        o->backend->close(o->state);
    }
    sample_free(c->sample);
    sample_free(c->more);
    free(c);
}

/* ---- what there is ------------------------------------------------------ */

const char *counters_name(const struct counters *c)
{
    return c->open[0].backend->name;
}

const char *counters_names(const struct counters *c)
{
    return c->names;
}

const struct counters_setup *counters_setup(const struct counters *c)
{
    return &c->setup;
}

void counters_describe(const struct counters *c,
                       struct counters_ability *ability)
{
    struct counters_ability one[COUNTERS_METRICS];

    memset(ability, 0, COUNTERS_METRICS * sizeof(*ability));
    for (size_t i = 0; i < c->count; i++) {
        memset(one, 0, sizeof(one));
        c->open[i].backend->describe(c->open[i].state, one);
        for (size_t m = 0; m < COUNTERS_METRICS; m++)
            if (!ability[m].can && (one[m].can || !ability[m].why[0]))
                ability[m] = one[m];
    }
    counters_progress.describe(NULL, one);
    ability[COUNTERS_WORK] = one[COUNTERS_WORK];
}

size_t counters_points(const struct counters *c)
{
    return c->points;
}

/* ---- counting ----------------------------------------------------------- */

bool counters_follow(const struct counters *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->open[i].backend->assign)
            return true;
    return false;
}

int counters_assign(struct counters *c, const struct counters_job *jobs,
                    size_t count, struct errtext *err)
{
    int rc = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct open_backend *o = &c->open[i];
        if (o->backend->assign &&
            o->backend->assign(o->state, jobs, count, rc ? NULL : err) < 0)
            rc = -1;
    }
    return rc;
}

int counters_sample(struct counters *c, uint64_t elapsed_ns,
                    const struct sample **sample, struct errtext *err)
{
    int rc = 0;

    sample_set_groups(c->sample, NULL, 0);
    sample_clear(c->sample);
    c->sample->time_ns = elapsed_ns;
    for (size_t i = 0; i < c->count; i++) {
        struct open_backend *o = &c->open[i];
        struct sample *s = i ? c->more : c->sample;
        if (!o->backend->sample)
            continue;
        if (i) {
            sample_set_groups(s, NULL, 0);
            sample_clear(s);
            s->time_ns = elapsed_ns;
        }
        if (o->backend->sample(o->state, s, rc ? NULL : err) < 0)
            rc = -1;
        if (i)
            sample_fill(c->sample, s);
    }
    if (rc < 0)
        c->points = find_points(c);
    *sample = c->sample;
    return rc;
}

/* ---- profiles ----------------------------------------------------------- */

/* Of the time that a throughput has to be measured, that which counts have:
 * they say at once why cores wait, where speeds have to be compared. */
#define COUNTED_PART 0.3

/* The loop counted for longest, and whether there is any. */
static const struct loop *best_loop(const struct measure *m, uint64_t enough_ns,
                                    bool *any)
{
    const struct loop *best = NULL;
    double enough_us = (double)enough_ns * 1e-3 * COUNTED_PART;

    *any = false;

    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct loop *l = m->point[i].loop;
        *any |= l != NULL;
        if (l && l->total_us >= enough_us && (!best || l->total_us > best->total_us))
            best = l;
    }
    return best;
}

struct workload *counters_profile(const struct counters *c,
                                  const struct measure *measure,
                                  uint64_t enough_ns, struct counters_fit *fit,
                                  struct errtext *err)
{
    bool any;
    const struct loop *loop = best_loop(measure, enough_ns, &any);

    *fit = (struct counters_fit){.from = FIT_OF_REQUESTS,
                                 .points = 1};
    if (loop) {
        struct workload *w = attribute_profile(
            c->setup.machine, c->setup.calibrated, loop, &fit->rho);
        if (w) {
            fit->low = fit->high = fit->rho;
            return w;
        }
    } else if (any) { /* soon there will be enough of it */
        errno = EAGAIN;
        return NULL;
    }
    *fit = (struct counters_fit){.from = FIT_OF_WORK};
    return progress_fit(c->setup.machine, measure, fit, err);
}
