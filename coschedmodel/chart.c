/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Curves over one axis. */

#include "coschedmodel/chart.h"

#include <math.h>

#define WIDTH 720.0
#define HEIGHT 440.0
#define LEFT 64.0
#define RIGHT 170.0 /* the legend */
#define TOP 36.0
#define BOTTOM 52.0

/* What one pixel is worth. */
struct scale {
    double low, high; /* values at the axis' ends */
    double step;      /* between marks */
};

const char *chart_colour(size_t i)
{
    /* Okabe and Ito's colours, which the colour-blind can tell apart. */
    static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
                                          "#cc79a7", "#e69f00", "#56b4e9",
                                          "#444444"};
    return colours[i % (sizeof(colours) / sizeof(colours[0]))];
}

/* Marks at 1, 2 or 5 times a power of ten, about eight of them. */
static struct scale scale_for(double low, double high)
{
    struct scale scale = {low, high, 1};

    if (!(high > low))
        scale.high = high = low + 1;
    double raw = (high - low) / 8, power = pow(10, floor(log10(raw)));
    double part = raw / power;
    scale.step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
    scale.low = floor(low / scale.step) * scale.step;
    scale.high = ceil(high / scale.step - 1e-9) * scale.step;
    return scale;
}

static double across(const struct scale *x, double value)
{
    return LEFT + (value - x->low) / (x->high - x->low) *
                      (WIDTH - LEFT - RIGHT);
}

static double down(const struct scale *y, double value)
{
    return HEIGHT - BOTTOM - (value - y->low) / (y->high - y->low) *
                                 (HEIGHT - TOP - BOTTOM);
}

static void axes(struct canvas *canvas, const struct chart *chart,
                 const struct scale *x, const struct scale *y)
{
    char text[32];

    for (double v = x->low; v <= x->high + x->step / 2; v += x->step) {
        canvas_line(canvas, across(x, v), TOP, across(x, v), HEIGHT - BOTTOM,
                    "#e5e5e5", 1);
        snprintf(text, sizeof(text), "%.6g", fabs(v) < x->step / 2 ? 0 : v);
        canvas_text(canvas, across(x, v), HEIGHT - BOTTOM + 17, 12,
                    CANVAS_MIDDLE, 0, text);
    }
    for (double v = y->low; v <= y->high + y->step / 2; v += y->step) {
        canvas_line(canvas, LEFT, down(y, v), WIDTH - RIGHT, down(y, v),
                    "#e5e5e5", 1);
        snprintf(text, sizeof(text), "%.6g", fabs(v) < y->step / 2 ? 0 : v);
        canvas_text(canvas, LEFT - 6, down(y, v) + 4, 12, CANVAS_END, 0, text);
    }
    canvas_box(canvas, LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM,
               "none", "#888888");
    canvas_text(canvas, LEFT, TOP - 12, 15, CANVAS_START, 0, chart->title);
    canvas_text(canvas, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, 13,
                CANVAS_MIDDLE, 0, chart->x_label);
    canvas_text(canvas, 18, (TOP + HEIGHT - BOTTOM) / 2, 13, CANVAS_MIDDLE, 1,
                chart->y_label);
}

static void curve(struct canvas *canvas, const struct chart_series *series,
                  const struct scale *x, const struct scale *y, size_t number)
{
    const char *colour = chart_colour(number);
    double line = TOP + 8 + 18 * (double)number;

    for (size_t i = 0; i + 1 < series->count; i++)
        canvas_line(canvas, across(x, series->points[i].x),
                    down(y, series->points[i].y),
                    across(x, series->points[i + 1].x),
                    down(y, series->points[i + 1].y), colour, 2);
    for (size_t i = 0; series->count <= 64 && i < series->count; i++)
        canvas_dot(canvas, across(x, series->points[i].x),
                   down(y, series->points[i].y), 3, colour);
    if (line > HEIGHT - BOTTOM)
        return; /* the legend is full */
    canvas_line(canvas, WIDTH - RIGHT + 10, line, WIDTH - RIGHT + 30, line,
                colour, 2);
    canvas_text(canvas, WIDTH - RIGHT + 36, line + 4, 12, CANVAS_START, 0,
                series->name);
}

int chart_draw(const struct chart *chart, const char *file,
               struct errtext *err)
{
    double left = INFINITY, right = -INFINITY, low = 0, high = 0;
    struct canvas *canvas = canvas_open(file, WIDTH, HEIGHT, err);

    if (!canvas)
        return -1;
    for (size_t s = 0; s < chart->count; s++)
        for (size_t i = 0; i < chart->series[s].count; i++) {
            const struct canvas_point *p = &chart->series[s].points[i];
            left = fmin(left, p->x);
            right = fmax(right, p->x);
            low = fmin(low, p->y);
            high = fmax(high, p->y);
        }
    if (!(left <= right))
        left = right = 0;
    struct scale x = scale_for(left, right), y = scale_for(low, high);
    axes(canvas, chart, &x, &y);
    for (size_t s = 0; s < chart->count; s++)
        curve(canvas, &chart->series[s], &x, &y, s);
    return canvas_close(canvas, err);
}
