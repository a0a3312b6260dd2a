/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: how the user wants to see it. */

#ifndef COSCHED_TOP_VIEW_H
#define COSCHED_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node_agent/coschedctl/top/state.h"

/* What jobs are sorted by. */
enum top_sort {
    TOP_BY_JOB,
    TOP_BY_CORES,
    TOP_BY_EFFICIENCY,
    TOP_BY_SPEED,
    TOP_BY_MEMORY,
    TOP_BY_NAME,
    TOP_SORTS,
};

/* Keys beside characters. */
enum top_key {
    TOP_UP = 0x110000,
    TOP_DOWN,
    TOP_PAGE_UP,
    TOP_PAGE_DOWN,
    TOP_HOME,
    TOP_END,
    TOP_HELP,
};

struct top_view {
    enum top_sort sort;
    bool reverse, paused, help, quit;
    bool utf8;         /* else ASCII */
    uint32_t selected; /* job; 0: none */
    size_t first;      /* row of the table that is shown first; the frame corrects it */
    const char *message; /* above all: the agent is gone; NULL: nothing */
};

/* Indices of STATE's jobs in the order of VIEW; to be freed.  NULL when out of memory. */
size_t *top_view_order(const struct top_view *view, const struct top_state *state);

/* The user pressed KEY, a character or one of enum top_key, with PAGE rows of jobs on the
 * screen. */
void top_view_key(struct top_view *view, const struct top_state *state, int key, size_t page);

#endif /* COSCHED_TOP_VIEW_H */
