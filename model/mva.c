/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Several classes of customers at one station. */

#include "model/mva.h"

#include <math.h>
#include <stdbool.h>

#include "model/station.h"

#define ROUNDS 10000
#define TOLERANCE 1e-10

/* Population vectors of CLASSES, or 0 if more than MVA_EXACT_STATES. */
static size_t states(const struct mva_class *classes, size_t count)
{
    size_t product = 1;

    for (size_t k = 0; k < count; k++) {
        size_t n = classes[k].lambda > 0 ? classes[k].count : 0;
        if (n >= MVA_EXACT_STATES / product)
            return 0;
        product *= n + 1;
    }
    return product;
}

/* The arrival theorem for every population vector, in lexicographic order: an
 * arriving customer sees the queue of the system without itself. */
static void solve_exact(const struct mva_class *classes, size_t count,
                        double service, struct mva_result *result)
{
    double queue[MVA_EXACT_STATES];
    size_t population[MVA_MAX_CLASSES] = {0};
    size_t total = states(classes, count);

    queue[0] = 0;
    for (size_t state = 1; state < total; state++) {
        size_t k = 0, stride = 1;

        while (population[k] == (classes[k].lambda > 0 ? classes[k].count : 0))
            population[k++] = 0;
        population[k]++;
        queue[state] = 0;
        for (k = 0; k < count; k++) {
            if (population[k]) {
                double r = service * (1 + queue[state - stride]);
                double x = (double)population[k] / (1 / classes[k].lambda + r);
                queue[state] += x * r;
                result[k] = (struct mva_result){r, x};
            }
            stride *= (classes[k].lambda > 0 ? classes[k].count : 0) + 1;
        }
    }
}

static enum model_status solve_approximate(const struct mva_class *classes,
                                           size_t count, double service,
                                           struct mva_result *result)
{
    double queue[MVA_MAX_CLASSES] = {0};
    double total = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double change = 0, sum = 0;

        for (size_t k = 0; k < count; k++) {
            double n = (double)classes[k].count;
            if (n == 0 || classes[k].lambda == 0)
                continue;
            double r = service * (1 + total - queue[k] / n);
            double x = n / (1 / classes[k].lambda + r);
            change = fmax(change, fabs(x * r - queue[k]));
            queue[k] = x * r;
            sum += queue[k];
            result[k] = (struct mva_result){r, x};
        }
        total = sum;
        if (change < TOLERANCE * fmax(1, total))
            return MODEL_OK;
    }
    return MODEL_ENOCONV;
}

/* NuPoCo 4.2.1: all customers ask at the mean rate of those that ask. */
static enum model_status solve_average(const struct mva_class *classes,
                                       size_t count, double service,
                                       struct mva_result *result)
{
    struct station station;
    double rate = 0;
    size_t n = 0;

    for (size_t k = 0; k < count; k++)
        if (classes[k].lambda > 0) {
            n += classes[k].count;
            rate += (double)classes[k].count * classes[k].lambda;
        }
    if (n == 0)
        return MODEL_OK;
    enum model_status status =
        station_solve(n, rate / (double)n, 1 / service, &station);
    for (size_t k = 0; k < count && status == MODEL_OK; k++)
        if (classes[k].lambda > 0) {
            result[k].response = station.response;
            result[k].throughput = (double)classes[k].count /
                                   (1 / classes[k].lambda + station.response);
        }
    return status;
}

enum model_status mva_solve(enum mva_method method,
                            const struct mva_class *classes, size_t count,
                            double service, struct mva_result *result)
{
    if (count > MVA_MAX_CLASSES || !(service > 0) || !isfinite(service))
        return MODEL_EINVAL;
    for (size_t k = 0; k < count; k++) {
        if (!(classes[k].lambda >= 0) || !isfinite(classes[k].lambda))
            return MODEL_EINVAL;
        result[k] = (struct mva_result){service, 0};
    }
    bool small = states(classes, count) != 0;
    switch (method) {
    case MVA_AVERAGE:
        return solve_average(classes, count, service, result);
    case MVA_EXACT:
        if (!small)
            return MODEL_EINVAL;
        break;
    case MVA_APPROXIMATE:
        small = false;
        break;
    case MVA_AUTOMATIC:
        break;
    default:
        return MODEL_EINVAL;
    }
    if (!small)
        return solve_approximate(classes, count, service, result);
    solve_exact(classes, count, service, result);
    return MODEL_OK;
}
