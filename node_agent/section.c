/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Sections of a job: what is known of each, and how it gets known. */

#include "node_agent/section.h"

#include <stdlib.h>

const char *section_state_name(enum section_state state)
{
    static const char *const names[] = {"unknown", "clean", "half", "known"};

    return names[state];
}

static struct section *add(struct section_list *list)
{
    struct section *s = calloc(1, sizeof(*s));

    if (s) {
        s->next = list->first;
        list->first = s;
    }
    return s;
}

struct section *section_folded(struct section_list *list)
{
    if (!list->folded && (list->folded = add(list)))
        list->folded->folded = true;
    return list->folded;
}

struct section *section_find(struct section_list *list, uint64_t object_id,
                             uint64_t offset)
{
    for (struct section *s = list->first; s; s = s->next)
        if (!s->folded && s->object_id == object_id && s->offset == offset)
            return s;
    if (list->count >= SECTION_LIMIT)
        return section_folded(list);
    struct section *s = add(list);
    if (s) {
        s->object_id = object_id;
        s->offset = offset;
        list->count++;
    }
    return s;
}

/* True when SECTION was measured long enough at more than DOP cores. */
static bool measured_above(const struct section *s, size_t dop,
                           uint64_t profile_ns)
{
    for (size_t i = 0; i < MEASURE_POINTS; i++)
        if (s->measure.point[i].dop > dop &&
            s->measure.point[i].time_ns >= profile_ns)
            return true;
    return false;
}

size_t section_points(const struct section *s, uint64_t profile_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < MEASURE_POINTS; i++)
        n += s->measure.point[i].dop &&
             s->measure.point[i].time_ns >= profile_ns;
    return n;
}

size_t section_wants(const struct section *s, size_t most, uint64_t profile_ns)
{
    size_t half = (most + 1) / 2;

    if (s->state == SECTION_KNOWN || profile_ns == 0 || half == most)
        return 0;
    /* The pool may have changed since the profiling began, so that what counts
     * is one long enough measurement with more than half of what there is. */
    return measured_above(s, half, profile_ns) ? half : most;
}

void section_grant(struct section *s, size_t dop, uint64_t profile_ns)
{
    if (s->state != SECTION_KNOWN)
        s->state =
            measured_above(s, dop, profile_ns) ? SECTION_HALF : SECTION_CLEAN;
}

static uint64_t measured_time(const struct measure *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < MEASURE_POINTS; i++)
        sum += m->point[i].time_ns;
    return sum;
}

bool section_advance(struct section *s, const struct counters *counters,
                     uint64_t profile_ns)
{
    uint64_t enough_ns = profile_ns ? profile_ns : 1;
    uint64_t time_ns = measured_time(&s->measure);
    struct counters_fit fit;

    /* A known profile stays: reacting to each small change of a measurement
     * would move cores for nothing. */
    if (s->profile)
        return false;
    /* A section that could not be fitted is tried again with twice the data. */
    if (s->state == SECTION_KNOWN && time_ns < 2 * s->fit_time_ns)
        return false;
    struct workload *w =
        counters_profile(counters, &s->measure, enough_ns, &fit, NULL);
    if (!w && errno == EAGAIN)
        return false;
    enum section_state before = s->state;
    s->fit_time_ns = time_ns;
    s->state = SECTION_KNOWN;
    s->profile = w;
    s->fit = fit;
    return w || before != SECTION_KNOWN;
}

void section_list_clear(struct section_list *list)
{
    while (list->first) {
        struct section *s = list->first;
        list->first = s->next;
        workload_free(s->profile);
        measure_clear(&s->measure);
        free(s);
    }
    list->folded = NULL;
    list->count = 0;
}
