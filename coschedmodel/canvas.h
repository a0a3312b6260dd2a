/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Lines, shapes and words, written as SVG or PNG. */

#ifndef COSCHED_MODEL_CANVAS_H
#define COSCHED_MODEL_CANVAS_H

#include <stddef.h>

#include "common/errtext.h"

/* Concept
 *
 * A canvas takes drawing calls and hands them to one of two writers: SVG is
 * text and always there, PNG needs cairo.  Lengths are in pixels from the upper
 * left corner, colours are "#rrggbb" or "none".
 */

struct canvas;

enum canvas_anchor {
    CANVAS_START,
    CANVAS_MIDDLE,
    CANVAS_END,
};

struct canvas_point {
    double x, y;
};

/* Open FILE, whose name says what it is: .svg or .png.  NULL with the reason in
 * ERR. */
struct canvas *canvas_open(const char *file, double width, double height,
                           struct errtext *err);

void canvas_lines(struct canvas *canvas, const struct canvas_point *points,
                  size_t count, const char *colour, double width);
void canvas_line(struct canvas *canvas, double x1, double y1, double x2,
                 double y2, const char *colour, double width);
void canvas_box(struct canvas *canvas, double x, double y, double width,
                double height, const char *fill, const char *stroke);
/* A dot of radius RADIUS. */
void canvas_dot(struct canvas *canvas, double x, double y, double radius,
                const char *fill);
/* TEXT with its base line at Y, SIZE pixels high.  UP: written upwards. */
void canvas_text(struct canvas *canvas, double x, double y, double size,
                 enum canvas_anchor anchor, int up, const char *text);

/* Write the rest and close.  0, or -1 with the reason in ERR. */
int canvas_close(struct canvas *canvas, struct errtext *err);

/* ---- writers ------------------------------------------------------------- */

struct canvas_writer {
    const char *suffix;
    void *(*open)(const char *file, double width, double height,
                  struct errtext *err);
    void (*lines)(void *state, const struct canvas_point *points, size_t count,
                  const char *colour, double width);
    void (*box)(void *state, double x, double y, double width, double height,
                const char *fill, const char *stroke);
    void (*dot)(void *state, double x, double y, double radius,
                const char *fill);
    void (*text)(void *state, double x, double y, double size,
                 enum canvas_anchor anchor, int up, const char *text);
    int (*close)(void *state, struct errtext *err);
};

extern const struct canvas_writer canvas_svg;
extern const struct canvas_writer canvas_png;

#endif /* COSCHED_MODEL_CANVAS_H */
