/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Regions and barriers, for a test that stops one of the workers.
 *
 * usage: test_lost REGIONS BARRIERS
 *
 * Prints "ready" after a first region, waits for a line on stdin, and then has
 * REGIONS regions, each with BARRIERS barriers. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int regions = atoi(argc > 1 ? argv[1] : "1"), barriers = atoi(argc > 2 ? argv[2] : "0");
    int team = 0;
    long arrived = 0, wrong = 0;

#pragma omp parallel
#pragma omp single
    team = omp_get_num_threads();
    puts("ready");
    fflush(stdout);
    getchar();
    for (int i = 0; i < regions; i++) {
#pragma omp parallel reduction(+ : wrong)
        for (int j = 0; j <= barriers; j++) {
            long all = ((long)i * (barriers + 1) + j + 1) * team;

#pragma omp atomic
            arrived++;
#pragma omp barrier
            long seen;
#pragma omp atomic read
            seen = arrived;
            wrong += seen < all || seen > all + team;
        }
    }
    puts(wrong || arrived != (long)regions * (barriers + 1) * team ? "FAIL" : "PASS");
    return 0;
}
