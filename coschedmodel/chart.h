/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Curves over one axis. */

#ifndef COSCHED_MODEL_CHART_H
#define COSCHED_MODEL_CHART_H

#include "coschedmodel/canvas.h"

struct chart_series {
    char name[128];
    struct canvas_point *points; /* in values, not pixels */
    size_t count;
};

struct chart {
    const char *title;
    const char *x_label;
    const char *y_label;
    const struct chart_series *series;
    size_t count;
};

/* Draw CHART into FILE (.svg or .png), the y axis from 0 on.  0, or -1 with the
 * reason in ERR. */
int chart_draw(const struct chart *chart, const char *file,
               struct errtext *err);

/* Colour number I of curves, repeating. */
const char *chart_colour(size_t i);

#endif /* COSCHED_MODEL_CHART_H */
