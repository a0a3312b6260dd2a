/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A canvas as SVG. */

#include <stdlib.h>
#include <string.h>

#include "coschedmodel/canvas.h"

struct svg {
    FILE *out;
    char *file;
};

static void *open_svg(const char *file, double width, double height,
                      struct errtext *err)
{
    struct svg *svg = calloc(1, sizeof(*svg));

    if (!svg || !(svg->file = strdup(file))) {
        errtext_set(err, ENOMEM, "%s: out of memory", file);
        goto failed;
    }
    svg->out = fopen(file, "we");
    if (!svg->out) {
        errtext_set(err, errno, "%s: %s", file, strerror(errno));
        goto failed;
    }
    fprintf(svg->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" "
            "height=\"%g\" viewBox=\"0 0 %g %g\" "
            "font-family=\"sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            width, height, width, height);
    return svg;
failed:
    if (svg)
        free(svg->file);
    free(svg);
    return NULL;
}

static void lines(void *state, const struct canvas_point *points, size_t count,
                  const char *colour, double width)
{
    const struct svg *svg = state;

    fprintf(svg->out, "<polyline fill=\"none\" stroke=\"%s\" "
            "stroke-width=\"%g\" points=\"", colour, width);
    for (size_t i = 0; i < count; i++)
        fprintf(svg->out, "%s%.2f,%.2f", i ? " " : "", points[i].x,
                points[i].y);
    fputs("\"/>\n", svg->out);
}

static void box(void *state, double x, double y, double width, double height,
                const char *fill, const char *stroke)
{
    const struct svg *svg = state;

    fprintf(svg->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
            "height=\"%.2f\" fill=\"%s\" stroke=\"%s\"/>\n", x, y, width,
            height, fill, stroke);
}

static void dot(void *state, double x, double y, double radius,
                const char *fill)
{
    const struct svg *svg = state;

    fprintf(svg->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\" "
            "fill=\"%s\"/>\n", x, y, radius, fill);
}

static void text(void *state, double x, double y, double size,
                 enum canvas_anchor anchor, int up, const char *words)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    const struct svg *svg = state;

    fprintf(svg->out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%g\" "
            "text-anchor=\"%s\" fill=\"#222222\"", x, y, size, anchors[anchor]);
    if (up)
        fprintf(svg->out, " transform=\"rotate(-90 %.2f %.2f)\"", x, y);
    fputc('>', svg->out);
    for (; *words; words++)
        switch (*words) {
        case '<':
            fputs("&lt;", svg->out);
            break;
        case '&':
            fputs("&amp;", svg->out);
            break;
        default:
            fputc(*words, svg->out);
        }
    fputs("</text>\n", svg->out);
}

static int close_svg(void *state, struct errtext *err)
{
    struct svg *svg = state;
    int rc = 0;

    fputs("</svg>\n", svg->out);
    int bad = ferror(svg->out);
    if (fclose(svg->out) != 0 || bad)
        rc = errtext_set(err, errno, "%s: %s", svg->file, strerror(errno));
    free(svg->file);
    free(svg);
    return rc;
}

const struct canvas_writer canvas_svg = {
    ".svg", open_svg, lines, box, dot, text, close_svg,
};
