/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores a job uses whose processes report nothing. */

#include "node_agent/usage.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "node_agent/clock.h"

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
    t->noted = t->counted = false;
}

/* CPU time that T used in the WINDOW_NS since the window began; from now on the
 * next one counts.  What began before the window and was not seen then has no
 * count to begin with. */
static double advance(struct tracked *t, double window_ns, uint64_t begin_ticks)
{
    uint64_t before = t->counted               ? t->counted_ticks
                      : t->start >= begin_ticks ? 0
                                               : t->noted_ticks;
    double used_ns = t->noted_ticks > before
                         ? (double)(t->noted_ticks - before) * tick_ns()
                         : 0;

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
    double used_ns = 0, window_ns = from_ns ? (double)(end_ns - from_ns) : 0;

    if (from_ns && begin_ns < from_ns + USAGE_WINDOW_NS)
        return;
    for (struct tracked *t = job->tracked; t; t = t->next)
        if (!t->dead && t->noted)
            used_ns += advance(t, window_ns, job->use_ticks);
    job->use = from_ns ? used_ns / window_ns : 0;
    job->use_from_ns = from_ns;
    job->use_until_ns = begin_ns;
    job->use_ticks = scan_ticks;
}
