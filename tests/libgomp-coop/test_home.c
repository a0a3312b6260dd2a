/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Programs whose initial thread must stay on its kernel thread.
 *
 * usage: test_home regions|spin|threads
 *
 * Runs until a line comes on stdin and prints "away N", the number of times
 * that the initial thread found itself elsewhere, and PASS or FAIL.  Compiled
 * with HOME_MPI it imports MPI_Init_thread, which with HOME_LIBRARY the file
 * provides. */

#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined HOME_MPI || defined HOME_LIBRARY
extern int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
#endif

#ifdef HOME_LIBRARY

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    *provided = required;
    return *argc == 0 && *argv != NULL;
}

#else

#include "driven.h"

static int away;

static void look(int me)
{
    if (me == 0)
        away += gettid() != getpid();
}

static void compute(int steps)
{
    for (volatile int i = 0; i < steps; i++)
        ;
}

/* All that may move a task: barriers, loops, tasks, locks, nested teams. */
static bool run_regions(void)
{
    long sum = 0, wanted = 0;

    omp_set_max_active_levels(2);
    for (int round = 0; !stopping; round++) {
#pragma omp parallel reduction(+ : sum)
        {
            int me = omp_get_thread_num();

            look(me);
#pragma omp for schedule(dynamic, 3)
            for (int i = 0; i < 200; i++) {
                look(me);
                compute(200);
                sum++;
            }
            look(me);
#pragma omp single
            {
                for (int i = 0; i < 20; i++)
#pragma omp task
                {
                    compute(300);
                    look(omp_get_thread_num());
                }
            }
            look(me);
#pragma omp critical
            {
                compute(50);
                look(me);
#pragma omp taskyield
                look(me);
            }
#pragma omp parallel num_threads(2) reduction(+ : sum) if (me < 2)
            {
                look(me + omp_get_thread_num());
                compute(100);
            }
            look(me);
#pragma omp for ordered schedule(static, 1)
            for (int i = 0; i < 12; i++) {
#pragma omp ordered
                look(me);
            }
        }
        look(0);
        wanted += 200;
        if (round == 0)
            ready();
    }
    return sum == wanted;
}

/* Each waits in turn for its neighbour, without any scheduling point, and the
 * barrier between has everybody change places. */
static bool run_spin(void)
{
    static volatile int turn;
    int rounds = 0;
    bool go = true;

#pragma omp parallel
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();

        while (go) {
            while (turn != me)
                ;
            look(me);
            turn = me + 1;
            if (me == 0) {
                while (turn != n)
                    ;
                look(me);
                turn = 0;
                rounds++;
                if (rounds == 1)
                    ready();
                go = !stopping;
            }
#pragma omp barrier
        }
    }
    return rounds > 0;
}

static void *team_of_its_own(void *result)
{
    long sum = 0, wanted = 0;

    while (!stopping) {
#pragma omp parallel num_threads(4) reduction(+ : sum)
        {
#pragma omp barrier
            sum += omp_get_thread_num();
        }
        wanted += 6;
    }
    *(bool *)result = sum == wanted && wanted > 0;
    return NULL;
}

/* Threads of the program's own have teams at the same time. */
static bool run_threads(void)
{
    enum { COUNT = 3 };
    pthread_t threads[COUNT];
    bool good[COUNT + 1], all = true;

    for (int i = 0; i < COUNT; i++)
        if (pthread_create(&threads[i], NULL, team_of_its_own, &good[i]) != 0)
            return false;
    ready();
    team_of_its_own(&good[COUNT]);
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i <= COUNT; i++)
        all &= good[i];
    return all;
}

int main(int argc, char **argv)
{
    const char *name = argc == 2 ? argv[1] : "";
    pthread_t reader;
    bool good;

#ifdef HOME_MPI
    int none = 0, provided;

    if (MPI_Init_thread(&none, &argv, 1, &provided) != 1)
        return 1;
#endif
    if (pthread_create(&reader, NULL, read_stop, NULL) != 0)
        return 1;
    if (strcmp(name, "regions") == 0)
        good = run_regions();
    else if (strcmp(name, "spin") == 0)
        good = run_spin();
    else if (strcmp(name, "threads") == 0)
        good = run_threads();
    else
        return 2;
    pthread_join(reader, NULL);
    printf("away %d\n", away);
    puts(good ? "PASS" : "FAIL");
    return !good;
}

#endif
