/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Threads that wait for each other in ways the runtime does not see, or hardly.
 *
 * usage: test_spin WAY ROUNDS | sleep MS | compute TRIES
 *
 *   pipeline  each thread spins until its right neighbour has done the round
 *   regions   the same, a region for each round
 *   cancellation-point, taskyield, critical, clock
 *             as pipeline, with that in the loop
 *   locked    two threads, each of which has a lock that the other wants; one blocks, the
 *             other asks again and again
 *   pipe      odd threads read from a pipe what even ones write later
 *   sleep     one thread sleeps, the others compute
 *   compute   all just compute, once for long; then no more kernel threads do so than there
 *             are CPUs, in one of TRIES regions
 * Prints PASS and how many milliseconds it took. */

#define _GNU_SOURCE
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../common/clock.h"

enum { THREADS_MAX = 4096 };

static struct {
    int round;
    char line[60];
} done[THREADS_MAX];

static int wrong;
static enum { SPINNING, BY_CANCELLATION_POINT, BY_TASKYIELD, BY_CRITICAL, BY_CLOCK } waits;
static long looks;
static omp_lock_t first, second;

static bool has_done(int thread, int round)
{
    return __atomic_load_n(&done[thread].round, __ATOMIC_ACQUIRE) >= round;
}

static void spin_until(int thread, int round)
{
    if (waits == BY_CANCELLATION_POINT) {
#pragma omp taskgroup
#pragma omp task if (0)
        while (!has_done(thread, round)) {
#pragma omp cancellation point taskgroup
        }
    }
    while (!has_done(thread, round)) {
        if (waits == BY_TASKYIELD) {
#pragma omp taskyield
        } else if (waits == BY_CRITICAL) {
#pragma omp critical
            looks++;
        } else if (waits == BY_CLOCK && omp_get_wtime() < 0) {
            wrong = 1;
        }
    }
}

/* Round ROUND of the current thread, after its right neighbour's, which begins
 * later; the last thread waits for the first one's round before. */
static void step(int round)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();

    spin_until((me + 1) % team, me == team - 1 ? round - 1 : round);
    if (done[me].round != round - 1)
        wrong = 1;
    __atomic_store_n(&done[me].round, round, __ATOMIC_RELEASE);
}

static void pipeline(int rounds)
{
#pragma omp parallel
    for (int i = 1; i <= rounds; i++)
        step(i);
}

static void regions(int rounds)
{
    for (int i = 1; i <= rounds; i++) {
#pragma omp parallel
        step(i);
    }
}

/* Thread 1 waits for SECOND, which thread 0 gives back before it asks for FIRST. */
static void locked(int rounds)
{
    omp_init_lock(&first);
    omp_init_lock(&second);
#pragma omp parallel
    for (int i = 0; i < rounds; i++) {
        int me = omp_get_thread_num();

        if (me < 2)
            omp_set_lock(me ? &first : &second);
#pragma omp barrier
        if (me == 1) {
            omp_set_lock(&second);
            omp_unset_lock(&second);
            omp_unset_lock(&first);
        } else if (me == 0) {
            omp_unset_lock(&second);
            while (!omp_test_lock(&first)) {
            }
            omp_unset_lock(&first);
        }
#pragma omp barrier
    }
}

/* The first half of the team reads, so it begins first. */
static void pipes(int rounds)
{
    static int fd[THREADS_MAX][2];
    int half = omp_get_max_threads() / 2;

    for (int i = 0; i < half; i++)
        if (pipe(fd[i]))
            exit(1);
    for (int r = 0; r < rounds; r++) {
#pragma omp parallel num_threads(2 * half)
        {
            int me = omp_get_thread_num();
            char c = 0;
            if (me < half ? read(fd[me][0], &c, 1) != 1
                          : write(fd[me - half][1], "x", 1) != 1)
                wrong = 1;
        }
    }
}

/* How long the others were kept waiting by one that sleeps. */
static double sleeper(int ms)
{
    double begin = omp_get_wtime(), last = begin;

#pragma omp parallel
    {
        if (omp_get_thread_num() == 0)
            usleep((useconds_t) ms * 1000);
        else {
#pragma omp critical
            if (omp_get_wtime() > last)
                last = omp_get_wtime();
        }
    }
    return last - begin;
}

/* By how many kernel threads the team's tasks, each of which computes for MS, are run. */
static int kernel_threads(unsigned ms)
{
    static pid_t tid[THREADS_MAX];
    int team = omp_get_max_threads(), count = 0;

#pragma omp parallel
    {
        uint64_t end = clock_cpu_ns() + ms * NS_PER_MS;

        while (clock_cpu_ns() < end) {
        }
        tid[omp_get_thread_num()] = gettid();
    }
    for (int i = 0; i < team; i++) {
        int j = 0;

        while (tid[j] != tid[i])
            j++;
        count += j == i;
    }
    return count;
}

static void compute(int tries)
{
    wrong = kernel_threads(200) <= omp_get_num_procs();
    while (!wrong && kernel_threads(20) > omp_get_num_procs())
        wrong = tries-- == 0;
}

/* Is WAY one of those, each in its way? */
static bool is_pipeline(const char *way)
{
    static const char *const ways[] = {"pipeline", "cancellation-point", "taskyield",
                                       "critical", "clock"};

    for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (strcmp(way, ways[i]) == 0) {
            waits = i;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int n = atoi(argv[2]);
    double begin = omp_get_wtime(), took = -1;

    if (is_pipeline(argv[1]))
        pipeline(n);
    else if (strcmp(argv[1], "locked") == 0)
        locked(n);
    else if (strcmp(argv[1], "regions") == 0)
        regions(n);
    else if (strcmp(argv[1], "pipe") == 0)
        pipes(n);
    else if (strcmp(argv[1], "compute") == 0)
        compute(n);
    else
        took = sleeper(n);
    if (took < 0)
        took = omp_get_wtime() - begin;
    printf("%s %.1f\n", wrong ? "FAIL" : "PASS", took * 1e3);
    return wrong;
}
