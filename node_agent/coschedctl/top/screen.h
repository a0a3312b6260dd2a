/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: the terminal. */

#ifndef COSCHED_TOP_SCREEN_H
#define COSCHED_TOP_SCREEN_H

/* Concept
 *
 * The only file that knows ncurses.  A frame goes out, keys come in; the size of the window is
 * asked for before each frame.  Without ncurses, or on a terminal that it does not know, there is
 * no screen.
 */

#include "common/errtext.h"
#include "node_agent/coschedctl/top/frame.h"

/* What the user did. */
struct top_event {
    int key;           /* as top_view_key() takes it; 0: none */
    bool clicked;      /* at (row, column) */
    size_t row, column;
    bool resized, gone; /* gone: there is no terminal any more */
};

/* Take over the terminal; *UTF8: it shows that.  -1 with ERR. */
int screen_open(bool *utf8, struct errtext *err);

void screen_size(size_t *rows, size_t *columns);
void screen_show(const struct top_frame *frame);

/* Wait for the user, MS milliseconds at most. */
struct top_event screen_wait(int ms);

/* Give the terminal back as it was. */
void screen_close(void);

#endif /* COSCHED_TOP_SCREEN_H */
