/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Shapes of real programs, each with a result that it checks.
 *
 * test_shapes SHAPE [THREADS]: prints PASS, or FAIL and what is wrong. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 300, CELLS = 20000 };

static int failures;

static void expect(int good, const char *what, long got, long wanted)
{
    if (good)
        return;
    printf("FAIL %s: %ld, not %ld\n", what, got, wanted);
    failures++;
}

/* One region that is the whole run: loops, barriers and single inside it. */
static void whole_run(void)
{
    static long cell[CELLS];
    long total = 0, steps = 0;

#pragma omp parallel
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp for schedule(static)
        for (int i = 0; i < CELLS; i++)
            cell[i] += i % 7 + round;
#pragma omp single
        steps++;
#pragma omp for reduction(+ : total)
        for (int i = 0; i < CELLS; i++)
            total += cell[i] & 1;
    }
    expect(steps == ROUNDS, "steps", steps, ROUNDS);
    long sum = 0;
    for (int i = 0; i < CELLS; i++)
        sum += cell[i];
    long wanted = (long)CELLS * ROUNDS * (ROUNDS - 1) / 2;
    for (int i = 0; i < CELLS; i++)
        wanted += (long)ROUNDS * (i % 7);
    expect(sum == wanted, "sum", sum, wanted);
}

/* 65 fine-grained regions, again and again, with atomics. */
static void fine_regions(void)
{
    enum { REGIONS = 65, CALLS = 150 };
    static long count[REGIONS];
    long threads = omp_get_max_threads();

    for (int call = 0; call < CALLS; call++)
        for (int r = 0; r < REGIONS; r++) {
#pragma omp parallel
#pragma omp atomic
            count[r]++;
        }
    for (int r = 0; r < REGIONS; r++)
        expect(count[r] == CALLS * threads, "atomic", count[r], CALLS * threads);
}

/* Tasks that one thread makes, others taking part. */
static long tree(int depth)
{
    long left, right;

    if (depth == 0)
        return 1;
#pragma omp task shared(left)
    left = tree(depth - 1);
#pragma omp task shared(right)
    right = tree(depth - 1);
#pragma omp taskwait
    return left + right;
}

static void single_tasks(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        long leaves = 0;
#pragma omp parallel
#pragma omp single
        leaves = tree(9);
        expect(leaves == 512, "leaves", leaves, 512);
    }
}

/* omp_set_num_threads() from the command line overrides the environment. */
static void command_line(int threads)
{
    omp_set_num_threads(threads);
    for (int round = 0; round < ROUNDS; round++) {
        long members = 0, team = 0;
#pragma omp parallel reduction(+ : members)
        {
            members++;
#pragma omp master
            team = omp_get_num_threads();
        }
        expect(team == threads && members == threads, "team", members, threads);
    }
}

/* An array with a place per thread, sized before the region by COUNT. */
static void sized(const char *name, int count)
{
    long *place = calloc((size_t)count, sizeof *place);
    int beyond = 0;

    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel reduction(+ : beyond)
        if (omp_get_thread_num() < count)
            place[omp_get_thread_num()]++;
        else
            beyond++;
    }
    expect(beyond == 0, name, beyond, 0);
    for (int i = 0; i < count && i < omp_get_max_threads(); i++)
        expect(place[i] == ROUNDS, name, place[i], ROUNDS);
    free(place);
}

/* What threads keep between regions, while the team stays as it is. */
static long kept;
#pragma omp threadprivate(kept)

static void threadprivate(void)
{
    long wrong = 0;

    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel reduction(+ : wrong)
        {
            wrong += round && kept != round * 1000L + omp_get_thread_num();
            kept = (round + 1) * 1000L + omp_get_thread_num();
        }
    }
    expect(wrong == 0, "threadprivate", wrong, 0);
}

/* Serial for long before the first region, and between two. */
static void serial_start(void)
{
    volatile double x = 1;
    long members = 0;

    for (int phase = 0; phase < 2; phase++) {
        clock_t end = clock() + CLOCKS_PER_SEC / 5;
        while (clock() < end)
            for (int i = 0; i < 1000; i++)
                x = x * 0.999999 + 1e-9;
#pragma omp parallel reduction(+ : members)
        members++;
    }
    expect(members == 2L * omp_get_max_threads(), "members", members,
           2L * omp_get_max_threads());
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "";

    if (!strcmp(shape, "whole-run"))
        whole_run();
    else if (!strcmp(shape, "fine-regions"))
        fine_regions();
    else if (!strcmp(shape, "single-tasks"))
        single_tasks();
    else if (!strcmp(shape, "command-line"))
        command_line(argc > 2 ? atoi(argv[2]) : 5);
    else if (!strcmp(shape, "sized-by-maximum"))
        sized(shape, omp_get_max_threads());
    else if (!strcmp(shape, "sized-by-request"))
        sized(shape, atoi(getenv("OMP_NUM_THREADS")));
    else if (!strcmp(shape, "sized-by-cpus"))
        sized(shape, omp_get_num_procs());
    else if (!strcmp(shape, "threadprivate"))
        threadprivate();
    else if (!strcmp(shape, "serial-start"))
        serial_start();
    else {
        printf("FAIL %s: no such shape\n", shape);
        return 2;
    }
    if (!failures)
        puts("PASS");
    return failures != 0;
}
