/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Exact solution of a station with several classes, by Gauss-Laguerre. */

#include "model/quadrature.h"

#include <math.h>
#include <string.h>

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

/* Two points at a time, which every processor of today computes at once; each
 * number comes out as if it were alone. */
typedef double pair __attribute__((vector_size(2 * sizeof(double))));

static inline pair load(const double *from)
{
    pair p;

    memcpy(&p, from, sizeof(p));
    return p;
}

/* The factors (1 + rho t) / (1 + rho last), 1 at most, so that no product of them
 * overflows. */
struct line {
    double one, slope;
};

static inline struct line line_of(const struct quadrature *rule, double rho)
{
    double one = 1 / (1 + rho * rule->last);

    return (struct line){one, rho * one};
}

/* A[], B[] *= the factors at the four points AT to the power of POWER >= 1. */
static inline void raise(const double *at, struct line line, size_t power,
                         pair *a, pair *b)
{
    pair f = line.one + line.slope * load(at);
    pair g = line.one + line.slope * load(at + 2);

    for (;;) {
        if (power & 1) {
            *a *= f;
            *b *= g;
        }
        power >>= 1;
        if (!power)
            return;
        f *= f;
        g *= g;
    }
}

/* VALUE[] *= the factors of RHO to the power of POWER. */
static void multiply(const struct quadrature *rule, double rho, size_t power,
                     double *value)
{
    struct line line = line_of(rule, rho);

    for (size_t i = 0; i < rule->points; i += 4) {
        pair a = load(&value[i]), b = load(&value[i + 2]);
        raise(&rule->at[i], line, power, &a, &b);
        memcpy(&value[i], &a, sizeof(a));
        memcpy(&value[i + 2], &b, sizeof(b));
    }
}

/* Mean of t of one class alone, whose customers meet POWER others. */
static double mean_alone(const struct quadrature *rule, double rho,
                         size_t power)
{
    struct line line = line_of(rule, rho);
    pair up = {0}, down = {0};

    for (size_t i = 0; i < rule->points; i += 4) {
        pair a = load(&rule->weight[i]), b = load(&rule->weight[i + 2]);
        raise(&rule->at[i], line, power, &a, &b);
        up += a * load(&rule->at[i]);
        down += a;
        up += b * load(&rule->at[i + 2]);
        down += b;
    }
    return (up[0] + up[1]) / (down[0] + down[1]);
}

/* Mean of t where VALUE[] are the weights with a factor of RHO too many. */
static double mean_without(const struct quadrature *rule, const double *value,
                           double rho)
{
    struct line line = line_of(rule, rho);
    pair up = {0}, down = {0};

    for (size_t i = 0; i < rule->points; i += 2) {
        pair at = load(&rule->at[i]);
        pair part = load(&value[i]) / (line.one + line.slope * at);
        up += part * at;
        down += part;
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
    double value[QUADRATURE_MAX_POINTS];
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
    if (asking == 1) {
        response[only] =
            service * mean_alone(rule, rho_of(&classes[only], service),
                                 classes[only].count - 1);
        return;
    }
    for (size_t i = 0; i < rule->points; i++)
        value[i] = rule->weight[i];
    for (size_t k = 0; k < count; k++)
        if (asks(&classes[k]))
            multiply(rule, rho_of(&classes[k], service), classes[k].count,
                     value);
    for (size_t k = 0; k < count; k++)
        if (asks(&classes[k]))
            response[k] =
                service *
                mean_without(rule, value, rho_of(&classes[k], service));
}
