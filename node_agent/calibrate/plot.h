/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Pictures of a calibration. */

#ifndef COSCHED_CALIBRATE_PLOT_H
#define COSCHED_CALIBRATE_PLOT_H

#include "node_agent/calibrate/calibrate.h"

/* Write PREFIX-rate.svg, requests per microsecond by stride for each kernel on
 * the first LLC domain with its own memory (as thesis figure 3.8), and
 * PREFIX-links.svg, the mean ns per request of each LLC domain with each NUMA
 * node.  0, or -1 with ERR. */
int calibration_plot(const struct calibration *calibration,
                     const struct machine *machine, const char *prefix,
                     struct errtext *err);

#endif /* COSCHED_CALIBRATE_PLOT_H */
