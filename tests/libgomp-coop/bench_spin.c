/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Threads that wait for each other without telling the runtime.
 *
 * usage: bench_spin flags|cancel|lock STEPS US
 *
 *   flags   the pipelined solver of NPB LU: thread i does step k of its part
 *           when thread i - 1 has done its own, and is at most one step ahead
 *           of thread i + 1; it waits in a loop with a flush
 *   cancel  the same, with a cancellation point in the loop
 *   lock    each step is done with a lock, which omp_test_lock is asked for
 * again and again A step takes US microseconds divided by the size of the team.
 * Prints PASS and milliseconds. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 4096 };

enum way { FLAGS, CANCEL, LOCK };

/* Does the right neighbour still have something to take? */
static struct {
    volatile int full;
    volatile long sum;
    char line[112];
} part[THREADS_MAX];

static omp_lock_t lock;
static long turns; /* of the work loop in a microsecond */

static void work(long n)
{
    double x = 1.0;

    for (long i = 0; i < n; i++)
        x = x * 0.999999 + 1e-9;
    __asm__ volatile("" : : "x"(x));
}

static void calibrate(void)
{
    double best = 1e9;

    for (int i = 0; i < 20; i++) {
        double begin = omp_get_wtime();

        work(20000);
        if (omp_get_wtime() - begin < best)
            best = omp_get_wtime() - begin;
    }
    turns = (long)(20000 / (best * 1e6));
}

static void wait_until(int i, int full, enum way way)
{
    if (way == FLAGS)
        while (part[i].full != full) {
#pragma omp flush
        }
    else
#pragma omp taskgroup
#pragma omp task if (0)
        while (part[i].full != full) {
#pragma omp cancellation point taskgroup
        }
#pragma omp flush
}

static int solve_locked(int steps, double us)
{
    long sum = 0;

#pragma omp parallel
    for (int k = 1; k <= steps; k++) {
        while (!omp_test_lock(&lock)) {
        }
        work((long)((double)turns * us / omp_get_num_threads()));
        sum++;
        omp_unset_lock(&lock);
    }
    return sum != (long)steps * omp_get_max_threads();
}

static int solve(int steps, double us, enum way way)
{
    int wrong = 0;

#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        long n = (long)((double)turns * us / team);

        for (int k = 1; k <= steps; k++) {
            if (me > 0) {
                wait_until(me - 1, 1, way);
                wrong += part[me - 1].sum != k;
                part[me - 1].full = 0;
#pragma omp flush
            }
            work(n);
            if (me < team - 1) {
                wait_until(me, 0, way);
                part[me].sum = k;
#pragma omp flush
                part[me].full = 1;
#pragma omp flush
            }
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"flags", "cancel", "lock"};
    int way = 0;

    if (argc != 4)
        return 2;
    while (way < 3 && strcmp(ways[way], argv[1]) != 0)
        way++;
    if (way == 3)
        return 2;
    omp_init_lock(&lock);
    calibrate();
    double begin = omp_get_wtime();
    int wrong = way == LOCK
                    ? solve_locked(atoi(argv[2]), atof(argv[3]))
                    : solve(atoi(argv[2]), atof(argv[3]), (enum way)way);
    printf("%s %.1f\n", wrong ? "FAIL" : "PASS",
           (omp_get_wtime() - begin) * 1e3);
    return wrong != 0;
}
