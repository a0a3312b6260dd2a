/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* stream: memory-bound; a triad over arrays far larger than the caches. */

#include "jobs/program.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* Iteration k computes x(k) = w x(k-1) - x(k-2), elementwise, into the array
 * that held x(k-3): STREAM's triad, with three arrays in turn.  Since |w| < 2
 * the values neither grow nor decay however long it runs, and a scalar that
 * went the same way says what each element must be. */
static const double weight = 0.75;
static const double epsilon = 1e-9;    /* absolute: the values are about 1 */

/* Elements start with one of so many different values. */
enum { START_VALUES = 8 };

enum { OPTION_MB, OPTION_ITERATIONS };

static double start_value(size_t i, int array)
{
    return 1 + array + 0.125 * (double)(i % START_VALUES);
}

static void fill(double *x[3], size_t n)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            x[k][i] = start_value(i, k);
}

static void triad(double *restrict a, const double *restrict b,
                  const double *restrict c, size_t n)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = weight * b[i] - c[i];
}

/* x[0] is the newest array, x[2] the oldest, which gets the next result. */
static void step(double *x[3], size_t n)
{
    double *oldest = x[2];

    triad(oldest, x[0], x[1], n);
    x[2] = x[1];
    x[1] = x[0];
    x[0] = oldest;
}

/* The newest value after STEPS steps, for an element of index I. */
static double expected(size_t i, long steps)
{
    double newest = start_value(i, 0), older = start_value(i, 1);

    while (steps--) {
        double next = weight * newest - older;

        older = newest;
        newest = next;
    }
    return newest;
}

/* Serial: a runtime that loses iterations would lose the same ones here. */
static void verify(struct program *p, const double *newest, size_t n,
                   long steps)
{
    double right[START_VALUES];
    size_t wrong = 0;

    for (size_t i = 0; i < START_VALUES; i++)
        right[i] = expected(i, steps);
    for (size_t i = 0; i < n; i++)
        wrong += !(fabs(newest[i] - right[i % START_VALUES]) <= epsilon);
    if (wrong)
        program_fail(p, "%zu of %zu elements are wrong after %ld iterations",
                     wrong, n, steps);
}

static void size_from_class(struct program *p, struct program_option *own)
{
    static const struct {
        char size_class;
        long mb, iterations;
    } sizes[] = {{'S', 12, 10}, {'W', 96, 20}, {'A', 768, 20}, {'B', 3072, 20}};
    int i = 0;

    while (sizes[i].size_class != p->size_class)
        i++;
    if (own[OPTION_MB].value == 0)
        own[OPTION_MB].value = sizes[i].mb;
    if (own[OPTION_ITERATIONS].value == 0)
        own[OPTION_ITERATIONS].value = sizes[i].iterations;
}

int main(int argc, char **argv)
{
    struct program_option own[] = {
        {"--mb", "megabytes of all arrays (S 12, W 96, A 768, B 3072)", 1,
         1 << 24, 0},
        {"--iterations", "passes over them per repetition (S 10, others 20)", 1,
         100000000, 0},
        {0},
    };
    struct program p = {
        .name = "stream",
        .summary = "Triad over large arrays; bound by memory bandwidth.",
        .options = own,
    };
    double *x[3], bytes;
    long steps = 0;
    size_t n;

    if (program_parse(&p, argc, argv))
        return p.status;
    size_from_class(&p, own);
    n = (size_t)own[OPTION_MB].value * 1000000 / sizeof(double) / 3;
    for (int k = 0; k < 3; k++)
        x[k] = program_alloc(&p, n, sizeof(double));
    fill(x, n);
    program_start(&p);
    do {
        for (long k = 0; k < own[OPTION_ITERATIONS].value; k++, steps++)
            step(x, n);
    } while (program_again(&p));
    verify(&p, x[0], n, steps);
    for (int k = 0; k < 3; k++)
        free(x[k]);
    /* As STREAM counts: what the program reads and writes, no more. */
    bytes = 3.0 * sizeof(double) * (double)n * (double)steps;
    return program_finish(&p, omp_get_max_threads(), "gb_per_s",
                          1e-9 * bytes / p.time);
}
