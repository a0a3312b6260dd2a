/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Pictures of simulations. */

#include "simulator/picture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "coschedmodel/canvas.h"
#include "coschedmodel/chart.h"
#include "protocol/cpulist.h"

#define WIDTH 900.0
#define LEFT 50.0
#define TOP 40.0
#define LEGEND 24.0
#define SHARED "#bbbbbb"

#define NOBODY (-1)
#define SEVERAL (-2)

/* Where a time is on the picture. */
static double x_of(const struct vnode_result *r, double begin_s, double time_s)
{
    return LEFT + (time_s - begin_s) / r->makespan_s * (WIDTH - LEFT - 20);
}

/* Who has CPU after the changes up to LAST. */
static int holder(const struct cosched_cpuset *has, size_t jobs, int cpu)
{
    int who = NOBODY;

    for (size_t j = 0; j < jobs; j++)
        if (cpuset_has(&has[j], cpu))
            who = who == NOBODY ? (int)j : SEVERAL;
    return who;
}

struct stripe {
    int who;
    double since_s;
};

static void end_stripe(struct canvas *canvas, const struct vnode_result *r,
                       double begin_s, size_t cpu, double height,
                       const struct stripe *s, double now_s)
{
    double x1 = x_of(r, begin_s, s->since_s), x2 = x_of(r, begin_s, now_s);

    if (s->who != NOBODY && x2 > x1)
        canvas_box(canvas, x1, TOP + (double)cpu * height, x2 - x1, height,
                   s->who == SEVERAL ? SHARED : chart_colour((size_t)s->who),
                   "none");
}

static void draw_frame(struct canvas *canvas, const struct vnode_result *r,
                       double height)
{
    double bottom = TOP + height * (double)r->cpus;
    char text[128];

    snprintf(text, sizeof(text), "%.60s under %s: %.1f s", r->scenario->name,
             r->policy, r->makespan_s);
    canvas_text(canvas, LEFT, TOP - 14, 14, CANVAS_START, 0, text);
    canvas_text(canvas, 16, TOP + height * (double)r->cpus / 2, 12,
                CANVAS_MIDDLE, 1, "CPU");
    for (int i = 0; i <= 5; i++) {
        double x = LEFT + (WIDTH - LEFT - 20) * i / 5;
        snprintf(text, sizeof(text), "%.0f s", r->makespan_s * i / 5);
        canvas_line(canvas, x, bottom, x, bottom + 4, "#000000", 1);
        canvas_text(canvas, x, bottom + 16, 11, CANVAS_MIDDLE, 0, text);
    }
    for (size_t j = 0; j < r->scenario->jobs; j++) {
        double x = LEFT + 100 * (double)(j % 8);
        double y = bottom + 28 + LEGEND * (double)(j / 8);
        canvas_box(canvas, x, y, 12, 12, chart_colour(j), "none");
        snprintf(text, sizeof(text), "%.12s", r->job[j].name);
        canvas_text(canvas, x + 16, y + 11, 12, CANVAS_START, 0, text);
    }
}

int picture_allocation(const struct vnode_result *r, const char *file,
                       struct errtext *err)
{
    double height = fmax(2, 480.0 / (double)r->cpus), begin_s = INFINITY;
    size_t jobs = r->scenario->jobs;
    struct cosched_cpuset *has = calloc(jobs, sizeof(*has));
    struct stripe *stripe = calloc(r->cpus, sizeof(*stripe));
    struct canvas *canvas =
        canvas_open(file, WIDTH,
                    TOP + height * (double)r->cpus + 40 +
                        LEGEND * (double)((jobs + 7) / 8),
                    err);

    if (!has || !stripe || !canvas) {
        if (canvas)
            errtext_set(err, ENOMEM, "%s: out of memory", file);
        free(has);
        free(stripe);
        return canvas ? canvas_close(canvas, NULL), -1 : -1;
    }
    for (size_t j = 0; j < jobs; j++)
        begin_s = fmin(begin_s, r->job[j].arrival_s);
    for (size_t c = 0; c < r->cpus; c++)
        stripe[c] = (struct stripe){NOBODY, begin_s};
    for (size_t i = 0; i < r->changes; i++) {
        const struct vnode_change *change = &r->change[i];
        has[change->job] = change->cpus;
        if (i + 1 < r->changes && r->change[i + 1].time_s <= change->time_s)
            continue;
        for (size_t c = 0; c < r->cpus; c++) {
            int who = holder(has, jobs, (int)c);
            if (who == stripe[c].who)
                continue;
            end_stripe(canvas, r, begin_s, c, height, &stripe[c],
                       change->time_s);
            stripe[c] = (struct stripe){who, change->time_s};
        }
    }
    for (size_t c = 0; c < r->cpus; c++)
        end_stripe(canvas, r, begin_s, c, height, &stripe[c],
                   begin_s + r->makespan_s);
    draw_frame(canvas, r, height);
    free(has);
    free(stripe);
    return canvas_close(canvas, err);
}

int picture_bars(const struct picture_bar *bars, size_t count, const char *title,
                 const char *unit, const char *file, struct errtext *err)
{
    double most = 0, height = 18;
    struct canvas *canvas =
        canvas_open(file, WIDTH, TOP + height * (double)count + 30, err);

    if (!canvas)
        return -1;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, bars[i].value);
    canvas_text(canvas, 10, TOP - 14, 14, CANVAS_START, 0, title);
    for (size_t i = 0; i < count; i++) {
        double y = TOP + height * (double)i;
        double width = most > 0 ? bars[i].value / most * 480 : 0;
        char text[32];
        snprintf(text, sizeof(text), "%.3f", bars[i].value);
        canvas_text(canvas, 290, y + 13, 12, CANVAS_END, 0, bars[i].label);
        canvas_box(canvas, 300, y + 2, width, height - 4, chart_colour(0),
                   "none");
        canvas_text(canvas, 306 + width, y + 13, 12, CANVAS_START, 0, text);
    }
    canvas_text(canvas, 300, TOP + height * (double)count + 16, 12,
                CANVAS_START, 0, unit);
    return canvas_close(canvas, err);
}
