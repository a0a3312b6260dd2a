/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Threads and children of the program's own.
 *
 * usage: test_foreign threads|children|procs
 *
 * "threads" prints the kernel's ids of threads created in a region and outside,
 * then runs regions until a line comes on stdin; "children" has children say
 * how many CPUs they find, which "procs" does. */

#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEAM = 4, FORKS = 20 };

static volatile bool stopping;

/* Says its id and waits for the end of the program's stdin. */
static void *foreign(void *arg)
{
    char line[16];

#pragma omp critical
    {
        printf("thread %d\n", (int)gettid());
        fflush(stdout);
    }
    if (arg) {
        if (!fgets(line, sizeof line, stdin))
            line[0] = '\0';
        stopping = true;
    }
    while (!stopping)
        usleep(1000);
    return NULL;
}

static int team_sum(void)
{
    int sum = 0;

#pragma omp parallel num_threads(TEAM) reduction(+ : sum)
    {
#pragma omp barrier
        sum += omp_get_thread_num();
    }
    return sum;
}

static int run_threads(void)
{
    pthread_t threads[TEAM + 1];
    bool good = true;

#pragma omp parallel num_threads(TEAM) reduction(& : good)
    {
#pragma omp barrier
        good &= pthread_create(&threads[omp_get_thread_num()], NULL, foreign, NULL) == 0;
    }
    good &= pthread_create(&threads[TEAM], NULL, foreign, &good) == 0;
    puts("ready");
    fflush(stdout);
    while (!stopping)
        good &= team_sum() == TEAM * (TEAM - 1) / 2;
    for (int i = 0; i <= TEAM; i++)
        pthread_join(threads[i], NULL);
    puts(good ? "PASS" : "FAIL");
    return !good;
}

static void say_procs(const char *who)
{
    cpu_set_t cpus;

    sched_getaffinity(0, sizeof cpus, &cpus);
    printf("%s: mask %d procs %d\n", who, CPU_COUNT(&cpus), omp_get_num_procs());
    fflush(stdout);
}

/* A child of one task of a region: its regions are nested ones. */
static bool fork_and_nest(bool say)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (say)
            say_procs("fork");
        omp_set_max_active_levels(2);
        _exit(team_sum() != TEAM * (TEAM - 1) / 2);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static int run_children(const char *self)
{
    bool good = team_sum() == TEAM * (TEAM - 1) / 2;
    char command[4096];
    pid_t child;
    int status;

    child = fork();
    if (child == 0) {
        say_procs("fork");
        _exit(0);
    }
    good &= waitpid(child, &status, 0) == child && status == 0;
    child = fork();
    if (child == 0) {
        execl(self, self, "procs", (char *)NULL);
        _exit(1);
    }
    good &= waitpid(child, &status, 0) == child && status == 0;
    snprintf(command, sizeof command, "'%s' procs", self);
    good &= system(command) == 0;
#pragma omp parallel num_threads(TEAM) reduction(& : good)
    if (omp_get_thread_num() == TEAM - 1) {
        good &= system(command) == 0;
        for (int i = 0; i < FORKS; i++)
            good &= fork_and_nest(i == 0);
    }
    puts(good ? "PASS" : "FAIL");
    return !good;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "threads") == 0)
        return run_threads();
    if (argc == 2 && strcmp(argv[1], "children") == 0)
        return run_children(argv[0]);
    if (argc == 2 && strcmp(argv[1], "procs") == 0) {
        say_procs("exec");
        return 0;
    }
    return 2;
}
