/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What OpenMP's constructs cost, one line "NAME MICROSECONDS" each.
 *
 * Each construct is timed in batches long enough for the clock; printed is the
 * median of the batches.  Run by bench-standalone with either library. */

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "../support/median.h"

enum { BATCHES = 31 };

/* Long enough to be seen beside the construct, short enough not to hide it. */
enum { WORK = 40 };

static volatile double sink;

static void work(int n)
{
    double x = 1.0;

    for (int i = 0; i < n; i++)
        x = x * 0.999999 + 1e-9;
    sink = x;
}

static void region(int n)
{
    for (int i = 0; i < n; i++) {
#pragma omp parallel
        __asm__ volatile("");
    }
}

static void barrier(int n)
{
#pragma omp parallel
    for (int i = 0; i < n; i++) {
#pragma omp barrier
    }
}

static void static_loop(int n)
{
    for (int i = 0; i < n; i++) {
#pragma omp parallel for schedule(static)
        for (int j = 0; j < 64; j++)
            work(WORK);
    }
}

static void dynamic_loop(int n)
{
    for (int i = 0; i < n; i++) {
#pragma omp parallel for schedule(dynamic, 16)
        for (int j = 0; j < 1024; j++)
            work(WORK);
    }
}

static void critical(int n)
{
#pragma omp parallel
    for (int i = 0; i < n; i++) {
#pragma omp critical
        sink += 1.0;
    }
}

static void tasks(int n)
{
    for (int i = 0; i < n; i++) {
#pragma omp parallel
#pragma omp single
        for (int j = 0; j < 100; j++) {
#pragma omp task
            work(WORK);
        }
    }
}

static void nested(int n)
{
    omp_set_max_active_levels(2);
    for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
        __asm__ volatile("");
    }
    omp_set_max_active_levels(1);
}

static const struct {
    const char *name;
    void (*run)(int n);
    int n; /* times in a batch */
} benches[] = {
    {"region", region, 200},
    {"barrier", barrier, 1000},
    {"static-loop", static_loop, 100},
    {"dynamic-loop", dynamic_loop, 10},
    {"critical", critical, 2000},
    {"tasks-100", tasks, 10},
    {"nested-2x2", nested, 20},
};

/* Microseconds for one RUN: median over the batches, the first one unmeasured. */
static double measure(void (*run)(int n), int n)
{
    double us[BATCHES];

    run(n);
    for (int i = 0; i < BATCHES; i++) {
        double start = omp_get_wtime();

        run(n);
        us[i] = (omp_get_wtime() - start) * 1e6 / n;
    }
    return median(us, BATCHES);
}

int main(int argc, char **argv)
{
    int printed = 0;

    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        if (argc > 1 && strcmp(argv[1], benches[i].name) != 0)
            continue;
        printf("%s %.4f\n", benches[i].name, measure(benches[i].run, benches[i].n));
        fflush(stdout);
        printed++;
    }
    if (!printed)
        fprintf(stderr, "bench_overhead: %s: no such construct\n", argv[1]);
    return printed ? 0 : 2;
}
