/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* kmp_invoke hands any number of arguments on, and the stack stays aligned. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void (*body)(int *gtid, int *tid, ...);
void kmp_invoke(body fn, int *gtid, int *tid, long argc, void **argv);

enum { MOST = 13 };
static long got[MOST];
static int numbers, misaligned;

static void take(int *gtid, int *tid, long a, long b, long c, long d, long e,
                 long f, long g, long h, long i, long j, long k, long l, long m)
{
    long all[MOST] = {a, b, c, d, e, f, g, h, i, j, k, l, m};
    char aligned[16] __attribute__((aligned(16)));
    memcpy(got, all, sizeof got);
    numbers = *gtid * 10 + *tid;
    __asm__ volatile("" : : "r"(aligned) : "memory");
    misaligned += (uintptr_t)__builtin_frame_address(0) % 16 != 0;
}

int main(void)
{
    int gtid = 3, tid = 4, bad = 0;
    void *argv[MOST];

    for (intptr_t i = 0; i < MOST; i++)
        argv[i] = (void *)(i + 100);
    for (long n = 0; n <= MOST; n++) {
        memset(got, 0, sizeof got);
        kmp_invoke((body)take, &gtid, &tid, n, argv);
        for (long i = 0; i < n; i++)
            bad += got[i] != i + 100;
        bad += numbers != 34;
    }
    printf("%s: %d wrong, %d misaligned\n", bad || misaligned ? "FAIL" : "PASS",
           bad, misaligned);
    return bad || misaligned;
}
