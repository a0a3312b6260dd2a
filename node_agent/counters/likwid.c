/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters by LIKWID, from a helper process. */

#include "node_agent/counters/likwid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node_agent/counters/events.h"
#include "node_agent/counters/likwid_link.h"
#include "node_agent/counters/likwid_values.h"
#include "protocol/cpulist.h"

#define HELPER "coschedd-likwid"

struct likwid_timing likwid_timing = {
    /* LIKWID looks at the machine and runs programs before it answers: 1.1 s
     * where that was measured. */
    .start = 15000,
    /* Reading takes about 1 us for each register. */
    .answer = 20,
    .hung = 5000,
    .backoff_min = 1000,
    .backoff_max = 60000,
    .grace = 2000,
    /* Five turns in an epoch. */
    .period = 10,
};

/* What the helper owes us. */
enum owed { OWED_NOTHING, OWED_HELLO, OWED_OPENED, OWED_COUNTS };

struct likwid {
    const struct counters_setup *setup;
    char program[512];
    char set[128]; /* event set asked for: name or path; "" */
    enum likwid_mode mode;
    struct likwid_link *link; /* NULL: none at present */
    struct likwid_link *lost; /* the one before, which may still be ending */
    enum owed owed;
    int64_t owed_since_ms;
    bool stale; /* counts that are owed came too late for their interval */
    uint32_t serial;
    bool counted; /* a helper had opened: registers in use may be our own */
    int64_t retry_ms; /* when to start the next helper */
    int64_t backoff_ms;
    struct events *events;
    struct likwid_values *values;
    struct errtext note; /* of the choice of the event set */
};

static void owe(struct likwid *l, enum owed owed)
{
    l->owed = owed;
    l->owed_since_ms = clock_ms();
}

/* ---- steps of opening --------------------------------------------------- */

/* The event set that was asked for, or the processor's. */
static struct events *find_events(struct likwid *l,
                                  const struct likwid_hello *hello,
                                  struct errtext *err)
{
    const struct counters_setup *s = l->setup;
    char path[1024], brand[sizeof(hello->brand)], arch[sizeof(hello->arch)];

    if (*l->set) {
        bool is_path = strchr(l->set, '/') != NULL;
        snprintf(path, sizeof(path), "%s%s%s%s", is_path ? "" : s->events,
                 is_path ? "" : "/", l->set, is_path ? "" : ".json");
        return events_load(path, err);
    }
    snprintf(brand, sizeof(brand), "%.*s", (int)sizeof(brand) - 1,
             hello->brand);
    snprintf(arch, sizeof(arch), "%.*s", (int)sizeof(arch) - 1, hello->arch);
    struct events_cpu cpu = {
        .vendor = hello->intel ? "GenuineIntel" : "AuthenticAMD",
        .family = hello->family,
        .model = hello->model,
        .brand = errtext_clean(brand),
        .arch = errtext_clean(arch),
    };
    return events_choose(s->events, &cpu, &l->note, err);
}

static int on_hello(struct likwid *l, const struct likwid_hello *hello,
                    struct errtext *err)
{
    struct likwid_open *o;
    int rc = 0;

    if (!l->events && !(l->events = find_events(l, hello, err)))
        return -1;
    if (!(o = calloc(1, sizeof(*o))))
        return errtext_set(err, ENOMEM, "out of memory");
    o->cpus = *l->setup->cpus;
    o->mode = l->mode;
    o->sets = (uint32_t)l->events->sets;
    o->force = l->counted;
    o->period_ns = (uint64_t)likwid_timing.period * 1000000;
    for (size_t i = 0; i < l->events->sets; i++)
        if (events_string(l->events, i, o->set[i], sizeof(o->set[i])) >=
            sizeof(o->set[i]))
            rc = errtext_set(err, EINVAL, "%s: event set %zu is too long",
                             l->events->name, i + 1);
    if (rc == 0)
        rc = likwid_link_send(l->link, LIKWID_OPEN, ++l->serial, o, sizeof(*o),
                              err);
    free(o);
    owe(l, OWED_OPENED);
    return rc;
}

static int on_opened(struct likwid *l, const struct likwid_opened *opened,
                     struct errtext *err)
{
    struct likwid_values *v = likwid_values_new(l->events, l->setup, opened,
                                                err);
    const char *said = likwid_link_said(l->link);

    if (!v)
        return -1;
    if (!likwid_values_can(v, EVENTS_CYCLES)) {
        const char *lacks = likwid_values_lacks(v, EVENTS_CYCLES);
        errtext_set(err, EBUSY, "%s cannot be counted%s%s%s", lacks,
                    *said ? " (it said: " : "", said, *said ? ")" : "");
        likwid_values_free(v);
        return -1;
    }
    likwid_values_free(l->values);
    l->values = v;
    l->counted = true;
    owe(l, OWED_NOTHING);
    return 0;
}

