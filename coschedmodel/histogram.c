/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Histograms beside what a distribution would give. */

#include "coschedmodel/histogram.h"

#include <math.h>
#include <string.h>

#include "coschedmodel/chart.h"

#define COLUMNS 4
#define PANEL_WIDTH 300.0
#define PANEL_HEIGHT 210.0
#define LEFT 46.0 /* of a panel: its y axis */
#define RIGHT 12.0
#define ABOVE 44.0
#define BELOW 30.0
#define TOP 58.0 /* of the picture: title and legend */
#define BOTTOM 26.0
#define NAME_ROOM 46 /* characters above a panel */

struct frame {
    double x, y, width, height; /* of the bars */
    double most;                /* value at its upper end */
};

static struct frame frame_of(const struct histogram *h, size_t column,
                             size_t row)
{
    struct frame f = {
        .x = PANEL_WIDTH * (double)column + LEFT,
        .y = TOP + PANEL_HEIGHT * (double)row + ABOVE,
        .width = PANEL_WIDTH - LEFT - RIGHT,
        .height = PANEL_HEIGHT - ABOVE - BELOW,
    };

    for (size_t i = 0; i < h->bins; i++)
        f.most = fmax(f.most, fmax(h->measured[i], h->expected[i]));
    /* A tenth that is just enough. */
    f.most = f.most > 0 ? ceil(f.most * 10 - 1e-9) / 10 : 1;
    return f;
}

static void draw_axes(struct canvas *canvas, const struct histogram *h,
                      const struct frame *f)
{
    /* About four marks below the panel are readable. */
    size_t every = h->bins > 4 ? (h->bins + 3) / 4 : 1;
    char text[NAME_ROOM + 8];

    for (int i = 0; i <= 2; i++) {
        double value = f->most * i / 2;
        double y = f->y + f->height * (1 - i / 2.0);
        canvas_line(canvas, f->x, y, f->x + f->width, y, "#e5e5e5", 1);
        snprintf(text, sizeof(text), "%.3g", value);
        canvas_text(canvas, f->x - 4, y + 4, 11, CANVAS_END, 0, text);
    }
    for (size_t i = 0; i <= h->bins; i += every) {
        double x = f->x + f->width * (double)i / (double)h->bins;
        double value = h->low + h->width * (double)i;
        canvas_line(canvas, x, f->y + f->height, x, f->y + f->height + 4,
                    "#888888", 1);
        snprintf(text, sizeof(text), "%.4g", value);
        canvas_text(canvas, x, f->y + f->height + 16, 11, CANVAS_MIDDLE, 0,
                    text);
    }
    snprintf(text, sizeof(text), "%.*s%s", NAME_ROOM, h->name,
             strlen(h->name) > NAME_ROOM ? "..." : "");
    canvas_text(canvas, f->x, f->y - 24, 12, CANVAS_START, 0, text);
    canvas_text(canvas, f->x, f->y - 9, 11, CANVAS_START, 0, h->note);
}

static void draw_bars(struct canvas *canvas, const struct histogram *h,
                      const struct frame *f)
{
    double slot = f->width / (double)h->bins, bar = slot * 0.42;

    for (size_t i = 0; i < h->bins; i++) {
        double x = f->x + slot * ((double)i + 0.08);
        double high = f->height * h->measured[i] / f->most;
        if (high > 0)
            canvas_box(canvas, x, f->y + f->height - high, bar, high,
                       chart_colour(0), "none");
        high = f->height * h->expected[i] / f->most;
        if (high > 0)
            canvas_box(canvas, x + bar, f->y + f->height - high, bar, high,
                       chart_colour(1), "none");
    }
    canvas_box(canvas, f->x, f->y, f->width, f->height, "none", "#888888");
}

static void draw_legend(struct canvas *canvas)
{
    static const char *const names[] = {"measured", "expected"};

    for (size_t i = 0; i < 2; i++) {
        double x = LEFT + 110 * (double)i;
        canvas_box(canvas, x, 34, 12, 12, chart_colour(i), "none");
        canvas_text(canvas, x + 18, 45, 12, CANVAS_START, 0, names[i]);
    }
}

int histogram_draw(const struct histogram *panels, size_t count,
                   const char *title, const char *label, const char *file,
                   struct errtext *err)
{
    size_t shown = count < HISTOGRAM_PANELS ? count : HISTOGRAM_PANELS;
    size_t columns = shown < COLUMNS ? shown : COLUMNS;
    size_t rows = (shown + columns - 1) / columns;
    double width = PANEL_WIDTH * (double)(columns < 2 ? 2 : columns);
    double height = TOP + PANEL_HEIGHT * (double)rows + BOTTOM;
    char text[256];

    struct canvas *canvas = canvas_open(file, width, height, err);
    if (!canvas)
        return -1;
    if (shown < count)
        snprintf(text, sizeof(text), "%s (the first %zu of %zu)", title, shown,
                 count);
    else
        snprintf(text, sizeof(text), "%s", title);
    canvas_text(canvas, LEFT, 22, 15, CANVAS_START, 0, text);
    draw_legend(canvas);
    for (size_t i = 0; i < shown; i++) {
        struct frame f = frame_of(&panels[i], i % columns, i / columns);
        draw_axes(canvas, &panels[i], &f);
        draw_bars(canvas, &panels[i], &f);
    }
    canvas_text(canvas, width / 2, height - 8, 12, CANVAS_MIDDLE, 0, label);
    return canvas_close(canvas, err);
}
