/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A short program: one region.
 *
 * usage: bench_start MS
 *
 * The threads compute about MS ms together, and the program ends. */

#include <stdio.h>
#include <stdlib.h>

enum { CHUNKS = 1000, TURNS = 500 }; /* a turn takes some 2 ns */

static void work(long n)
{
    double x = 1.0;

    for (long i = 0; i < n; i++)
        x = x * 0.999999 + 1e-9;
    __asm__ volatile("" : : "x"(x));
}

int main(int argc, char **argv)
{
    long n = argc == 2 ? TURNS * atol(argv[1]) : 0;

#pragma omp parallel for schedule(static)
    for (int i = 0; i < CHUNKS; i++)
        work(n);
    return 0;
}
