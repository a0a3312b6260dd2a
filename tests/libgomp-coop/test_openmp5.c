/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What OpenMP 5.0 to 6.0 added, as far as the compiler has it: each construct
 * again and again by the threads of one region that lasts until the driver says
 * stop, with the results checked.  Prints how often, and PASS. */

#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "driven.h"

enum { N = 300 };

/* The first failure is enough, and threads may not meet again after it. */
static void expect(const char *what, bool right)
{
    if (right)
        return;
    printf("FAIL: %s\n", what);
    fflush(stdout);
    _Exit(1);
}

/* All threads of the region call each of these.  What they share is static; it
 * is set before the construct, checked behind it, and left alone until all have
 * checked. */
static int shared_value;
static int times[N];
static volatile double sink;

static void begin(void)
{
#pragma omp single
    {
        shared_value = 0;
        memset(times, 0, sizeof times);
    }
}

static void work(int i)
{
    double x = 1.0;

    for (int n = i % 16 * 20; n > 0; n--)
        x = x * 0.999999 + 1e-9;
    sink = x;
#pragma omp atomic
    times[i]++;
}

static void end_each_once(const char *what)
{
    for (int i = 0; i < N; i++)
        expect(what, times[i] == 1);
#pragma omp barrier
}

static void end_value(const char *what, int value)
{
    expect(what, shared_value == value);
#pragma omp barrier
}

static void scope(int team)
{
#if __GNUC__ >= 12
    begin();
#pragma omp scope reduction(+ : shared_value)
    shared_value += omp_get_thread_num() + 1;
    end_value("scope", team * (team + 1) / 2);
#endif
    (void)team;
}

static void masked(int team)
{
#if __GNUC__ >= 12
    begin();
#pragma omp masked filter(team - 1)
    shared_value = omp_get_thread_num() + 1;
#pragma omp barrier
    end_value("masked", team);
    begin();
#pragma omp masked taskloop grainsize(strict : 7)
    for (int i = 0; i < N; i++)
        work(i);
#pragma omp barrier
    end_each_once("masked taskloop");
#endif
    (void)team;
}

static void loop(void)
{
    begin();
#pragma omp loop bind(parallel)
    for (int i = 0; i < N; i++)
        work(i);
    end_each_once("loop");
}

/* Each iteration needs what the one before has left. */
static void doacross(void)
{
    begin();
#pragma omp for ordered(1) schedule(dynamic)
    for (int i = 0; i < N; i++) {
#if __GNUC__ >= 13
#pragma omp ordered doacross(sink : i - 1)
#else
#pragma omp ordered depend(sink : i - 1)
#endif
        expect("doacross", shared_value == i);
        shared_value = i + 1;
#if __GNUC__ >= 13
#pragma omp ordered doacross(source : omp_cur_iteration)
#else
#pragma omp ordered depend(source)
#endif
    }
    end_value("doacross", N);
}

static void atomics(int team)
{
#if __GNUC__ >= 12
    begin();
#pragma omp for
    for (int i = 0; i < N; i++) {
#pragma omp atomic compare
        shared_value = shared_value < i ? i : shared_value;
    }
    end_value("atomic compare", N - 1);
#endif
    (void)team;
}

static void task_reduction(void)
{
    int sum = 0;

    begin();
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
            sum += i;
        }
        shared_value = sum;
    }
    end_value("task_reduction", N * (N - 1) / 2);
}

static void detach(void)
{
    begin();
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp taskgroup
        {
#pragma omp task detach(event)
            {
#pragma omp atomic
                shared_value++;
            }
#pragma omp task firstprivate(event)
            {
#pragma omp atomic
                shared_value++;
                omp_fulfill_event(event);
            }
        }
    }
    end_value("detach", 2);
}

static void cancel(void)
{
    begin();
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(i)
            {
                if (i == 5) {
#pragma omp cancel taskgroup
                }
                work(i);
            }
        }
    }
    for (int i = 0; i < N; i++)
        expect("cancel", times[i] <= 1);
    expect("cancel", !omp_get_cancellation() || times[5] == 0);
#pragma omp barrier
}

static void dependences(void)
{
#if __GNUC__ >= 13
    begin();
#pragma omp single
    {
        int a = 0, b = 0;
        for (int i = 0; i < 8; i++) {
#pragma omp task depend(inoutset : a) shared(a)
            {
#pragma omp atomic
                a++;
            }
        }
#pragma omp task depend(in : a) depend(out : b) shared(a, b)
        b = a * 10;
#pragma omp task depend(inout : omp_all_memory) shared(a, b)
        a += b;
#pragma omp taskwait depend(in : b) nowait
#pragma omp task depend(in : a) shared(a)
        shared_value = a;
#pragma omp taskwait
        expect("omp_in_explicit_task", !omp_in_explicit_task());
    }
    end_value("inoutset, omp_all_memory, taskwait nowait", 88);
#endif
}

