/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Programs of test_agent_follow.py, by macros: what makes a program follow or not.
 *
 *   REGION    two threads in a parallel region; else two POSIX threads
 *   AFFINITY  imports pthread_setaffinity_np
 *   OPENMP    OpenMP's runtime is used, without a region
 *   OWN       a symbol of a libgomp of the test's own
 *
 * They say so when they are there, and wait for their end. */

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#ifdef AFFINITY
#include <sched.h>
#endif
#ifdef OPENMP
#include <omp.h>
#endif
#ifdef OWN
void GOMP_parallel_from_the_future(void);
#endif

#ifndef REGION
static void *wait_for_end(void *arg)
{
    for (;;)
        pause();
    return arg;
}
#endif

int main(void)
{
#ifdef AFFINITY
    cpu_set_t set;
    if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) == 0)
        pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
#endif
#ifdef OPENMP
    printf("%d threads\n", omp_get_max_threads());
#endif
#ifdef OWN
    GOMP_parallel_from_the_future();
#endif
#ifdef REGION
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp master
        {
            puts("ready");
            fflush(stdout);
        }
        for (;;)
            pause();
    }
#else
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, wait_for_end, NULL);
    puts("ready");
    fflush(stdout);
    wait_for_end(NULL);
#endif
}
