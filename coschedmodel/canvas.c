/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Choose the writer by the file's name and pass the calls on. */

#include "coschedmodel/canvas.h"

#include <stdlib.h>
#include <string.h>

struct canvas {
    const struct canvas_writer *writer;
    void *state;
};

static const struct canvas_writer *writer_for(const char *file)
{
    static const struct canvas_writer *const writers[] = {&canvas_svg,
                                                          &canvas_png};
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && i < sizeof(writers) / sizeof(writers[0]); i++)
        if (strcmp(dot, writers[i]->suffix) == 0)
            return writers[i];
    return NULL;
}

struct canvas *canvas_open(const char *file, double width, double height,
                           struct errtext *err)
{
    const struct canvas_writer *writer = writer_for(file);
    struct canvas *canvas;

    if (!writer) {
        errtext_set(err, EINVAL, "%s: must end in .svg or .png", file);
        return NULL;
    }
    canvas = calloc(1, sizeof(*canvas));
    if (!canvas) {
        errtext_set(err, ENOMEM, "%s: out of memory", file);
        return NULL;
    }
    canvas->writer = writer;
    canvas->state = writer->open(file, width, height, err);
    if (canvas->state)
        return canvas;
    free(canvas);
    return NULL;
}

void canvas_lines(struct canvas *canvas, const struct canvas_point *points,
                  size_t count, const char *colour, double width)
{
    if (count > 1)
        canvas->writer->lines(canvas->state, points, count, colour, width);
}

void canvas_line(struct canvas *canvas, double x1, double y1, double x2,
                 double y2, const char *colour, double width)
{
    const struct canvas_point ends[] = {{x1, y1}, {x2, y2}};

    canvas_lines(canvas, ends, 2, colour, width);
}

void canvas_box(struct canvas *canvas, double x, double y, double width,
                double height, const char *fill, const char *stroke)
{
    canvas->writer->box(canvas->state, x, y, width, height, fill, stroke);
}

void canvas_dot(struct canvas *canvas, double x, double y, double radius,
                const char *fill)
{
    canvas->writer->dot(canvas->state, x, y, radius, fill);
}

void canvas_text(struct canvas *canvas, double x, double y, double size,
                 enum canvas_anchor anchor, int up, const char *text)
{
    canvas->writer->text(canvas->state, x, y, size, anchor, up, text);
}

int canvas_close(struct canvas *canvas, struct errtext *err)
{
    int rc = canvas->writer->close(canvas->state, err);

    free(canvas);
    return rc;
}
