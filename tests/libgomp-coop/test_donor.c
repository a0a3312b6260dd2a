/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* OpenMP programs that try donors of thread-local storage; this one has no
 * thread-local variables, so that its tasks may also do without donors.
 *
 * usage: test_donor ids|mixed|nested|births
 *
 * Prints "ready" once its threads exist, and at the end PASS or FAIL; "ids"
 * goes on until a line comes on stdin. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <grp.h>
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driven.h"

enum { OTHER_ID = 54321, MANY = 1 << 22 };

/* Calls VISIT with each kernel thread of the process. */
static void each_thread(void (*visit)(int tid, void *arg), void *arg)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    if (!tasks)
        exit(1);
    while ((entry = readdir(tasks)))
        if (entry->d_name[0] != '.')
            visit(atoi(entry->d_name), arg);
    closedir(tasks);
}

struct expected {
    const char *uid, *gid, *groups; /* lines of /proc/TID/status */
    int threads, wrong;
};

/* How many of the three lines TID has, -1: it has ended. */
static int count_ids(int tid, const struct expected *e)
{
    char path[64], line[256];
    int found = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    file = fopen(path, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        found += strcmp(line, e->uid) == 0 || strcmp(line, e->gid) == 0 ||
                 strcmp(line, e->groups) == 0;
    fclose(file);
    return found;
}

static void check_ids(int tid, void *arg)
{
    struct expected *e = arg;
    int found = count_ids(tid, e);

    /* glibc leaves out threads that are about to end, as the one that has read
     * the line to stop at. */
    for (int i = 0; i < 2000 && found >= 0 && found < 3; i++) {
        usleep(1000);
        found = count_ids(tid, e);
    }
    if (found < 0)
        return;
    e->threads++;
    if (found != 3) {
        e->wrong++;
        fprintf(stderr, "thread %d has other ids\n", tid);
    }
}

/* All threads of the process, whatever they do, have these ids. */
static bool all_have(int euid, int egid, int group)
{
    char uid[80], gid[80], groups[80];
    struct expected e = {uid, gid, groups, 0, 0};

    snprintf(uid, sizeof uid, "Uid:\t0\t%d\t0\t%d\n", euid, euid);
    snprintf(gid, sizeof gid, "Gid:\t0\t%d\t0\t%d\n", egid, egid);
    snprintf(groups, sizeof groups, "Groups:\t%d \n", group);
    each_thread(check_ids, &e);
    return e.threads >= omp_get_max_threads() && e.wrong == 0;
}

/* Lowers the ids, or gets them back; whoever is not root has no choice. */
static bool change_ids(bool lower)
{
    gid_t group = lower ? OTHER_ID + 2 : 1;

    if (getuid() != 0)
        return setgid(getgid()) == 0 && setuid(getuid()) == 0;
    if (lower)
        return setgroups(1, &group) == 0 && setegid(OTHER_ID + 1) == 0 &&
               seteuid(OTHER_ID) == 0 && all_have(OTHER_ID, OTHER_ID + 1, OTHER_ID + 2);
    return seteuid(0) == 0 && setegid(0) == 0 && setgroups(1, &group) == 0 && all_have(0, 0, 1);
}

static void compute(int steps)
{
    for (volatile int i = 0; i < steps; i++)
        ;
}

/* In regions, by a thread in turn, with the others waiting or computing, and
 * between them, with all workers idle. */
static bool run_ids(void)
{
    int bad = 0;

    for (int round = 0; !stopping && bad == 0; round++) {
#pragma omp parallel reduction(+ : bad)
        {
            int me = omp_get_thread_num();

#pragma omp single nowait
            if (round == 0)
                ready();
            for (int i = 0; i < omp_get_num_threads(); i++) {
                if (me == (i + round) % omp_get_num_threads())
                    bad += !change_ids(i % 2 == 0);
                else
                    compute(me * 1000);
#pragma omp barrier
            }
#pragma omp single
            bad += !change_ids(false);
        }
        bad += !change_ids(true) || !change_ids(false);
    }
    if (getuid() != 0)
        return bad == 0;
    /* The last change is for good: nobody may be left behind. */
#pragma omp parallel
#pragma omp single
    bad += setresgid(7, 7, 7) != 0 || setresuid(8, 8, 8) != 0;
    {
        struct expected e = {"Uid:\t8\t8\t8\t8\n", "Gid:\t7\t7\t7\t7\n", "Groups:\t1 \n", 0, 0};

        each_thread(check_ids, &e);
        bad += e.threads < omp_get_max_threads() || e.wrong;
    }
    return bad == 0;
}

static long fibonacci(int n)
{
    long a, b;

    if (n < 2)
        return n;
#pragma omp task shared(a) if (n > 8)
    a = fibonacci(n - 1);
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

/* All that a team does, by one in which some threads have no donor. */
static bool run_mixed(void)
{
    enum { COUNT = 3000 };
    static unsigned char seen[COUNT];
    long sum = 0, wanted = 0, number = 0;
    int bad = 0, inner = 0;

    ready();
    omp_set_max_active_levels(2);
    for (int round = 0; round < 30; round++) {
        memset(seen, 0, sizeof seen);
#pragma omp parallel reduction(+ : sum, bad, inner)
        {
#pragma omp for schedule(dynamic, 7)
            for (int i = 0; i < COUNT; i++)
                seen[i]++;
#pragma omp single
            bad += memchr(seen, 0, COUNT) || memchr(seen, 2, COUNT);
#pragma omp for ordered schedule(static, 1)
            for (int i = 0; i < 50; i++) {
#pragma omp ordered
                sum += i;
            }
#pragma omp single
            number = fibonacci(15);
#pragma omp parallel num_threads(3) reduction(+ : inner)
            inner += omp_get_level() == 2;
        }
        wanted += 50 * 49 / 2;
        bad += number != 610;
    }
    return bad == 0 && sum == wanted && inner == 30 * 3 * omp_get_max_threads();
}

static void mark(int tid, void *arg)
{
    unsigned char *marks = arg;

    if (tid < MANY)
        marks[tid] = 1;
}

/* Nested teams again and again: says how many kernel threads there were. */
static bool run_nested(void)
{
    unsigned char *marks = calloc(MANY, 1);
    int sum = 0, threads = 0;

    if (!marks)
        return false;
    ready();
    omp_set_max_active_levels(2);
    for (int round = 0; round < 50; round++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp parallel num_threads(4) reduction(+ : sum)
        sum++;
        each_thread(mark, marks);
    }
    for (int i = 0; i < MANY; i++)
        threads += marks[i];
    printf("threads %d\n", threads);
    free(marks);
    return sum == 50 * 8;
}

static struct {
    pthread_mutex_t lock;
    int tid[64], count;
} creators = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In place of glibc's: counts the kernel threads that create some. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int me = (int)syscall(SYS_gettid), i = 0;

    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    pthread_mutex_lock(&creators.lock);
    while (i < creators.count && creators.tid[i] != me)
        i++;
    if (i == creators.count && i < 64)
        creators.tid[creators.count++] = me;
    pthread_mutex_unlock(&creators.lock);
    return create(thread, attr, fn, arg);
}

/* A large team: says how many threads have created its threads. */
static bool run_births(void)
{
    int sum = 0;

#pragma omp parallel reduction(+ : sum)
    sum++;
    printf("creators %d\n", creators.count);
    return sum == omp_get_max_threads();
}

int main(int argc, char **argv)
{
    const char *name = argc == 2 ? argv[1] : "";
    pthread_t reader;
    bool good = false;

    if (strcmp(name, "ids") == 0) {
        gid_t group = 1;

        if (getuid() == 0 && setgroups(1, &group) != 0)
            return 1;
        if (pthread_create(&reader, NULL, read_stop, NULL) != 0)
            return 1;
        good = run_ids();
        pthread_join(reader, NULL);
    } else if (strcmp(name, "mixed") == 0) {
        good = run_mixed();
    } else if (strcmp(name, "nested") == 0) {
        good = run_nested();
    } else if (strcmp(name, "births") == 0) {
        good = run_births();
    } else {
        fprintf(stderr, "usage: test_donor ids|mixed|nested|births\n");
        return 2;
    }
    puts(good ? "PASS" : "FAIL");
    return !good;
}
