/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: texts on a frame.  What lies outside is not drawn. */

#ifndef COSCHED_TOP_PAINT_H
#define COSCHED_TOP_PAINT_H

#include "node_agent/coschedctl/top/frame.h"

struct painter {
    struct top_frame *frame;
    size_t clip; /* rows from here on are left alone */
    bool utf8;
};

/* Write a text from (ROW, COLUMN) on.  Characters that take other than one column, or are not
 * ASCII where only that can be shown, are "?".  Its first cell, NULL if it is outside. */
__attribute__((format(printf, 4, 5))) struct top_cell *paint(struct painter *p, size_t row,
                                                             size_t column, const char *format,
                                                             ...);

/* The same with TEXT in WIDTH columns, at the LEFT or right of them. */
void paint_cut(struct painter *p, size_t row, size_t column, size_t width, bool left,
               const char *text);

/* TEXT at the right margin of ROW, if there is room. */
void paint_right(struct painter *p, size_t row, const char *text);

/* TEXT in words from ROW on, in rows before END. */
void paint_wrapped(struct painter *p, size_t row, size_t end, const char *text);

/* The whole ROW bold, or with REVERSE so; in COLOUR. */
void paint_line(struct painter *p, size_t row, bool reverse, uint8_t colour);

/* The whole ROW stands for JOB. */
void paint_job(struct painter *p, size_t row, uint32_t job);

#endif /* COSCHED_TOP_PAINT_H */
