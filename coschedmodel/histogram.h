/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Histograms beside what a distribution would give. */

#ifndef COSCHED_MODEL_HISTOGRAM_H
#define COSCHED_MODEL_HISTOGRAM_H

#include "coschedmodel/canvas.h"

/* Concept
 *
 * A picture is a grid of panels, as the figures of the thesis' appendix A: one
 * panel for each sample, its categories on the x axis, two bars for each: the
 * part of the sample in the category, and what the distribution it is held
 * against would put there.
 */

struct histogram {
    const char *name;    /* above the panel */
    char note[96];       /* below the name, the verdict for instance */
    size_t bins;
    double low, width;   /* category i begins at low + i * width */
    double *measured;    /* [bins] parts, whose sum is at most 1 */
    double *expected;    /* [bins] */
};

/* Bars beyond which a picture is not readable; panels beyond are left out, which
 * the title says. */
#define HISTOGRAM_PANELS 64
#define HISTOGRAM_BINS 60

/* Draw COUNT (at least 1) panels of at most HISTOGRAM_BINS categories each into
 * FILE (.svg or .png).  LABEL is that of all x axes.  0, or -1 with the reason
 * in ERR. */
int histogram_draw(const struct histogram *panels, size_t count,
                   const char *title, const char *label, const char *file,
                   struct errtext *err);

#endif /* COSCHED_MODEL_HISTOGRAM_H */
