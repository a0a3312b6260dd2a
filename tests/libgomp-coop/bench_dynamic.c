/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What dynamic and guided loops cost, one line "NAME MICROSECONDS" each.
 *
 * Bodies of 0.1, 1 and 10 us, and irregular ones (from 0.1 to 20 us, the long
 * ones at the end); chunks of 1, 16 and 256.  Printed is the best of a few
 * rounds, since other load can only lengthen them.  Run it with either library
 * and compare. */

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, ALL_US = 8000 };

/* About, so that both libraries do the same work: only ratios count. */
enum { TURNS_PER_US = 400 };

static volatile double sink;

static void work(double us)
{
    double x = 1.0;

    for (long i = (long) (us * TURNS_PER_US); i > 0; i--)
        x = x * 0.999999 + 1e-9;
    sink = x;
}

/* How long iteration I of N takes, if the body is called NAME. */
static double body_us(const char *name, int i, int n)
{
    if (strcmp(name, "irregular") == 0)
        return 0.1 + 20.0 * pow((double) i / n, 4);
    return atof(name);
}

static double loop(omp_sched_t schedule, int chunk, const double *us, int n)
{
    omp_set_schedule(schedule, chunk);
    double begin = omp_get_wtime();
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < n; i++)
        work(us[i]);
    return (omp_get_wtime() - begin) * 1e6;
}

int main(void)
{
    static const char *const bodies[] = { "0.1", "1", "10", "irregular" };
    static const int chunks[] = { 1, 16, 256 };

    for (int b = 0; b < 4; b++) {
        int n = b == 3 ? ALL_US / 4 : (int) (ALL_US / atof(bodies[b]));
        double *us = malloc((size_t) n * sizeof *us);
        if (!us)
            return 1;
        for (int i = 0; i < n; i++)
            us[i] = body_us(bodies[b], i, n);
        for (int c = 0; c < 6; c++) {
            omp_sched_t s = c < 3 ? omp_sched_dynamic : omp_sched_guided;
            double best = 1e12;
            for (int i = 0; i < ROUNDS; i++) {
                double took = loop(s, chunks[c % 3], us, n);
                if (took < best)
                    best = took;
            }
            printf("%s,%d,%s %.1f\n", c < 3 ? "dynamic" : "guided",
                   chunks[c % 3], bodies[b], best);
        }
        free(us);
    }
    return 0;
}
