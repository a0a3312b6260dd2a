/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* One long parallel region with a static loop: nothing to stop at inside. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    long wrong = 0;

    if (argc > 2 || seconds <= 0) {
        fprintf(stderr, "usage: static_region [SECONDS > 0]\n");
        return 2;
    }
#pragma omp parallel reduction(+ : wrong)
    {
        double end = omp_get_wtime() + seconds;
        long n = 0, sum = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < omp_get_num_threads(); i++)
            while (omp_get_wtime() < end) {
                n++;
                sum += n & 1;
            }
        wrong += sum != (n + 1) / 2;
    }
    puts(wrong ? "FAIL" : "PASS");
    return wrong != 0;
}
