/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Several classes of customers at one station. */

#include "model/analysis/mva.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/network.h"
#include "model/station.h"

#define ROUNDS 10000
#define TOLERANCE 1e-10

/* Customers with the same rate are one class, whoever's they are: most LLC
 * domains of a machine are alike, and the exact method then has room for many. */
struct merged {
    struct mva_class classes[MVA_MAX_CLASSES]; /* rate and count > 0 */
    size_t count;
    size_t from[MVA_MAX_CLASSES]; /* the caller's class -> ours, or NOBODY */
};

#define NOBODY MVA_MAX_CLASSES

/* Merge COUNT classes that are in range.  False when their customers are more
 * than a size_t can count. */
static bool merge(const struct mva_class *classes, size_t count,
                  struct merged *m)
{
    m->count = 0;
    for (size_t k = 0; k < count; k++) {
        size_t i = 0;

        m->from[k] = NOBODY;
        if (classes[k].lambda == 0 || classes[k].count == 0)
            continue;
        while (i < m->count && m->classes[i].lambda != classes[k].lambda)
            i++;
        if (i == m->count)
            m->classes[m->count++] = (struct mva_class){0, classes[k].lambda};
        if (m->classes[i].count > SIZE_MAX - classes[k].count)
            return false;
        m->classes[i].count += classes[k].count;
        m->from[k] = i;
    }
    return true;
}

/* Hand each class its part of the merged ones' RESULT. */
static void split(const struct merged *m, const struct mva_result *result,
                  const struct mva_class *classes, size_t count,
                  double service, struct mva_result *out)
{
    for (size_t k = 0; k < count; k++) {
        size_t i = m->from[k];

        out[k] = (struct mva_result){service, 0};
        if (i == NOBODY)
            continue;
        out[k].response = result[i].response;
        out[k].throughput = result[i].throughput * (double)classes[k].count /
                            (double)m->classes[i].count;
    }
}

/* Population vectors, or 0 if more than MVA_EXACT_STATES. */
static size_t states(const struct merged *m)
{
    size_t product = 1;

    for (size_t k = 0; k < m->count; k++) {
        if (m->classes[k].count >= MVA_EXACT_STATES / product)
            return 0;
        product *= m->classes[k].count + 1;
    }
    return product;
}

/* The arrival theorem for every population vector, in lexicographic order: an
 * arriving customer sees the queue of the system without itself. */
static void solve_exact(const struct merged *m, double service,
                        struct mva_result *result)
{
    double queue[MVA_EXACT_STATES];
    size_t population[MVA_MAX_CLASSES] = {0};
    size_t total = states(m);

    queue[0] = 0;
    for (size_t state = 1; state < total; state++) {
        size_t k = 0, stride = 1;

        while (population[k] == m->classes[k].count)
            population[k++] = 0;
        population[k]++;
        queue[state] = 0;
        for (k = 0; k < m->count; k++) {
            if (population[k]) {
                double r = service * (1 + queue[state - stride]);
                double x = (double)population[k] / (1 / m->classes[k].lambda + r);
                queue[state] += x * r;
                result[k] = (struct mva_result){r, x};
            }
            stride *= m->classes[k].count + 1;
        }
    }
}

static enum model_status solve_approximate(const struct merged *m,
                                           double service,
                                           struct mva_result *result)
{
    double queue[MVA_MAX_CLASSES] = {0};
    double total = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double change = 0, sum = 0;

        for (size_t k = 0; k < m->count; k++) {
            double n = (double)m->classes[k].count;
            double r = service * (1 + total - queue[k] / n);
            double x = n / (1 / m->classes[k].lambda + r);
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
static enum model_status solve_average(const struct merged *m, double service,
                                       struct mva_result *result)
{
    struct station station;
    double rate = 0, customers = 0;
    size_t n = 0;

    for (size_t k = 0; k < m->count; k++) {
        n += m->classes[k].count;
        customers += (double)m->classes[k].count;
        rate += (double)m->classes[k].count * m->classes[k].lambda;
    }
    if (n == 0)
        return MODEL_OK;
    enum model_status status =
        station_solve(n, rate / customers, 1 / service, &station);
    for (size_t k = 0; k < m->count && status == MODEL_OK; k++) {
        result[k].response = station.response;
        result[k].throughput = (double)m->classes[k].count /
                               (1 / m->classes[k].lambda + station.response);
    }
    return status;
}

/* The station is a network with one server. */
static enum model_status solve_linearizer(const struct merged *m,
                                          double service,
                                          struct mva_result *result)
{
    size_t count[MVA_MAX_CLASSES];
    double table[5][MVA_MAX_CLASSES], share[MVA_MAX_CLASSES];
    struct network network = {m->count, 1,        count,    table[0],
                              table[1], table[2], table[3]};
    struct network_result solved = {.share = share, .response = table[4]};

    if (!m->count)
        return MODEL_OK;
    for (size_t k = 0; k < m->count; k++) {
        count[k] = m->classes[k].count;
        table[0][k] = m->classes[k].lambda;
        table[1][k] = table[3][k] = service;
        table[2][k] = 0;
    }
    enum model_status status =
        network_solve(NETWORK_LINEARIZER, &network, &solved);
    for (size_t k = 0; k < m->count && status == MODEL_OK; k++)
        result[k] = (struct mva_result){
            table[4][k],
            (double)count[k] * share[k] * m->classes[k].lambda};
    return status;
}

static bool valid(const struct mva_class *classes, size_t count, double service)
{
    if (count > MVA_MAX_CLASSES || !(service > 0) || !isfinite(service))
        return false;
    for (size_t k = 0; k < count; k++)
        if (!(classes[k].lambda >= 0) || !isfinite(classes[k].lambda))
            return false;
    return true;
}

enum model_status mva_solve(enum mva_method method,
                            const struct mva_class *classes, size_t count,
                            double service, struct mva_result *result)
{
    struct merged merged;
    struct mva_result results[MVA_MAX_CLASSES];
    enum model_status status = MODEL_OK;

    if (!valid(classes, count, service) || !merge(classes, count, &merged))
        return MODEL_EINVAL;
    if (method == MVA_AUTOMATIC)
        method = states(&merged) ? MVA_EXACT : MVA_APPROXIMATE;
    switch (method) {
    case MVA_AVERAGE:
        status = solve_average(&merged, service, results);
        break;
    case MVA_EXACT:
        if (!states(&merged))
            return MODEL_EINVAL;
        solve_exact(&merged, service, results);
        break;
    case MVA_LINEARIZER:
        status = solve_linearizer(&merged, service, results);
        break;
    case MVA_APPROXIMATE:
        status = solve_approximate(&merged, service, results);
        break;
    default:
        return MODEL_EINVAL;
    }
    if (status == MODEL_OK)
        split(&merged, results, classes, count, service, result);
    return status;
}
