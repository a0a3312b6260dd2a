/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What many OpenMP threads cost: time of the first region with them, of the
 * next ones, and memory.
 *
 * usage: bench_donors [THREADS]
 *
 * Prints one line:
 * donors threads N first_ms T next_ms T user_kb_each K kernel_kb_each K
 *
 * first_ms is the first region with N threads, in a process whose runtime runs
 * already; next_ms the median of the following ones.  user_kb_each is the
 * growth of resident memory for each thread, kernel_kb_each what the kernel
 * says it needs for the stacks of all threads on the machine. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/median.h"

enum { ROUNDS = 21 };

/* The number after NAME in FILE, in kB. */
static long number_of(const char *path, const char *name)
{
    char line[256];
    long value = -1;
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static double region_ms(int threads)
{
    double begin = omp_get_wtime();
    int count = 0;

#pragma omp parallel num_threads(threads) reduction(+ : count)
    count++;
    if (count != threads) {
        fprintf(stderr, "bench_donors: %d threads instead of %d\n", count, threads);
        exit(1);
    }
    return (omp_get_wtime() - begin) * 1e3;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1440;
    double first, next[ROUNDS];
    long user, kernel;

    if (threads < 2) {
        fprintf(stderr, "usage: bench_donors [THREADS]\n");
        return 2;
    }
    region_ms(2);
    user = number_of("/proc/self/status", "VmRSS:");
    kernel = number_of("/proc/meminfo", "KernelStack:");
    first = region_ms(threads);
    user = number_of("/proc/self/status", "VmRSS:") - user;
    kernel = number_of("/proc/meminfo", "KernelStack:") - kernel;
    for (int i = 0; i < ROUNDS; i++)
        next[i] = region_ms(threads);
    printf("donors threads %d first_ms %.1f next_ms %.3f user_kb_each %.1f kernel_kb_each %.1f\n",
           threads, first, median(next, ROUNDS), (double)user / threads, (double)kernel / threads);
    return 0;
}
