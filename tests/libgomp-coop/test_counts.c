/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A program whose regions, barriers and iterations are known (test_counts.py).
 *
 * usage: test_counts REGIONS
 *
 * Runs two regions once and says that it is ready; when a line comes on stdin, runs them
 * REGIONS times in turns and says that it is done; ends at the next line. */

#include <stdio.h>
#include <stdlib.h>

#include "driven.h"

#define ITERATIONS 60

static int done;

static void meet(void)
{
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp barrier
#pragma omp barrier
    }
}

static void deal(void)
{
#pragma omp parallel for schedule(dynamic) reduction(+ : done)
    for (int i = 0; i < ITERATIONS; i++)
        done++;
}

int main(int argc, char **argv)
{
    int regions = argc > 1 ? atoi(argv[1]) : 0;

    meet();
    deal();
    ready();
    read_stop(NULL);
    for (int i = 0; i < regions; i++) {
        meet();
        deal();
    }
    puts("done");
    fflush(stdout);
    read_stop(NULL);
    puts(done == (regions + 1) * ITERATIONS ? "PASS" : "FAIL");
    return 0;
}
