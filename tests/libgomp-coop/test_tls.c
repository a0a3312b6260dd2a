/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What belongs to a thread stays with the OpenMP thread, wherever it runs.
 *
 * usage: test_tls NAME [MODULE]
 *
 * Runs its region until a line comes on stdin (or stdin ends) and prints PASS
 * or FAIL; each thread meets barriers, so that it changes its kernel thread.
 * MODULE is the library with thread-local variables for the test "dlopen". */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "driven.h"

static const char *module_path;

/* All threads meet; returns false, to all, when it is time to stop. */
static bool again(void)
{
    static bool go;

#pragma omp barrier
#pragma omp single
    go = !stopping;
    return go;
}

/* Lets other threads run here and this one run elsewhere. */
static void mix(void)
{
#pragma omp barrier
#pragma omp barrier
}

/* The number of threads for which CHECK, called with the thread's number and
 * the round, returned false; none of them stops before the others. */
static int rounds(bool (*check)(int me, int round))
{
    int bad = 0;

#pragma omp parallel reduction(+ : bad)
    {
#pragma omp single nowait
        ready();
        for (int round = 0; again(); round++)
            bad += !check(omp_get_thread_num(), round);
    }
    return bad;
}

static bool check_errno(int me, int round)
{
    int *where = &errno;

    errno = me + round;
    mix();
    if (errno != me + round || where != &errno)
        return false;
    return strtol("99999999999999999999", NULL, 10) > 0 && errno == ERANGE &&
           close(-1) == -1 && errno == EBADF;
}

static bool check_identity(int me, int round)
{
    static pthread_t ids[1024];

    (void)round;
    ids[me] = pthread_self();
    mix();
    for (int i = 0; i < omp_get_num_threads(); i++)
        if (pthread_equal(ids[i], pthread_self()) != (i == me))
            return false;
    mix();
    return true;
}

static pthread_key_t key;

static bool check_keys(int me, int round)
{
    pthread_setspecific(key, (void *)(intptr_t)(me * 1000 + round % 1000 + 1));
    mix();
    return pthread_getspecific(key) == (void *)(intptr_t)(me * 1000 + round % 1000 + 1);
}

/* Each thread uses the locale object that it has chosen. */
static bool check_locale(int me, int round)
{
    static locale_t even, odd;
    locale_t mine;
    bool good;

    (void)round;
#pragma omp single
    {
        even = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        odd = newlocale(LC_ALL_MASK, "POSIX", (locale_t)0);
    }
    mine = me % 2 ? odd : even;
    uselocale(mine);
    mix();
    good = uselocale((locale_t)0) == mine && strtod("1.5", NULL) == 1.5;
    uselocale(LC_GLOBAL_LOCALE);
    mix();
#pragma omp single
    {
        freelocale(even);
        freelocale(odd);
    }
    return good;
}

/* Blocks that another thread frees, on another kernel thread. */
static bool check_malloc(int me, int round)
{
    static char *blocks[1024][16];
    int other = (me + 1) % omp_get_num_threads();
    bool good = true;

    for (int i = 0; i < 16; i++) {
        size_t size = 16u << ((me + i + round) % 12);

        blocks[me][i] = malloc(size);
        memset(blocks[me][i], me, size);
    }
    mix();
    for (int i = 0; i < 16; i++) {
        size_t size = 16u << ((other + i + round) % 12);

        good &= blocks[other][i][0] == (char)other && blocks[other][i][size - 1] == (char)other;
        free(blocks[other][i]);
    }
    mix();
    return good;
}

/* A stream's lock is recursive and its owner's while that one is elsewhere. */
static bool check_stdio(int me, int round)
{
    static FILE *stream;
    static int owner;
    bool good;

#pragma omp single
    {
        if (!stream)
            stream = fopen("/dev/null", "w");
        owner = round % omp_get_num_threads();
    }
    if (me == owner)
        flockfile(stream);
    mix();
    if (me == owner) {
        good = ftrylockfile(stream) == 0;
        fprintf(stream, "%d\n", round);
        funlockfile(stream);
    } else {
        good = ftrylockfile(stream) != 0;
    }
    mix();
    if (me == owner)
        funlockfile(stream);
    fprintf(stream, "%d %d\n", me, round);
    return good;
}

