/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Max-min fair division. */

#include "model/maxmin.h"

#include <math.h>

double maxmin_level(const double *demand, const double *weight, size_t count,
                    double amount)
{
    double level = 0;

    /* Who is below the level gets what it asks for, the others divide the rest,
     * which can only raise it: in COUNT rounds all are found who are below. */
    for (size_t round = 0; round <= count; round++) {
        double left = amount, weights = 0;
        for (size_t i = 0; i < count; i++) {
            if (demand[i] <= level * weight[i])
                left -= demand[i];
            else
                weights += weight[i];
        }
        if (!(weights > 0))
            return INFINITY;
        level = fmax(level, left / weights);
    }
    return level;
}
