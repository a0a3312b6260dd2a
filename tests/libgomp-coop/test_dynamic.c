/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Dynamic, guided and runtime loops of all kinds: each iteration once, the last
 * value kept, monotonic schedules ascending.  Prints PASS.  Not for the stock
 * library: it overflows where a chunk times the step does.
 *
 * usage: test_dynamic [ROUNDS] */

#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5000 };

static unsigned char seen[N];
static volatile double sink;

/* The first failure is enough, and loops may not end after it. */
static void fail(const char *what)
{
    printf("FAIL: %s\n", what);
    exit(1);
}

static void work(int i)
{
    double x = 1.0;

    for (int n = i % 64 ? 20 : 2000; n > 0; n--)
        x = x * 0.999999 + 1e-9;
    sink = x;
}

static void mark(long i)
{
    if (i < 0 || i >= N || __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED))
        fail("an iteration was run twice, or is none");
    work((int) i);
}

static void expect(const char *what, int n)
{
    for (int i = 0; i < N; i++)
        if (seen[i] != (i < n)) {
            fail(what);
            break;
        }
    memset(seen, 0, sizeof seen);
}

#define PRAGMA(...) _Pragma(#__VA_ARGS__)

/* A loop of TYPE with N iterations: I from FIRST while I COMPARE STOP.  The
 * last arguments are the schedule. */
