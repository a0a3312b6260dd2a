/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Pending events of a simulation, earliest first. */

#ifndef COSCHED_SIMULATOR_EVENTS_H
#define COSCHED_SIMULATOR_EVENTS_H

/* Concept
 *
 * A binary heap of fixed capacity: whoever can have an event pending (a core, a server) has at
 * most one, so nothing is allocated while the simulation runs.  Events of equal time come in the
 * order in which they were put in.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
    double time;
    uint64_t order; /* among events of equal time */
    uint32_t who;   /* the caller's */
};

struct events {
    struct event *heap;
    size_t count;
    uint64_t order; /* of the next one */
};

/* Room for CAPACITY events; false when out of memory. */
bool events_init(struct events *events, size_t capacity);

/* Takes a zeroed struct, too. */
void events_release(struct events *events);

static inline bool event_before(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* Add an event; the caller keeps to the capacity. */
static inline void events_put(struct events *events, double time, uint32_t who)
{
    struct event e = {time, events->order++, who};
    size_t i = events->count++;

    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!event_before(&e, &events->heap[parent]))
            break;
        events->heap[i] = events->heap[parent];
        i = parent;
    }
    events->heap[i] = e;
}

/* The earliest event; there must be one. */
static inline const struct event *events_first(const struct events *events)
{
    return &events->heap[0];
}

/* Take the earliest event out; there must be one. */
static inline struct event events_take(struct events *events)
{
    struct event first = events->heap[0];
    struct event last = events->heap[--events->count];
    size_t i = 0, child = 1;

    while (child < events->count) {
        if (child + 1 < events->count &&
            event_before(&events->heap[child + 1], &events->heap[child]))
            child++;
        if (!event_before(&events->heap[child], &last))
            break;
        events->heap[i] = events->heap[child];
        i = child;
        child = 2 * i + 1;
    }
    events->heap[i] = last;
    return first;
}

#endif /* COSCHED_SIMULATOR_EVENTS_H */
