/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* When does a program last work on a CPU that is taken from it, and when first
 * on one that it gets?
 *
 * usage: bench_moves static|dynamic FILE
 *
 * FILE, which is mapped, has for each CPU two 8-byte CLOCK_MONOTONIC times in
 * ns, 64 bytes apart: that of the last work done there, and that of the first
 * after a pause of more than a millisecond.  bench-runtime reads them.  Prints
 * "ready" once the region runs and ends when stdin does. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CPUS_MAX = 1024, PAUSE_NS = 1000000 };

struct slot {
    uint64_t last;
    uint64_t first;
    char pad[48];
};

static struct slot *slots;
static volatile bool stopping;

static void *read_stop(void *unused)
{
    (void)unused;
    while (getchar() != EOF)
        ;
    stopping = true;
    return NULL;
}

/* About a microsecond of work, of which is told: with a time that was taken
 * on that CPU, for a thread may be moved at any instruction, and wait long in
 * another CPU's queue before the next one. */
static void work(void)
{
    double x = 1.0;
    struct timespec ts;
    uint64_t now;
    int cpu = sched_getcpu();

    clock_gettime(CLOCK_MONOTONIC, &ts);
    now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    if (cpu >= 0 && cpu < CPUS_MAX && sched_getcpu() == cpu) {
        uint64_t last = __atomic_exchange_n(&slots[cpu].last, now, __ATOMIC_RELAXED);

        if (now > last && now - last > PAUSE_NS)
            __atomic_store_n(&slots[cpu].first, now, __ATOMIC_RELAXED);
    }
    for (int i = 0; i < 500; i++)
        x = x * 0.999999 + 1e-9;
    __asm__ volatile("" : : "x"(x));
}

static void ready(void)
{
    puts("ready");
    fflush(stdout);
}

/* Nothing to stop at until the end. */
static void run_static(void)
{
#pragma omp parallel
    {
#pragma omp single nowait
        ready();
        while (!stopping)
            work();
    }
}

static void run_dynamic(void)
{
    enum { COUNT = 100000, CHUNK = 16 };

    bool go = true;

    ready();
#pragma omp parallel
    while (go) {
#pragma omp for schedule(dynamic, CHUNK)
        for (int i = 0; i < COUNT; i++)
            if (!stopping)
                work();
#pragma omp single
        go = !stopping;
    }
}

int main(int argc, char **argv)
{
    pthread_t reader;
    int fd = argc == 3 ? open(argv[2], O_RDWR) : -1;

    if (fd < 0) {
        fprintf(stderr, "usage: bench_moves static|dynamic FILE\n");
        return 2;
    }
    slots = mmap(NULL, CPUS_MAX * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (slots == MAP_FAILED || pthread_create(&reader, NULL, read_stop, NULL) != 0) {
        perror("bench_moves");
        return 1;
    }
    if (strcmp(argv[1], "static") == 0)
        run_static();
    else
        run_dynamic();
    pthread_join(reader, NULL);
    return 0;
}
