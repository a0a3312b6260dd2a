/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Exact solution of a station with several classes, by Gauss-Laguerre. */

#include "model/quadrature.h"

#include <math.h>

/* Larger products leave doubles' range; such a station is saturated. */
#define RHO_MAX 1e290

/* Laguerre's polynomials of degree N and N - 1 at T. */
static double laguerre(size_t n, double t, double *before)
{
    double now = 1, last = 0;

    for (size_t k = 0; k < n; k++) {
        double next = ((2.0 * (double)k + 1 - t) * now - (double)k * last) /
                      ((double)k + 1);
        last = now;
        now = next;
    }
    *before = last;
    return now;
}

/* The root after those in AT[FOUND].  Newton's steps for the polynomial with
 * the known roots divided out never pass the next one when they begin left of
 * it, and gaps between roots grow. */
static double next_root(size_t n, const double *at, size_t found)
{
    double t = 1 / ((double)n + 0.5), before;

    if (found == 1)
        t = 2 * at[0];
    else if (found > 1)
        t = 2 * at[found - 1] - at[found - 2];
    for (int round = 0; round < 100; round++) {
        double value = laguerre(n, t, &before);
        double slope = (double)n * (value - before) / t;
        double others = 0;

        for (size_t j = 0; j < found; j++)
            others += 1 / (t - at[j]);
        double step = value / (slope - value * others);
        t -= step;
        if (fabs(step) <= 4e-16 * t)
            break;
    }
    return t;
}

void quadrature_init(struct quadrature *rule, size_t customers)
{
    size_t n = (customers + 2) / 2;

    for (size_t i = 0; i < n; i++) {
        double before;

        rule->at[i] = n == 1 ? 1 : next_root(n, rule->at, i);
        laguerre(n, rule->at[i], &before);
        rule->weight[i] = rule->at[i] / pow((double)n * before, 2);
    }
    rule->last = rule->at[n - 1];
    for (rule->points = n; rule->points % 4; rule->points++) {
        rule->at[rule->points] = 0;
        rule->weight[rule->points] = 0;
    }
}

/* FACTOR[] = (1 + rho t) / (1 + rho last): 1 at most, so that no product of
 * them overflows. */
static void factors(const struct quadrature *rule, double rho, double *factor)
{
    double one = 1 / (1 + rho * rule->last), slope = rho * one;

    for (size_t i = 0; i < rule->points; i += 4)
        for (size_t k = 0; k < 4; k++)
            factor[i + k] = one + slope * rule->at[i + k];
}

/* VALUE[] *= FACTOR[]^POWER; FACTOR[] is lost. */
static void multiply(size_t points, double *restrict value,
                     double *restrict factor, size_t power)
{
    for (;;) {
        if (power & 1)
            for (size_t i = 0; i < points; i += 4)
                for (size_t k = 0; k < 4; k++)
                    value[i + k] *= factor[i + k];
        power >>= 1;
        if (!power)
            return;
        for (size_t i = 0; i < points; i += 4)
            for (size_t k = 0; k < 4; k++)
                factor[i + k] *= factor[i + k];
    }
}

/* Mean of t where VALUE[] are the weights. */
static double mean(const struct quadrature *rule, const double *value)
{
    double up[2] = {0}, down[2] = {0};

    for (size_t i = 0; i < rule->points; i += 2)
        for (size_t k = 0; k < 2; k++) {
            up[k] += value[i + k] * rule->at[i + k];
            down[k] += value[i + k];
        }
    return (up[0] + up[1]) / (down[0] + down[1]);
}

/* Mean of t where VALUE[] are the weights with a factor of RHO too many. */
static double mean_without(const struct quadrature *rule, const double *value,
                           double rho)
{
    double one = 1 / (1 + rho * rule->last), slope = rho * one;
    double up[2] = {0}, down[2] = {0};

    for (size_t i = 0; i < rule->points; i += 2)
        for (size_t k = 0; k < 2; k++) {
            double part = value[i + k] / (one + slope * rule->at[i + k]);
            up[k] += part * rule->at[i + k];
            down[k] += part;
        }
    return (up[0] + up[1]) / (down[0] + down[1]);
}

static double rho_of(const struct mva_class *class, double service)
{
    return fmin(class->lambda * service, RHO_MAX);
}

static bool asks(const struct mva_class *class)
{
    return class->count && class->lambda > 0;
}

/* Each of two customers meets the other one only: most links have two. */
static double meeting(const struct mva_class *other, double service)
{
    double rho = rho_of(other, service);

    return service * (1 + rho / (1 + rho));
}

void quadrature_solve(const struct quadrature *rule,
                      const struct mva_class *classes, size_t count,
                      double service, double *response)
{
    double value[QUADRATURE_MAX_POINTS], factor[QUADRATURE_MAX_POINTS];
    size_t asking = 0, customers = 0, before = 0, only = 0;

    for (size_t k = 0; k < count; k++) {
        response[k] = service;
        if (asks(&classes[k])) {
            asking++;
            customers += classes[k].count;
            before = only;
            only = k;
        }
    }
    if (customers < 2)
        return;
    if (customers == 2) {
        before = asking == 1 ? only : before;
        response[before] = meeting(&classes[only], service);
        response[only] = meeting(&classes[before], service);
        return;
    }
    for (size_t i = 0; i < rule->points; i++)
        value[i] = rule->weight[i];
    if (asking == 1) {
        factors(rule, rho_of(&classes[only], service), factor);
        multiply(rule->points, value, factor, classes[only].count - 1);
        response[only] = service * mean(rule, value);
        return;
    }
    for (size_t k = 0; k < count; k++)
        if (asks(&classes[k])) {
            factors(rule, rho_of(&classes[k], service), factor);
            multiply(rule->points, value, factor, classes[k].count);
        }
    for (size_t k = 0; k < count; k++)
        if (asks(&classes[k]))
            response[k] =
                service *
                mean_without(rule, value, rho_of(&classes[k], service));
}