/* Whatever has come while it is not counts: one step on.  0 also when nothing
 * came. */
static int on_message(struct likwid *l, const struct likwid_header *h,
                      const void *data, struct errtext *err)
{
    if (h->type == LIKWID_HELLO && l->owed == OWED_HELLO)
        return on_hello(l, data, err);
    if (h->type == LIKWID_OPENED && l->owed == OWED_OPENED &&
        h->serial == l->serial)
        return on_opened(l, data, err);
    if (h->type == LIKWID_COUNTS && l->owed == OWED_COUNTS &&
        h->serial == l->serial)
        return 0;
    return errtext_set(err, EPROTO, "the helper sent what was not asked for");
}

static int start(struct likwid *l, struct errtext *err)
{
    likwid_link_free(l->lost, 0);
    l->lost = NULL;
    l->link = likwid_link_connect(l->setup->likwid_socket);
    if (!l->link)
        l->link = likwid_link_start(l->program, err);
    if (!l->link)
        return errno == ENOENT
                   ? errtext_set(err, ENOTSUP, "%s is not installed",
                                 l->program)
                   : -1;
    owe(l, OWED_HELLO);
    return 0;
}

/* ---- open --------------------------------------------------------------- */

/* "direct", "daemon", the name of an event set or its path; several by ",". */
static int parse_argument(struct likwid *l, struct errtext *err)
{
    const char *at = l->setup->argument ? l->setup->argument : "";

    while (*at) {
        size_t n = strcspn(at, ",");
        if (n == 6 && !strncmp(at, "direct", n))
            l->mode = LIKWID_DIRECT;
        else if (n == 6 && !strncmp(at, "daemon", n))
            l->mode = LIKWID_DAEMON;
        else if (n == 0 || n >= sizeof(l->set))
            return errtext_set(err, EINVAL,
                               "likwid:%s: not \"direct\", \"daemon\" or an "
                               "event set",
                               l->setup->argument);
        else
            snprintf(l->set, sizeof(l->set), "%.*s", (int)n, at);
        at += n + (at[n] == ',');
    }
    return 0;
}

/* Until the helper counts, or does not. */
static int open_wait(struct likwid *l, struct errtext *err)
{
    struct likwid_header h;
    const void *data;

    if (start(l, err) < 0)
        return -1;
    while (l->owed != OWED_NOTHING) {
        int rc = likwid_link_wait(l->link, likwid_timing.start, &h, &data, err);
        if (rc < 0 || (rc > 0 && on_message(l, &h, data, err) < 0))
            return -1;
        if (rc == 0)
            return errtext_set(err, ETIMEDOUT, "no answer for %d ms",
                               likwid_timing.start);
    }
    return 0;
}

static void likwid_close(void *state)
{
    struct likwid *l = state;

    likwid_link_free(l->link, likwid_timing.grace);
    likwid_link_free(l->lost, likwid_timing.grace);
    likwid_values_free(l->values);
    events_free(l->events);
    free(l);
}

static int likwid_open(const struct counters_setup *setup, void **state,
                       struct errtext *err)
{
    struct likwid *l = calloc(1, sizeof(*l));
    struct errtext why = {""};

    if (!l)
        return errtext_set(err, ENOMEM, "likwid: out of memory");
    l->setup = setup;
    l->backoff_ms = likwid_timing.backoff_min;
    snprintf(l->program, sizeof(l->program), "%s/" HELPER, setup->libexec);
    if (parse_argument(l, &why) < 0 || open_wait(l, &why) < 0) {
        int saved = errno;
        likwid_close(l);
        return errtext_set(err, saved, "likwid: %s", why.text);
    }
    *state = l;
    return 0;
}

/* ---- sample ------------------------------------------------------------- */

/* The helper is lost; the next one comes after a while, in which this one may
 * put the counters back. */
static void lose(struct likwid *l)
{
    if (l->link) {
        likwid_link_hang_up(l->link);
        l->lost = l->link;
    }
    l->link = NULL;
    l->owed = OWED_NOTHING;
    l->stale = false;
    l->retry_ms = clock_ms() + l->backoff_ms;
    l->backoff_ms *= 2;
    if (l->backoff_ms > likwid_timing.backoff_max)
        l->backoff_ms = likwid_timing.backoff_max;
}

