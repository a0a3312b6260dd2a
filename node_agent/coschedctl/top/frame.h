/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: a screen full of characters. */

#ifndef COSCHED_TOP_FRAME_H
#define COSCHED_TOP_FRAME_H

/* Concept
 *
 * Drawing is pure: a state and a view become a grid of cells, each one character that takes one
 * column, with its colour and the job that it stands for (what a click there selects).  The
 * terminal (screen.h) only copies it.  Without colour all is told by letters: each job has one,
 * which stands in the cores that it has.
 */

#include <stddef.h>

#include "node_agent/coschedctl/top/view.h"

#define TOP_COLOURS 6

struct top_cell {
    char text[5];  /* UTF-8 */
    uint8_t colour; /* 0: none, 1 to TOP_COLOURS */
    bool bold, reverse;
    uint32_t job; /* 0: none */
};

struct top_frame {
    size_t rows, columns;
    size_t page; /* rows of the table of jobs */
    struct top_cell *cell; /* [rows * columns] */
};

/* Draw STATE on ROWS x COLUMNS; VIEW's first row is corrected so that the selected job is seen.
 * NULL when out of memory. */
struct top_frame *top_frame_new(const struct top_state *state, struct top_view *view, size_t rows,
                                size_t columns);

/* Its lines as text without blanks at their ends, to be freed.  NULL when out of memory. */
char *top_frame_text(const struct top_frame *frame);

/* Takes NULL. */
void top_frame_free(struct top_frame *frame);

#endif /* COSCHED_TOP_FRAME_H */
