/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Threads as other people's software has them, until killed: of MPI ranks, of a
 * library for linear algebra, of a virtual machine. */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static _Atomic long *shared; /* of all processes */
static long count;           /* of ranks or threads */

static void compute(void)
{
    volatile double sum = 0;

    for (int i = 0; i < 200000; i++)
        sum += i * 1e-9;
    (void)sum;
}

static void start_thread(void *(*run)(void *), long number)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, (void *)number) != 0)
        exit(1);
    pthread_detach(thread);
}

/* Ranks wait for messages by looking, again and again. */
static void ranks(void)
{
    long rank = 0;

    for (; rank + 1 < count && fork() != 0; rank++)
        ;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        while (atomic_load(shared) % count != rank)
            ;
        compute();
        atomic_fetch_add(shared, 1);
    }
}

/* Threads of such a library spin for the next call, yielding. */
static void *pool_thread(void *arg)
{
    long turn = 0;

    for (;;) {
        while (atomic_load(shared) == turn)
            sched_yield();
        turn = atomic_load(shared);
        compute();
    }
    return arg;
}

static void pool(void)
{
    for (long i = 1; i < count; i++)
        start_thread(pool_thread, i);
    for (;;) {
        atomic_fetch_add(shared, 1);
        compute();
    }
}

/* Threads that come and go, and others that sleep most of the time, in a process
 * whose first thread only waits. */
static void *short_lived(void *arg)
{
    compute();
    return arg;
}

static void *maker(void *arg)
{
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_lived, arg) == 0)
            pthread_join(thread, NULL);
    }
    return NULL;
}

static void *sleeper(void *arg)
{
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

    for (;;) {
        nanosleep(&pause, NULL);
        compute();
    }
    return arg;
}

static void machine(void)
{
    for (long i = 0; i < count; i++) {
        start_thread(maker, i);
        start_thread(sleeper, i);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    count = argc == 3 ? atol(argv[2]) : 0;
    if (shared == MAP_FAILED || count < 1)
        return 2;
    if (strcmp(argv[1], "ranks") == 0)
        ranks();
    else if (strcmp(argv[1], "pool") == 0)
        pool();
    else if (strcmp(argv[1], "machine") == 0)
        machine();
    fprintf(stderr, "usage: standin ranks|pool|machine COUNT\n");
    return 2;
}
