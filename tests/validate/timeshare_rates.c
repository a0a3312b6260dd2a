/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What simulator/timeshare.h says of a few programs, for check_timeshare.py. */

/* Usage: timeshare_rates CORES SLICE-S SPIN-S WAKE-S G-S...
 *        timeshare_rates --spin
 *
 * Prints one line for each G-S, the core time of a program's thread between two
 * barriers: how many times slower it is than alone on CORES.  SPIN-S may be
 * "inf".  --spin prints how long libgomp's 300,000 turns of spinning take
 * here. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simulator/timeshare.h"

#define MOST 8

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The loop of libgomp's do_spin(): a load, a comparison, a pause. */
static double spin_time(void)
{
    static volatile int word;
    double best = INFINITY;

    for (int round = 0; round < 9; round++) {
        double begin = now();
        for (int i = 0; i < 300000 && word == 0; i++)
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#else
            __asm volatile("" ::: "memory");
#endif
        best = fmin(best, now() - begin);
    }
    return best;
}

int main(int argc, char **argv)
{
    struct scenario_region region[MOST];
    struct timeshare_job job[MOST];
    struct timeshare_rate together[MOST], alone[1];

    if (argc == 2 && strcmp(argv[1], "--spin") == 0)
        return printf("%.6f\n", spin_time()) < 0;
    if (argc < 6 || argc > 5 + MOST) {
        fputs("usage: timeshare_rates CORES SLICE-S SPIN-S WAKE-S G-S...\n",
              stderr);
        return 2;
    }
    size_t cores = strtoul(argv[1], NULL, 10), count = (size_t)argc - 5;
    struct timeshare_params params =
        timeshare_params(TIMESHARE_DEFAULT, cores ? cores : 1);
    params.slice_s = params.min_slice_s = atof(argv[2]);
    params.spin_s = atof(argv[3]);
    params.wake_s = atof(argv[4]);
    for (size_t i = 0; i < count; i++) {
        region[i] = (struct scenario_region){
            .kind = REGION_PARALLEL, .barriers = 1, .llc_per_us = 20,
            .work_s = atof(argv[5 + i]) * (double)cores};
        job[i] = (struct timeshare_job){&region[i], cores, false};
    }
    struct timeshare_input input = {.params = &params, .cores = cores,
                                    .jobs = job, .count = count};
    if (timeshare_solve(&input, together) != MODEL_OK) {
        fputs("timeshare_rates: bad parameters\n", stderr);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        struct timeshare_input one = input;
        one.jobs = &job[i];
        one.count = 1;
        timeshare_solve(&one, alone);
        printf("%.3f\n", alone->speed / together[i].speed);
    }
    return 0;
}
