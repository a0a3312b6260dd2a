/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* OpenMP programs for the runtime's tests; each checks its own result.
 *
 * usage: probe NAME
 *
 * Prints "ready" once its region runs, goes on until a line comes on stdin (or
 * stdin ends), and prints PASS or FAIL. */

#define _GNU_SOURCE

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driven.h"

static int private_number;
#pragma omp threadprivate(private_number)

/* A computation whose result tells how many steps it made and that none was
 * disturbed. */
static uint64_t step(uint64_t x)
{
    return x * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t steps(uint64_t x, uint64_t n)
{
    while (n-- > 0)
        x = step(x);
    return x;
}

/* Long static region: no scheduling point until it ends. */
static bool run_static(void)
{
    int bad = 0;

#pragma omp parallel reduction(+ : bad)
    {
        uint64_t seed = (uint64_t)omp_get_thread_num(), x = seed, n = 0;

#pragma omp single nowait
        ready();
        while (!stopping) {
            for (int i = 0; i < 1000; i++)
                x = step(x);
            n += 1000;
        }
        bad += steps(seed, n) != x;
    }
    return bad == 0;
}

/* Dynamic loop of chunks of some 20 us; each iteration exactly once. */
static bool run_dynamic(void)
{
    enum { COUNT = 20000 };
    static unsigned char seen[COUNT];
    bool good = true, first = true;

    while (!stopping && good) {
        int done = 0;

        memset(seen, 0, sizeof seen);
#pragma omp parallel reduction(+ : done)
        {
#pragma omp single nowait
            if (first) {
                first = false;
                ready();
            }
#pragma omp for schedule(dynamic, 1) nowait
            for (int i = 0; i < COUNT; i++) {
                uint64_t x = steps((uint64_t)i, 10000);

                __asm volatile("" : : "r"(x));
                seen[i]++;
                done++;
            }
        }
        good = done == COUNT && !memchr(seen, 0, COUNT) &&
               !memchr(seen, 2, COUNT);
    }
    return good;
}

/* Thousands of barriers in one region; all threads see the same rounds. */
static bool run_barriers(void)
{
    int bad = 0, round = 0, last = -1;

#pragma omp parallel reduction(+ : bad)
    {
        int mine = 0;

#pragma omp single nowait
        ready();
        for (bool go = true; go; mine++) {
#pragma omp barrier
#pragma omp master
            {
                round++;
                if (stopping)
                    last = round;
            }
#pragma omp barrier
            bad += round != mine + 1;
            go = last < 0;
        }
    }
    return bad == 0;
}

/* One thread has all the work, some ms of it; the others wait for it. */
static bool run_lopsided(void)
{
    enum { COUNT = 2000000 };
    uint64_t x = 1, rounds = 0;

    do {
#pragma omp parallel
        if (omp_get_thread_num() == 0)
            x = steps(x, COUNT);
        if (rounds++ == 0)
            ready();
    } while (!stopping);
    return steps(1, COUNT * rounds) == x;
}

/* Tasks that have tasks, of some 20 us; each is executed once. */
static bool run_tasks(void)
{
    enum { PARENTS = 20, CHILDREN = 50 };
    int bad = 0;

#pragma omp parallel
#pragma omp single
    {
        ready();
        while (!stopping && bad == 0) {
            int done = 0;

#pragma omp taskgroup
            for (int parent = 0; parent < PARENTS; parent++) {
#pragma omp task shared(done)
                for (int child = 0; child < CHILDREN; child++) {
#pragma omp task shared(done)
                    {
                        uint64_t x = steps((uint64_t)child, 10000);

                        __asm volatile("" : : "r"(x));
#pragma omp atomic
                        done++;
                    }
                }
            }
            bad = done != PARENTS * CHILDREN;
        }
    }
    return bad == 0;
}

/* Threadprivate variables keep their values from region to region. */
static bool run_threadprivate(void)
{
    int bad = 0;

#pragma omp parallel
    private_number = 1000 + omp_get_thread_num();
    ready();
    while (!stopping && bad == 0) {
#pragma omp parallel reduction(+ : bad)
        {
            bad += private_number != 1000 + omp_get_thread_num();
#pragma omp barrier
            bad += private_number != 1000 + omp_get_thread_num();
        }
    }
    return bad == 0;
}

static int team_sum(void)
{
    int sum = 0;

#pragma omp parallel reduction(+ : sum)
    {
#pragma omp barrier
        sum += omp_get_thread_num();
    }
    return sum;
}

/* Parent and child both go on with parallel regions after a fork. */
static bool run_fork(void)
{
    int threads = omp_get_max_threads(), expected = threads * (threads - 1) / 2;
    bool good = team_sum() == expected;
    int status, parent[2], unused;
    pid_t child = pipe(parent) == 0 ? fork() : -1;

    if (child == 0) {
        alarm(240);
        close(parent[1]);
        for (int i = 0; i < 200; i++)
            good &= team_sum() == expected;
        /* It can be seen until the parent has finished. */
        good &= read(parent[0], &unused, sizeof unused) == 0 && team_sum() == expected;
        _exit(good ? 0 : 1);
    }
    if (child < 0)
        return false;
    ready();
    while (!stopping)
        good &= team_sum() == expected;
    close(parent[1]);
    return waitpid(child, &status, 0) == child && status == 0 && good;
}

/* glibc changes user ids in all threads by a signal to each and counts them in
 * their control blocks; errno is each thread's own. */
static bool run_ids(void)
{
    int bad = 0;

    ready();
    for (int round = 0; !stopping && bad == 0; round++) {
#pragma omp parallel reduction(+ : bad)
        {
            int me = omp_get_thread_num();

            if (me == round % omp_get_num_threads())
                bad += setgid(getgid()) != 0;
            errno = me;
#pragma omp barrier
            bad += errno != me;
        }
    }
    return bad == 0;
}

/* Between regions: serial code that runs, and workers that do not. */
static bool run_serial(void)
{
    bool good = team_sum() >= 0;
    uint64_t x = 1, n = 0;

    ready();
    while (!stopping) {
        x = steps(x, 1000);
        n += 1000;
    }
    return good && steps(1, n) == x;
}

/* What the program is told about its team. */
static bool run_team(void)
{
    int size = 0;

#pragma omp parallel
#pragma omp single
    size = omp_get_num_threads();
    printf("threads %d procs %d\n", size, omp_get_num_procs());
    ready();
    while (!stopping)
        team_sum();
    return size == omp_get_max_threads();
}

enum { HOME_THREADS = 4, MOST_HOMES = 8, HOME_RUNS = 50, HOME_CPUS = 1024 };

static unsigned short home_runs[2][MOST_HOMES][HOME_CPUS]; /* begun on each CPU */

static void begin_at(int region, int thread, int cpu)
{
    home_runs[region][thread][cpu]++;
    __asm volatile("" : : "r"(steps((uint64_t)cpu, 300000)));
}

/* The CPU on which THREAD began REGION most often. */
static int usual_cpu(int region, int thread)
{
    int usual = 0;

    for (int c = 1; c < HOME_CPUS; c++)
        if (home_runs[region][thread][c] > home_runs[region][thread][usual])
            usual = c;
    return usual;
}

static void say_usual(int region, int threads)
{
    for (int i = 0; i < threads; i++)
        printf("%d ", usual_cpu(region, i));
}

/* Two regions of four threads in turn; says again and again on which CPU each
 * thread usually begins them. */
static void show_homes(void)
{
    ready();
    while (!stopping) {
        memset(home_runs, 0, sizeof home_runs);
        for (int n = 0; n < HOME_RUNS && !stopping; n++) {
#pragma omp parallel num_threads(HOME_THREADS)
            begin_at(0, omp_get_thread_num(), sched_getcpu());
#pragma omp parallel num_threads(HOME_THREADS)
            begin_at(1, omp_get_thread_num(), sched_getcpu());
        }
        say_usual(0, HOME_THREADS);
        say_usual(1, HOME_THREADS);
        puts("");
        fflush(stdout);
    }
}

/* Says first where each thread's stack is. */
static bool run_homes(void)
{
#pragma omp parallel num_threads(HOME_THREADS)
#pragma omp critical
    {
        int here;
        printf("stack %d %lu\n", omp_get_thread_num(), (unsigned long)&here);
    }
    show_homes();
    return true;
}

/* Begins on one CPU; when there are two, goes on until two threads are on the other one. */
static bool run_first(void)
{
    static volatile int root = -1, away;
    int cpu[HOME_THREADS];

#pragma omp parallel num_threads(HOME_THREADS)
    {
        int me = omp_get_thread_num();
        bool counted = false;
        if (me == 0) {
            root = sched_getcpu();
            puts("begun");
            fflush(stdout);
        }
        while (away < 2 && !stopping)
            if (me && !counted && root >= 0 && sched_getcpu() != root) {
                counted = true;
#pragma omp atomic
                away++;
            }
        cpu[me] = sched_getcpu();
    }
    printf("first %d %d %d %d\n", root, cpu[1], cpu[2], cpu[3]);
    show_homes();
    return true;
}

/* A first region in which each of eight threads has something to do; says where it did it. */
static bool run_share(void)
{
    int cpu[MOST_HOMES];

#pragma omp parallel num_threads(MOST_HOMES)
    {
        for (double end = omp_get_wtime() + 0.01; omp_get_wtime() < end;)
            ;
        cpu[omp_get_thread_num()] = sched_getcpu();
    }
    for (int i = 0; i < MOST_HOMES; i++)
        printf("%d%c", cpu[i], i < MOST_HOMES - 1 ? ' ' : '\n');
    fflush(stdout);
    return true;
}

/* One region of eight threads with barriers; says where each thread was before the first
 * one, and again and again where it usually is after the others. */
static bool run_phases(void)
{
    bool more = true;

#pragma omp parallel num_threads(MOST_HOMES)
    {
        int me = omp_get_thread_num();

        begin_at(0, me, sched_getcpu());
#pragma omp barrier
#pragma omp master
        {
            say_usual(0, MOST_HOMES);
            puts("");
            ready();
        }
        while (more) {
#pragma omp barrier
#pragma omp master
            memset(home_runs, 0, sizeof home_runs);
            for (int n = 0; n < HOME_RUNS; n++) {
#pragma omp barrier
                begin_at(0, me, sched_getcpu());
            }
#pragma omp barrier
#pragma omp master
            {
                say_usual(0, MOST_HOMES);
                puts("");
                fflush(stdout);
                more = !stopping;
            }
#pragma omp barrier
        }
    }
    return true;
}

#ifdef PROBE_DATA
/* Each thread first touches its data, which are on NUMA node 0 for threads 0 and 2,
 * on 1 for threads 1 and 3. */
static bool run_data(void)
{
    enum { BYTES = 4 << 20, BIND = 2 /* MPOL_BIND */ };
    int bad = 0;

#pragma omp parallel num_threads(HOME_THREADS) reduction(+ : bad)
    {
        unsigned long node = 1ul << omp_get_thread_num() % 2;
        char *data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        bad += data == MAP_FAILED ||
               syscall(SYS_mbind, data, (long)BYTES, BIND, &node, 8 * sizeof node, 0);
        for (size_t i = 0; !bad && i < BYTES; i += 4096)
            data[i] = 1;
    }
    if (bad == 0)
        show_homes();
    return bad == 0;
}
#endif

static const struct {
    const char *name;
    bool (*run)(void);
} programs[] = {
    {"static", run_static},
    {"dynamic", run_dynamic},
    {"barriers", run_barriers},
    {"lopsided", run_lopsided},
    {"tasks", run_tasks},
    {"threadprivate", run_threadprivate},
    {"fork", run_fork},
    {"ids", run_ids},
    {"serial", run_serial},
    {"team", run_team},
    {"homes", run_homes},
    {"first", run_first},
    {"share", run_share},
    {"phases", run_phases},
#ifdef PROBE_DATA
    {"data", run_data},
#endif
};

int main(int argc, char **argv)
{
    pthread_t reader;

    for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof *programs;
         i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            bool good;

            if (pthread_create(&reader, NULL, read_stop, NULL) != 0)
                return 1;
#ifdef PROBE_KILL
            pthread_kill(reader, 0);
#endif
            good = programs[i].run();
            pthread_join(reader, NULL);
            puts(good ? "PASS" : "FAIL");
            return good ? 0 : 1;
        }
    }
    fprintf(stderr, "usage: probe NAME\n");
    return 2;
}
