/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long a job's reads stall its cores, relative to what the model says. */

#include "model/stall_factor.h"

#include <math.h>

#define STEP 0.1 /* of x, for the difference */
#define SLOPE_LEAST 1e-3

double stall_factor(const struct stall_factor *s)
{
    return exp(s->log);
}

/* Predict with the factors times exp(STEPS) into STALLS. */
static void predict(struct stall_factor *const *factor, struct aggregated_mva *aggregated,
                    const size_t *counts, size_t count, double steps, double *stalls)
{
    double speed[count];

    for (size_t j = 0; j < count; j++)
        if (factor[j])
            aggregated_set_stalls(aggregated, j, exp(factor[j]->log + steps));
    aggregated_predict(aggregated, counts, speed);
    for (size_t j = 0; j < count; j++)
        stalls[j] = speed[j] > 0 ? aggregated_stalls(aggregated, j) : 0;
}

static void update(struct stall_factor *s, double seen, double predicted, double slope, double us,
                   double usual)
{
    s->us = fmin(s->us + us, STALL_MEMORY);
    double part = STALL_LEAST / seen;
    double model = STALL_ERROR / fmax(slope, SLOPE_LEAST);
    double error = model * model + STALL_NOISE / s->us + part * part;
    double prior = STALL_PRIOR * STALL_PRIOR, most = log(STALL_MOST);
    double down = slope * log(seen / predicted) / error - (s->log - usual) / prior;

    s->log += down / (slope * slope / error + 1 / prior) * fmin(us / s->us, 1);
    s->log = fmax(-most, fmin(s->log, most));
}

void stall_factors_learn(struct stall_factor *const *stalls, struct aggregated_mva *aggregated,
                         const struct workload *const *profile, const size_t *counts,
                         const double *seen, size_t count, double us, double usual)
{
    double now[count ? count : 1], more[count ? count : 1];

    aggregated_prepare(aggregated, profile, count);
    predict(stalls, aggregated, counts, count, 0, now);
    predict(stalls, aggregated, counts, count, STEP, more);
    for (size_t j = 0; j < count; j++)
        if (stalls[j] && seen[j] > STALL_LEAST && now[j] > STALL_LEAST)
            update(stalls[j], seen[j], now[j], fmax(0, log(more[j] / now[j]) / STEP), us,
                   usual);
}