/* What costs time only, and what a program tells the compiler. */
static void hints(int team)
{
#if __GNUC__ >= 13
    begin();
#pragma omp assume holds(team > 0) no_parallelism
    {
#pragma omp for
        for (int i = 0; i < N; i++)
            work(i);
    }
    end_each_once("assume");
#endif
#if __GNUC__ >= 15
    begin();
#pragma omp metadirective when(implementation = {vendor(gnu)}                  \
                               : for) otherwise(single)
    for (int i = 0; i < N; i++)
        work(i);
    end_each_once("metadirective");
    begin();
#pragma omp for
#pragma omp tile sizes(4)
    for (int i = 0; i < N; i++)
        work(i);
    end_each_once("tile");
#endif
    (void)team;
}

static void allocators(void)
{
#if __GNUC__ >= 12
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 256},
                                 {omp_atk_pool_size, 1 << 20}};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space,
                                                          2, traits);
    int *p = omp_calloc(N, sizeof *p, allocator);

    expect("omp_init_allocator", allocator != omp_null_allocator);
    expect("omp_calloc", p && (uintptr_t)p % 256 == 0 && p[N - 1] == 0);
    p[0] = omp_get_thread_num();
    p = omp_realloc(p, 2 * N * sizeof *p, allocator, allocator);
    expect("omp_realloc", p && p[0] == omp_get_thread_num());
    omp_free(p, allocator);
    omp_destroy_allocator(allocator);
#if __GNUC__ >= 14
    int local[16];
#pragma omp allocate(local) align(128) allocator(omp_default_mem_alloc)
    local[0] = 7;
    expect("allocate", (uintptr_t)local % 128 == 0 && local[0] == 7);
#endif
#endif
}

/* On the host: there are no plugins for devices. */
static void device(void)
{
    int a = 1, b = 0;

#pragma omp target map(tofrom : a)
    a = a + 1;
#pragma omp target parallel for map(tofrom : b) reduction(+ : b) num_threads(2)
    for (int i = 0; i < N; i++)
        b += i;
    expect("target", a == 2 && b == N * (N - 1) / 2);
#if __GNUC__ >= 15
    omp_interop_t object = omp_interop_none;
    omp_interop_rc_t rc = omp_irc_success;
#pragma omp interop init(targetsync : object) device(omp_initial_device)
    (void)omp_get_interop_int(object, omp_ipr_vendor, &rc);
    expect("interop", omp_get_num_interop_properties(object) == 0);
#pragma omp interop destroy(object)
    expect("interop destroy", object == omp_interop_none);
#endif
}

/* A thread of a team runs what is for a device itself, and leads a team there. */
static void host_device(void)
{
    int sum = 0;

#pragma omp target if (0) map(tofrom : sum)
#pragma omp parallel num_threads(3)
#pragma omp atomic
    sum += 1;
    expect("target in a region", sum == 3);
}

/* A league is no part of a region: before and behind it. */
static void league(void)
{
    int sum = 0;

#if __GNUC__ >= 12
#pragma omp teams num_teams(2 : 3) thread_limit(4) reduction(+ : sum)
#else
#pragma omp teams num_teams(3) thread_limit(4) reduction(+ : sum)
#endif
    {
        int here = 0;
#pragma omp parallel num_threads(3) reduction(+ : here)
        here += omp_get_num_teams() > 1 &&
                omp_get_team_num() < omp_get_num_teams();
        sum += here * 6 / omp_get_num_teams();
    }
    expect("teams", sum == 18);
#if __GNUC__ >= 12
    expect("omp_get_max_teams",
           omp_get_max_teams() >= 0 && omp_get_teams_thread_limit() >= 0);
#endif
}

int main(void)
{
    pthread_t reader;
    long rounds = 0;

#if __GNUC__ >= 12
    omp_display_env(0);
#endif
    /* A team of one, before there are others. */
#pragma omp parallel num_threads(1)
    expect("a team of one", omp_get_num_threads() == 1);
    league();
    if (pthread_create(&reader, NULL, read_stop, NULL) != 0)
        expect("pthread_create", false);
#pragma omp parallel reduction(max : rounds)
    {
        int team = omp_get_num_threads();
        bool stop = false;
        for (rounds = 0; !stop; rounds++) {
            scope(team);
            masked(team);
            loop();
            doacross();
            atomics(team);
            task_reduction();
            detach();
            cancel();
            dependences();
            hints(team);
            allocators();
            device();
            host_device();
#pragma omp single copyprivate(stop)
            {
                if (rounds == 0)
                    ready();
                stop = stopping;
            }
        }
    }
    league();
    pthread_join(reader, NULL);
    printf("%ld rounds, GCC %d\nPASS\n", rounds, __GNUC__);
    return 0;
}