static bool check_mutexes(int me, int round)
{
    static pthread_mutex_t recursive, checking, robust;
    static int owner;
    bool good;

#pragma omp single
    {
        if (round == 0) {
            pthread_mutexattr_t attr;

            pthread_mutexattr_init(&attr);
            pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
            pthread_mutex_init(&recursive, &attr);
            pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
            pthread_mutex_init(&checking, &attr);
            pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
            pthread_mutex_init(&robust, &attr);
        }
        owner = round % omp_get_num_threads();
    }
    if (me == owner) {
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&checking);
        pthread_mutex_lock(&robust);
    }
    mix();
    if (me == owner)
        good = pthread_mutex_lock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0 &&
               pthread_mutex_lock(&checking) == EDEADLK &&
               pthread_mutex_lock(&robust) == EDEADLK;
    else
        good = pthread_mutex_trylock(&recursive) == EBUSY &&
               pthread_mutex_unlock(&recursive) == EPERM &&
               pthread_mutex_unlock(&checking) == EPERM &&
               pthread_mutex_trylock(&robust) == EBUSY;
    mix();
    if (me == owner)
        good &= pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&checking) == 0 &&
                pthread_mutex_unlock(&robust) == 0;
    return good;
}

/* A mutex held over a scheduling point: who waits for it blocks a kernel
 * thread, perhaps the one that the owner would need. */
static bool check_held(int me, int round)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int sum;
    int before;

    (void)me;
#pragma omp single
    sum = round;
    pthread_mutex_lock(&mutex);
    before = sum;
#pragma omp taskyield
    sum = before + 1;
    pthread_mutex_unlock(&mutex);
    mix();
    return sum == round + omp_get_num_threads();
}

static __thread int initial_exec_number __attribute__((tls_model("initial-exec")));

/* Variables of a library that was loaded when the threads existed. */
static bool check_dlopen(int me, int round)
{
    static int *(*dynamic_number)(void), *(*early_number)(void);
    int value = me * 1000 + round % 1000;
    bool good;

#pragma omp single
    if (!dynamic_number) {
        void *module = dlopen(module_path, RTLD_NOW);

        if (!module) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        *(void **)&dynamic_number = dlsym(module, "dynamic_number");
        *(void **)&early_number = dlsym(module, "early_number");
    }
    *dynamic_number() = value;
    *early_number() = value + 1;
    initial_exec_number = value + 2;
    mix();
    good = *dynamic_number() == value && *early_number() == value + 1 &&
           initial_exec_number == value + 2;
    mix();
    return good;
}

/* The CPU that the C library says is one that the kernel had said just before
 * or says just after. */
static bool check_cpu(int me, int round)
{
    (void)me;
    (void)round;
    for (int i = 0; i < 10; i++) {
        unsigned before, after;
        int said;

        syscall(SYS_getcpu, &before, NULL, NULL);
        said = sched_getcpu();
        syscall(SYS_getcpu, &after, NULL, NULL);
        if (before == after && said != (int)before)
            return false;
        sched_yield();
    }
    return true;
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* A thread that signals itself has the signal before raise returns. */
static bool check_raise(int me, int round)
{
    bool good = true;

    (void)round;
#pragma omp critical
    {
        int before = signals;

        good = raise(SIGUSR1) == 0 && signals == before + 1;
    }
    return good && me >= 0;
}

static const struct {
    const char *name;
    bool (*check)(int me, int round);
} tests[] = {
    {"errno", check_errno},     {"identity", check_identity}, {"keys", check_keys},
    {"locale", check_locale},   {"malloc", check_malloc},     {"stdio", check_stdio},
    {"mutexes", check_mutexes}, {"held", check_held},         {"dlopen", check_dlopen},
    {"cpu", check_cpu},         {"raise", check_raise},
};

int main(int argc, char **argv)
{
    pthread_t reader;

    module_path = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++) {
        if (strcmp(argv[1], tests[i].name) == 0) {
            int bad;

            signal(SIGUSR1, count_signal);
            if (pthread_key_create(&key, NULL) != 0 ||
                pthread_create(&reader, NULL, read_stop, NULL) != 0)
                return 1;
            bad = rounds(tests[i].check);
            pthread_join(reader, NULL);
            puts(bad ? "FAIL" : "PASS");
            return bad != 0;
        }
    }
    fprintf(stderr, "usage: test_tls NAME [MODULE]\n");
    return 2;
}
