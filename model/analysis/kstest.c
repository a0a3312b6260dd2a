/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Kolmogorov-Smirnov tests. */

#include "model/analysis/kstest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_TERMS 1000000 /* more than sums below need for a mean of 1e9 */
#define CRITICAL_ROUNDS 200

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* A sorted copy of NUMBERS; NULL when out of memory. */
static double *sorted(const double *numbers, size_t count)
{
    double *copy = malloc(count * sizeof(*copy));

    if (copy) {
        memcpy(copy, numbers, count * sizeof(*copy));
        qsort(copy, count, sizeof(*copy), compare);
    }
    return copy;
}

static bool level_valid(double alpha)
{
    return alpha > 0 && alpha < 1;
}

/* Kolmogorov's limit: chance that sqrt(n) D exceeds X. */
static double kolmogorov(double x)
{
    double sum = 0;

    if (x < 0.2) /* 1 - 1e-12 and more; the series below is slow there */
        return 1;
    for (int k = 1; k <= 100; k++) {
        double term = exp(-2.0 * k * k * x * x);
        sum += k % 2 ? term : -term;
        if (term < 1e-17)
            break;
    }
    return fmin(1, fmax(0, 2 * sum));
}

/* X of which kolmogorov() is ALPHA. */
static double kolmogorov_inverse(double alpha)
{
    double low = 0, high = 20;

    for (int round = 0; round < CRITICAL_ROUNDS; round++) {
        double middle = (low + high) / 2;
        if (kolmogorov(middle) > alpha)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Chance of a D of at least D between samples of A and B numbers without ties
 * of the same distribution: all orders are alike, so count lattice paths from
 * (0, 0) to (a, b) that stay nearer to the diagonal.  ROW has b + 1 numbers of
 * work space; it holds the part of all paths to (i, j) that stay near. */
static double exact_p(size_t a, size_t b, double d, double *row)
{
    double limit = d * (double)a * (double)b - 0.5; /* whole numbers differ */

    for (size_t i = 0; i <= a; i++)
        for (size_t j = 0; j <= b; j++) {
            double distance = fabs((double)i * (double)b -
                                   (double)j * (double)a);
            double total = (double)(i + j);
            /* Of the paths to (i, j), i / (i + j) come from (i - 1, j). */
            double part = i == 0 && j == 0 ? 1 : 0;
            if (i > 0)
                part += row[j] * ((double)i / total);
            if (j > 0)
                part += row[j - 1] * ((double)j / total);
            row[j] = distance > limit ? 0 : part;
        }
    return 1 - row[b];
}

/* The smallest D whose exact p-value is at most ALPHA, less half a step of
 * the possible values, so that `passed` may compare with it. */
static double exact_critical(size_t a, size_t b, double alpha, double *row)
{
    double units = (double)a * (double)b;
    size_t low = 0, high = a * b + 1; /* p(low) > alpha; high: beyond D = 1 */

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (exact_p(a, b, (double)middle / units, row) > alpha)
            low = middle;
        else
            high = middle;
    }
    return ((double)high - 0.5) / units;
}

/* Greatest distance of two sorted samples; *TIES: some numbers are equal. */
static double distance(const double *a, size_t a_count, const double *b,
                       size_t b_count, bool *ties)
{
    size_t i = 0, j = 0;
    double d = 0;

    *ties = false;
    while (i < a_count && j < b_count) {
        double x = fmin(a[i], b[j]);
        size_t here = i + j;
        while (i < a_count && a[i] <= x)
            i++;
        while (j < b_count && b[j] <= x)
            j++;
        *ties = *ties || i + j > here + 1;
        d = fmax(d, fabs((double)i / (double)a_count -
                         (double)j / (double)b_count));
    }
    return d;
}

static void judge(struct kstest *result, double d, double effective,
                  double alpha)
{
    double root = sqrt(effective);

    *result = (struct kstest){.d = d,
                              .critical = kolmogorov_inverse(alpha) / root,
                              .p = kolmogorov(d * root)};
}

static bool finite_all(const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return false;
    return true;
}

enum model_status kstest_two(const double *a, size_t a_count, const double *b,
                             size_t b_count, double alpha,
                             struct kstest *result)
{
    enum model_status status = MODEL_ENOMEM;

    if (a_count < 1 || b_count < 1 || !level_valid(alpha) ||
        !finite_all(a, a_count) || !finite_all(b, b_count))
        return MODEL_EINVAL;
    double *x = sorted(a, a_count), *y = sorted(b, b_count);
    double *row = calloc(b_count + 1, sizeof(*row));
    if (x && y && row) {
        bool ties;
        double d = distance(x, a_count, y, b_count, &ties);
        double na = (double)a_count, nb = (double)b_count;

        judge(result, d, na * nb / (na + nb), alpha);
        if (!ties && a_count <= KSTEST_EXACT && b_count <= KSTEST_EXACT) {
            result->p = exact_p(a_count, b_count, d, row);
            result->critical = exact_critical(a_count, b_count, alpha, row);
        }
        result->passed = result->d <= result->critical;
        status = MODEL_OK;
    }
    free(x);
    free(y);
    free(row);
    return status;
}

/* GSL's incomplete gamma function is wrong by up to 0.04 at a mean of 5e7 and by
 * 0.10 at 1e9 (2.7, error 11): counts of real intervals are there.
 *
 * Incomplete gamma function Q(S, X) for X > S + 1 by Lentz' continued
 * fraction, and P(S, X) for smaller X by its series; both times
 * x^s e^-x / Gamma(s), the FACTOR. */
static double gamma_fraction(double s, double x, double factor)
{
    const double tiny = 1e-300;
    double b = x + 1 - s, c = 1 / tiny, d = 1 / b, h = d;

    for (int k = 1; k < SERIES_TERMS; k++) {
        double a = -k * (k - s);
        b += 2;
        d = a * d + b;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + a / c;
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return factor * h;
}

static double gamma_series(double s, double x, double factor)
{
    double term = 1 / s, sum = term;

    for (int k = 1; k < SERIES_TERMS && term > 1e-17 * sum; k++) {
        term *= x / (s + k);
        sum += term;
    }
    return factor * sum;
}

double kstest_poisson_cdf(double k, double mean)
{
    int sign;

    if (isnan(k) || !(mean > 0))
        return NAN;
    if (k < 0)
        return 0;
    if (isinf(k))
        return 1;
    /* P(X <= k) = Q(k + 1, mean).  lgamma_r(): lgamma() has a global. */
    double s = floor(k) + 1;
    double factor = exp(s * log(mean) - mean - lgamma_r(s, &sign));
    double p = mean > s + 1 ? gamma_fraction(s, mean, factor)
                            : 1 - gamma_series(s, mean, factor);
    return fmin(1, fmax(0, p));
}

/* Greatest distance of sorted COUNTS to the Poisson distribution of MEAN, at
 * each whole number where it can be: both are steps at whole numbers, so it is
 * at a value that occurs, or just below one. */
static double poisson_distance(const double *counts, size_t count, double mean)
{
    double d = 0;

    for (size_t i = 0; i < count;) {
        double x = counts[i], below = (double)i / (double)count;
        while (i < count && counts[i] <= x)
            i++;
        double upto = (double)i / (double)count;
        d = fmax(d, fabs(below - kstest_poisson_cdf(x - 1, mean)));
        d = fmax(d, fabs(upto - kstest_poisson_cdf(x, mean)));
    }
    return d;
}

double kstest_bin_end(double least, double greatest, size_t bins, size_t k)
{
    double width = (greatest - least) / (double)bins;

    return k + 1 < bins ? floor(least + width * (double)(k + 1)) : greatest;
}

/* The same at the upper ends of BINS categories. */
static double binned_distance(const double *counts, size_t count, size_t bins,
                              double mean)
{
    double d = 0;

    for (size_t k = 0, i = 0; k < bins; k++) {
        double end = kstest_bin_end(counts[0], counts[count - 1], bins, k);
        while (i < count && counts[i] <= end)
            i++;
        d = fmax(d, fabs((double)i / (double)count -
                         kstest_poisson_cdf(end, mean)));
    }
    return d;
}

enum model_status kstest_poisson(const double *counts, size_t count,
                                 size_t bins, double alpha,
                                 struct kstest *result)
{
    double sum = 0;

    if (count < 2 || !level_valid(alpha) || !finite_all(counts, count))
        return MODEL_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (counts[i] < 0 || counts[i] != floor(counts[i]))
            return MODEL_EINVAL;
        sum += counts[i];
    }
    if (!(sum > 0))
        return MODEL_ENODATA;
    double *x = sorted(counts, count), mean = sum / (double)count;
    if (!x)
        return MODEL_ENOMEM;
    judge(result,
          bins ? binned_distance(x, count, bins, mean)
               : poisson_distance(x, count, mean),
          (double)count, alpha);
    result->passed = result->d <= result->critical;
    free(x);
    return MODEL_OK;
}
