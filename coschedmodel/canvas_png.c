/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A canvas as PNG, by cairo. */

#include "config.h"

#include "coschedmodel/canvas.h"

#ifdef HAVE_CAIRO
#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct png {
    cairo_surface_t *surface;
    cairo_t *cairo;
    char *file;
};

static void *open_png(const char *file, double width, double height,
                      struct errtext *err)
{
    struct png *png = calloc(1, sizeof(*png));

    if (!png || !(png->file = strdup(file))) {
        free(png);
        errtext_set(err, ENOMEM, "%s: out of memory", file);
        return NULL;
    }
    /* Failures are kept by cairo until the surface is written. */
    png->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width,
                                              (int)height);
    png->cairo = cairo_create(png->surface);
    cairo_set_source_rgb(png->cairo, 1, 1, 1);
    cairo_paint(png->cairo);
    cairo_select_font_face(png->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    return png;
}

/* Make "#rrggbb" the source; false for "none". */
static int colour_set(cairo_t *cairo, const char *colour)
{
    if (colour[0] != '#')
        return 0;
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    cairo_set_source_rgb(cairo, (double)(rgb >> 16 & 255) / 255,
                         (double)(rgb >> 8 & 255) / 255,
                         (double)(rgb & 255) / 255);
    return 1;
}

static void lines(void *state, const struct canvas_point *points, size_t count,
                  const char *colour, double width)
{
    cairo_t *cairo = ((struct png *)state)->cairo;

    cairo_move_to(cairo, points[0].x, points[0].y);
    for (size_t i = 1; i < count; i++)
        cairo_line_to(cairo, points[i].x, points[i].y);
    cairo_set_line_width(cairo, width);
    colour_set(cairo, colour);
    cairo_stroke(cairo);
}

static void box(void *state, double x, double y, double width, double height,
                const char *fill, const char *stroke)
{
    cairo_t *cairo = ((struct png *)state)->cairo;

    cairo_rectangle(cairo, x, y, width, height);
    if (colour_set(cairo, fill))
        cairo_fill_preserve(cairo);
    cairo_set_line_width(cairo, 1);
    if (colour_set(cairo, stroke))
        cairo_stroke_preserve(cairo);
    cairo_new_path(cairo);
}

static void dot(void *state, double x, double y, double radius,
                const char *fill)
{
    cairo_t *cairo = ((struct png *)state)->cairo;

    cairo_new_path(cairo);
    cairo_arc(cairo, x, y, radius, 0, 2 * M_PI);
    colour_set(cairo, fill);
    cairo_fill(cairo);
}

static void text(void *state, double x, double y, double size,
                 enum canvas_anchor anchor, int up, const char *words)
{
    static const double share[] = {0, 0.5, 1};
    cairo_t *cairo = ((struct png *)state)->cairo;
    cairo_text_extents_t extents;

    cairo_save(cairo);
    cairo_set_font_size(cairo, size);
    cairo_text_extents(cairo, words, &extents);
    cairo_translate(cairo, x, y);
    if (up)
        cairo_rotate(cairo, -M_PI / 2);
    cairo_move_to(cairo, -extents.x_advance * share[anchor], 0);
    colour_set(cairo, "#222222");
    cairo_show_text(cairo, words);
    cairo_restore(cairo);
}

static int close_png(void *state, struct errtext *err)
{
    struct png *png = state;
    int rc = 0;
    cairo_status_t status = cairo_surface_write_to_png(png->surface, png->file);

    if (status != CAIRO_STATUS_SUCCESS)
        rc = errtext_set(err, EIO, "%s: %s", png->file,
                         cairo_status_to_string(status));
    cairo_destroy(png->cairo);
    cairo_surface_destroy(png->surface);
    free(png->file);
    free(png);
    return rc;
}

const struct canvas_writer canvas_png = {
    ".png", open_png, lines, box, dot, text, close_png,
};

#else /* !HAVE_CAIRO */

static void *open_png(const char *file, double width, double height,
                      struct errtext *err)
{
    (void)width;
    (void)height;
    errtext_set(err, ENOSYS, "%s: built without cairo: name a .svg file", file);
    return NULL;
}

/* The rest is never reached. */
const struct canvas_writer canvas_png = {.suffix = ".png", .open = open_png};
#endif
