/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores a job uses, or would, whose processes report nothing. */

#include "node_agent/enforce/usage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* A thread that runs or waits for so much of the time does not sleep, but for
 * the waits that have still to be counted. */
#define ALWAYS 0.7

struct usage_threads {
    size_t count;
    struct usage_thread {
        pid_t tid;
        uint64_t ran_ns, waited_ns; /* proc_waits() */
    } thread[USAGE_THREADS];
};

static double tick_ns(void)
{
    return 1e9 / (double)sysconf(_SC_CLK_TCK);
}

uint64_t usage_boot_ticks(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (uint64_t)((double)((uint64_t)ts.tv_sec * NS_PER_S +
                               (uint64_t)ts.tv_nsec) /
                      tick_ns());
}

void usage_note(struct tracked *t, const struct proc_stat *stat)
{
    t->noted = true;
    t->noted_ticks = stat->ticks;
    t->threads_noted = stat->threads;
}

void usage_forget(struct tracked *t)
{
    free(t->waits);
    t->waits = NULL;
    t->noted = t->counted = false;
}

/* For how long thread TID of T was kept from running in the WINDOW_NS, by the
 * count of then (NULL: it is new); NOW is the count of now.  The kernel counts
 * a wait when it is over, so also what was before the window. */
static double thread_waited(const struct tracked *t, pid_t tid,
                            const struct usage_thread *then,
                            struct usage_thread *now, double window_ns)
{
    *now = (struct usage_thread){.tid = tid};
    if (proc_waits(t->pid, tid, &now->ran_ns, &now->waited_ns) < 0)
        return 0;
    double ran_ns = (double)(now->ran_ns - (then ? then->ran_ns : 0));
    double waited_ns = (double)(now->waited_ns - (then ? then->waited_ns : 0));

    return ran_ns + waited_ns < ALWAYS * window_ns
               ? 0
               : fmin(waited_ns, fmax(window_ns - ran_ns, 0));
}

static const struct usage_thread *find(const struct usage_threads *threads,
                                       pid_t tid)
{
    for (size_t i = 0; threads && i < threads->count; i++)
        if (threads->thread[i].tid == tid)
            return &threads->thread[i];
    return NULL;
}

/* The same of all threads of T, as far as *LOOKS go. */
static double advance_waits(struct tracked *t, double window_ns, size_t *looks)
{
    if (!*looks || t->threads_noted > USAGE_LISTED) {
        free(t->waits);
        t->waits = NULL;
        return 0;
    }
    struct usage_threads *now = calloc(1, sizeof(*now));
    pid_t *tids = NULL, only = t->pid;
    double waited_ns = 0;
    ssize_t n = t->threads_noted > 1 ? proc_threads(t->pid, &tids) : 1;
    const pid_t *tid = tids ? tids : &only;

    for (ssize_t i = n > USAGE_THREADS ? n - USAGE_THREADS : 0;
         now && i < n && *looks; i++, --*looks)
        waited_ns += thread_waited(t, tid[i], find(t->waits, tid[i]),
                                   &now->thread[now->count++], window_ns);
    free(tids);
    if (!t->waits)
        waited_ns = 0; /* nobody knows since when */
    free(t->waits);
    t->waits = now;
    return waited_ns;
}

/* CPU time that T used, or waited for, in the WINDOW_NS since the window began;
 * from now on the next one counts.  What began before the window and was not
 * seen then has no count to begin with. */
static double advance(struct tracked *t, double window_ns, uint64_t begin_ticks,
                      size_t *looks)
{
    uint64_t before = t->counted                ? t->counted_ticks
                      : t->start >= begin_ticks ? 0
                                                : t->noted_ticks;
    double used_ns = t->noted_ticks > before
                         ? (double)(t->noted_ticks - before) * tick_ns()
                         : 0;

    used_ns += advance_waits(t, window_ns, looks);
    t->counted = true;
    t->counted_ticks = t->noted_ticks;
    return fmin(used_ns, window_ns * (double)t->threads_noted);
}

void usage_measure(struct job *job, uint64_t begin_ns, uint64_t end_ns,
                   uint64_t scan_ticks)
{
    /* What a stopped job does not use says nothing. */
    if (job->parked || job->suspended) {
        job->use_until_ns = 0;
        job->use = 0;
        return;
    }
    uint64_t from_ns = job->use_until_ns;
    size_t looks = USAGE_LOOKS;
    double used_ns = 0, window_ns = from_ns ? (double)(end_ns - from_ns) : 0;

    if (from_ns && begin_ns < from_ns + USAGE_WINDOW_NS)
        return;
    for (struct tracked *t = job->tracked; t; t = t->next)
        if (!t->dead && t->noted)
            used_ns += advance(t, window_ns, job->use_ticks, &looks);
    job->use = from_ns ? used_ns / window_ns : 0;
    job->use_from_ns = from_ns;
    job->use_until_ns = begin_ns;
    job->use_ticks = scan_ticks;
}

bool usage_tickless(const char *file)
{
    FILE *list = fopen(file, "re");
    int first = list ? fgetc(list) : EOF;

    if (list)
        fclose(list);
    return first >= '0' && first <= '9';
}

static bool clocks_lag(void)
{
    static int lag = -1;

    if (lag < 0)
        lag = usage_tickless("/sys/devices/system/cpu/nohz_full");
    return lag;
}

uint64_t usage_cpu_ns(const struct job *job, uint64_t now_ns)
{
    uint64_t sum_ns = 0;
    size_t count = 0;

    if (now_ns - job->joined_ns < USAGE_STEADY_NS || clocks_lag())
        return STRETCH_UNKNOWN;
    for (const struct tracked *t = job->tracked; t; t = t->next) {
        if (t->dead || t->attached)
            continue;
        uint64_t cpu_ns = ++count <= USAGE_CLOCKS && t->threads_noted <= USAGE_LISTED
                              ? proc_cpu_ns(t->pid)
                              : UINT64_MAX;
        if (cpu_ns == UINT64_MAX)
            return STRETCH_UNKNOWN;
        sum_ns += cpu_ns;
    }
    return count ? sum_ns : STRETCH_UNKNOWN;
}

/* Of the newest threads of T, as far as *LOOKS go. */
static uint64_t threads_waited_ns(const struct tracked *t, size_t *looks)
{
    pid_t *tids = NULL, only = t->pid;
    ssize_t n = t->threads_noted > 1 ? proc_threads(t->pid, &tids) : 1;
    const pid_t *tid = tids ? tids : &only;
    uint64_t sum_ns = 0, ran_ns, waited_ns;

    for (ssize_t i = n > USAGE_THREADS ? n - USAGE_THREADS : 0; i < n && *looks; i++, --*looks)
        if (proc_waits(t->pid, tid[i], &ran_ns, &waited_ns) == 0)
            sum_ns += waited_ns;
    free(tids);
    return sum_ns;
}

uint64_t usage_waited_ns(const struct job *job)
{
    uint64_t sum_ns = 0;
    size_t looks = USAGE_LOOKS;

    for (const struct tracked *t = job->tracked; t && looks; t = t->next)
        if (!t->dead && !t->attached)
            sum_ns += threads_waited_ns(t, &looks);
    return sum_ns;
}