#define LOOP(type, first, compare, stop, step, n, ...)                        \
    do {                                                                      \
        type last = (first);                                                  \
        PRAGMA(omp parallel for lastprivate(last) schedule(__VA_ARGS__))      \
        for (type i = (first); i compare (stop); i += (step)) {               \
            mark((long) (i - (first)) / (long) (step));                       \
            last = i;                                                         \
        }                                                                     \
        expect(#type " " #step ": " #__VA_ARGS__, n);                         \
        if (last != (type) ((first) + (type) ((n) - 1) * (step)))             \
            fail("lastprivate " #type " " #step ": " #__VA_ARGS__);           \
    } while (0)

#define ULL unsigned long long
#define STEPS(...)                                                            \
    do {                                                                      \
        LOOP(int, 0, <, N, 1, N, __VA_ARGS__);                                \
        LOOP(int, 3 * N, >, 0, -3, N, __VA_ARGS__);                           \
        LOOP(long, LONG_MIN + 5, <, LONG_MIN + 5 + 7l * N, 7l, N,             \
             __VA_ARGS__);                                                    \
        LOOP(long, LONG_MAX - 7l, >, LONG_MAX - 7l - 7l * N, -7l, N,          \
             __VA_ARGS__);                                                    \
        LOOP(ULL, ULLONG_MAX - 2ull * N - 2, <, ULLONG_MAX - 2, 2ull, N,      \
             __VA_ARGS__);                                                    \
        LOOP(ULL, 0ull, <, 30ull << 58, 1ull << 58, 30, __VA_ARGS__);         \
        LOOP(ULL, 5ull * N, >, 0ull, -5ull, N, __VA_ARGS__);                  \
        LOOP(int, 0, <, 3, 1, 3, __VA_ARGS__);                                \
    } while (0)

static void steps(void)
{
    STEPS(dynamic);
    STEPS(dynamic, 7);
    STEPS(dynamic, 100000);
    STEPS(nonmonotonic: dynamic, 3);
    STEPS(monotonic: dynamic);
    STEPS(guided);
    STEPS(guided, 9);
    STEPS(nonmonotonic: guided);
}

static void runtime(void)
{
    static const omp_sched_t kinds[] = { omp_sched_dynamic, omp_sched_guided,
                                         omp_sched_static, omp_sched_auto };
    for (int k = 0; k < 4; k++)
        for (int chunk = 0; chunk < 20; chunk += 9) {
            omp_set_schedule(kinds[k], chunk);
            LOOP(int, 0, <, N, 1, N, runtime);
            LOOP(ULL, 0ull, <, (ULL) N, 1ull, N, nonmonotonic : runtime);
            LOOP(long, 0l, <, (long) N, 1l, N, monotonic : runtime);
        }
}

/* Each thread's iterations ascend. */
static void monotonic(void)
{
    omp_set_schedule((omp_sched_t) (omp_sched_dynamic | omp_sched_monotonic),
                     2);
#pragma omp parallel
    {
        int before = -1;
#pragma omp for schedule(monotonic : dynamic, 1) nowait
        for (int i = 0; i < N; i++) {
            if (i <= before)
                fail("monotonic: dynamic does not ascend");
            before = i;
            mark(i);
        }
#pragma omp barrier
#pragma omp single
        expect("monotonic: dynamic", N);
        before = -1;
#pragma omp for schedule(runtime)
        for (int i = 0; i < N; i++) {
            if (i <= before)
                fail("a monotonic runtime schedule does not ascend");
            before = i;
            mark(i);
        }
    }
    expect("monotonic runtime schedule", N);
}

/* More loops in flight than the team has work shares; different threads are in
 * different loops; each thread runs through all of them. */
static void nowait(void)
{
    static int count[40];

    memset(count, 0, sizeof count);
#pragma omp parallel
    for (int k = 0; k < 40; k++) {
        if (k % 3 == 0) {
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 100; i++)
                __atomic_fetch_add(&count[k], 1, __ATOMIC_RELAXED);
        } else if (k % 3 == 1) {
#pragma omp for schedule(guided) nowait
            for (int i = 0; i < 100; i++)
                __atomic_fetch_add(&count[k], 1, __ATOMIC_RELAXED);
        } else {
#pragma omp for ordered schedule(dynamic) nowait
            for (int i = 0; i < 100; i++) {
#pragma omp ordered
                if (count[k]++ != i)
                    fail("ordered loop out of order");
            }
        }
    }
    for (int k = 0; k < 40; k++)
        if (count[k] != 100)
            fail("a loop without wait is not complete");
}

static void nested(void)
{
    static int count;

    count = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel for schedule(dynamic) num_threads(3)
    for (int i = 0; i < 12; i++) {
#pragma omp parallel for schedule(dynamic) num_threads(4)
        for (int j = 0; j < 50; j++)
            __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    }
    if (count != 12 * 50)
        fail("nested dynamic loops");
}

static int orphan(int n)
{
    int sum = 0;
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

/* In tasks, out of regions, with reductions and bodies that block. */
static void places(void)
{
    int sum = orphan(10), total = 0, locked = 0, dependent = 0;

#pragma omp parallel reduction(+ : total)
    total += orphan(1000);
    if (sum != 45 || total != 499500)
        fail("orphaned loops");
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 500; i++) {
#pragma omp critical
        locked++;
    }
#pragma omp parallel for schedule(guided) reduction(task, + : dependent)
    for (int i = 0; i < 200; i++) {
#pragma omp task in_reduction(+ : dependent)
        dependent++;
    }
    if (locked != 500 || dependent != 200)
        fail("loops with critical sections or task reductions");
    static int chain[200];
    chain[0] = 1;
#pragma omp parallel for schedule(dynamic) ordered(1)
    for (int i = 1; i < 200; i++) {
#pragma omp ordered depend(sink : i - 1)
        chain[i] = chain[i - 1] + 1;
#pragma omp ordered depend(source)
    }
    if (chain[199] != 200)
        fail("doacross loop");
    memset(chain, 0, sizeof chain);
}

static void cancelled(void)
{
    for (int k = 0; k < 20; k++) {
        int after = 0;
#pragma omp parallel
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < N; i++) {
                if (i == 50) {
#pragma omp cancel for
                }
                work(i);
#pragma omp cancellation point for
            }
#pragma omp for schedule(dynamic) reduction(+ : after)
            for (int i = 0; i < 100; i++)
                after++;
        }
        if (after != 100)
            fail("a loop after a cancelled one");
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;

    for (int i = 0; i < rounds; i++) {
        steps();
        runtime();
        monotonic();
        nowait();
        nested();
        places();
        cancelled();
    }
    puts("PASS");
    return 0;
}
