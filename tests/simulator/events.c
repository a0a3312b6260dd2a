/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Pending events of a simulation, earliest first. */

#include "tests/simulator/events.h"

#include <stdlib.h>

bool events_init(struct events *events, size_t capacity)
{
    events->count = 0;
    events->order = 0;
    /* One more than asked for: an empty heap is still a pointer. */
    events->heap = malloc((capacity + 1) * sizeof(*events->heap));
    return events->heap != NULL;
}

void events_release(struct events *events)
{
    free(events->heap);
    events->heap = NULL;
    events->count = 0;
}