/* Take what the helper owes.  1: it owes nothing now; 0: not yet; -1. */
static int settle(struct likwid *l, struct errtext *err)
{
    struct likwid_header h;
    const void *data;

    while (l->owed != OWED_NOTHING) {
        int rc = likwid_link_receive(l->link, &h, &data, err);
        int limit = l->owed == OWED_COUNTS ? likwid_timing.hung : likwid_timing.start;
        if (rc > 0 && l->owed == OWED_COUNTS) {
            if (on_message(l, &h, data, err) < 0)
                return -1;
            owe(l, OWED_NOTHING); /* too late for its interval */
        } else if (rc < 0 || (rc > 0 && on_message(l, &h, data, err) < 0)) {
            return -1;
        } else if (rc == 0) {
            if (clock_ms() - l->owed_since_ms > limit)
                return errtext_set(err, ETIMEDOUT, "no answer for %d ms",
                                   limit);
            return 0;
        }
    }
    return 1;
}

/* Ask for counts and wait a moment for them. */
static int ask(struct likwid *l, struct sample *sample, struct errtext *err)
{
    struct likwid_header h;
    const void *data;

    if (likwid_link_send(l->link, LIKWID_SAMPLE, ++l->serial, NULL, 0, err) < 0)
        return -1;
    owe(l, OWED_COUNTS);
    int rc = likwid_link_wait(l->link, likwid_timing.answer, &h, &data, err);
    if (rc < 0)
        return -1;
    if (rc == 0) {
        l->stale = true;
        return 0;
    }
    if (on_message(l, &h, data, err) < 0)
        return -1;
    owe(l, OWED_NOTHING);
    /* Counts right after late ones are of a part of the interval. */
    if (l->stale) {
        l->stale = false;
        return 0;
    }
    l->backoff_ms = likwid_timing.backoff_min;
    return likwid_values_set(l->values, data, h.bytes, sample, err);
}

static int likwid_sample(void *state, struct sample *sample,
                         struct errtext *err)
{
    struct likwid *l = state;
    struct errtext why = {""};
    int rc;

    if (!l->link) {
        if (clock_ms() < l->retry_ms)
            return 0;
        if (start(l, &why) < 0) {
            lose(l);
            return 0; /* said when it was lost */
        }
        l->stale = true; /* the first counts are of less than an interval */
        return 0;
    }
    bool working = l->owed == OWED_NOTHING || l->owed == OWED_COUNTS;
    rc = settle(l, &why);
    if (rc > 0)
        rc = ask(l, sample, &why);
    if (rc >= 0)
        return 0;
    int saved = errno;
    lose(l);
    if (!working)
        return 0;
    return errtext_set(err, saved, "likwid: %s; trying again", why.text);
}

/* ---- describe ----------------------------------------------------------- */

static const struct {
    enum counters_metric counters;
    enum events_metric events;
} abilities[] = {
    {COUNTERS_CYCLES, EVENTS_CYCLES},
    {COUNTERS_STALLED, EVENTS_STALLED},
    {COUNTERS_INSTRUCTIONS, EVENTS_INSTRUCTIONS},
    {COUNTERS_LLC_ACCESSES, EVENTS_LLC_ACCESSES},
    {COUNTERS_READ_MISSES, EVENTS_READ_MISSES},
    {COUNTERS_LOCALITY, EVENTS_LOCAL_MISSES},
    {COUNTERS_MEMORY_READS, EVENTS_READS},
    {COUNTERS_MEMORY_WRITES, EVENTS_WRITES},
    {COUNTERS_PREFETCHES, EVENTS_PREFETCHES},
    {COUNTERS_ENERGY, EVENTS_ENERGY},
};

static void likwid_describe(const void *state, struct counters_ability *ability)
{
    const struct likwid *l = state;
    const char *note = l->note.text;

    for (size_t i = 0; i < sizeof(abilities) / sizeof(abilities[0]); i++) {
        enum events_metric m = abilities[i].events;
        const struct events_formula *f = &l->events->metric[m];
        struct counters_ability *a = &ability[abilities[i].counters];
        const char *lacks = likwid_values_lacks(l->values, m);
        a->can = likwid_values_can(l->values, m);
        a->shared = a->can && f->per != EVENTS_PER_CPU;
        if (!f->formula)
            snprintf(a->why, sizeof(a->why), "not in event set %s",
                     l->events->name);
        else if (lacks)
            snprintf(a->why, sizeof(a->why), "counter %s of event set %s is "
                     "not to be had", lacks, l->events->name);
        else
            snprintf(a->why, sizeof(a->why), "%s", f->source);
    }
    if (*note)
        snprintf(ability[COUNTERS_CYCLES].why,
                 sizeof(ability[COUNTERS_CYCLES].why), "%.159s", note);
}

const struct counters_backend counters_likwid = {
    .name = "likwid",
    .help = "core, memory controller and energy counters through LIKWID",
    .flags = COUNTERS_AUTO | COUNTERS_EXCLUSIVE,
    .open = likwid_open,
    .sample = likwid_sample,
    .describe = likwid_describe,
    .close = likwid_close,
};
