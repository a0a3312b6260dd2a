/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The M/M/1/N/N station by the mean-value recurrence. */

#include "model/station.h"

#include <math.h>
#include <stdbool.h>

enum model_status station_solve(size_t n, double lambda, double mu,
                                struct station *result)
{
    if (!(lambda >= 0) || !isfinite(lambda) || !(mu > 0) || !isfinite(mu))
        return MODEL_EINVAL;
    result->utilisation = result->throughput = result->queue = 0;
    result->response = 1 / mu;
    if (lambda == 0)
        return MODEL_OK;
    for (size_t i = 1; i <= n; i++) {
        result->response = (1 + result->queue) / mu;
        result->throughput = (double)i / (1 / lambda + result->response);
        result->queue = result->throughput * result->response;
    }
    result->utilisation = fmin(1, result->throughput / mu);
    return MODEL_OK;
}

double station_speedup(size_t n, double rho)
{
    struct station one, many;

    if (station_solve(1, rho, 1, &one) != MODEL_OK ||
        station_solve(n, rho, 1, &many) != MODEL_OK)
        return NAN;
    return rho == 0 ? (double)n : many.throughput / one.throughput;
}

/* Fit the unit rate for RHO and say how far off that is. */
static struct station_fit fit_at(const struct station_sample *samples,
                                 size_t count, double rho)
{
    struct station_fit fit = {.rho = rho};
    double up = 0, down = 0, sum = 0, weight = 0;

    /* Minimise sum w (1 - a r)^2 with r = model / measured: a is closed. */
    for (size_t i = 0; i < count; i++) {
        double r = station_speedup(samples[i].cores, rho) /
                   samples[i].throughput;
        up += samples[i].weight * r;
        down += samples[i].weight * r * r;
    }
    fit.unit_rate = up / down;
    for (size_t i = 0; i < count; i++) {
        double r = station_speedup(samples[i].cores, rho) /
                   samples[i].throughput;
        double error = 1 - fit.unit_rate * r;
        sum += samples[i].weight * error * error;
        weight += samples[i].weight;
    }
    fit.residual = sqrt(sum / weight);
    return fit;
}

/* The better of two fits; the smaller rho when they are equally good. */
static struct station_fit better(struct station_fit a, struct station_fit b)
{
    return b.residual < a.residual ? b : a;
}

/* Golden region over log(rho) within LOW..HIGH, where there is one minimum. */
static struct station_fit refine(const struct station_sample *samples,
                                 size_t count, double low, double high)
{
    const double golden = 0.6180339887498949;
    double a = log(low), b = log(high);
    struct station_fit c = fit_at(samples, count, exp(b - golden * (b - a)));
    struct station_fit d = fit_at(samples, count, exp(a + golden * (b - a)));

    /* 40 steps shrink a decade below 1e-8 of its width. */
    for (int i = 0; i < 40; i++) {
        if (c.residual <= d.residual) {
            b = log(d.rho);
            d = c;
            c = fit_at(samples, count, exp(b - golden * (b - a)));
        } else {
            a = log(c.rho);
            c = d;
            d = fit_at(samples, count, exp(a + golden * (b - a)));
        }
    }
    return better(c, d);
}

static enum model_status check_samples(const struct station_sample *samples,
                                       size_t count)
{
    bool different = false;

    for (size_t i = 0; i < count; i++) {
        const struct station_sample *s = &samples[i];
        if (s->cores < 1 || !(s->throughput > 0) || !isfinite(s->throughput) ||
            !(s->weight > 0) || !isfinite(s->weight))
            return MODEL_EINVAL;
        different |= s->cores != samples[0].cores;
    }
    return different ? MODEL_OK : MODEL_ENODATA;
}

enum model_status station_fit_rho(const struct station_sample *samples,
                                  size_t count, struct station_fit *fit)
{
    const double step = 3.1622776601683795; /* half a decade */
    enum model_status status = check_samples(samples, count);

    if (status != MODEL_OK)
        return status;
    struct station_fit best = fit_at(samples, count, 0);
    struct station_fit grid = fit_at(samples, count, STATION_RHO_MIN);
    for (double rho = STATION_RHO_MIN * step; rho < STATION_RHO_MAX * 1.01;
         rho *= step)
        grid = better(grid, fit_at(samples, count, rho));
    double low = fmax(STATION_RHO_MIN, grid.rho / step);
    double high = fmin(STATION_RHO_MAX, grid.rho * step);
    *fit = better(better(best, grid), refine(samples, count, low, high));
    return MODEL_OK;
}
