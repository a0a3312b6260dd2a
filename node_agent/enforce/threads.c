/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The threads of one process, and whether they are where they should be. */

#include "node_agent/enforce/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/enforce/proc.h"
#include "protocol/cpulist.h"

/* New threads may appear during a pass; passes until none had to be moved. */
#define MAX_PASSES 4

struct threads {
    int dir;        /* /proc/PID/task */
    pid_t *tid;     /* [count] as last listed */
    size_t count;   /* 0: unknown */
    unsigned looks; /* since then */
    size_t from;    /* of the next part, where there are too many, */
    struct cosched_cpuset to; /* which are being put there */
    bool failed;
    size_t lists, looked;
};

struct threads *threads_new(pid_t pid)
{
    struct threads *t = calloc(1, sizeof(*t));

    if (t && (t->dir = proc_open_tasks(pid)) < 0) {
        free(t);
        return NULL;
    }
    return t;
}

/* Number of threads there are now; 0: the process has ended.  A directory of
 * /proc has two links more than it has directories. */
static size_t count_now(const struct threads *t)
{
    struct stat status;

    return fstat(t->dir, &status) < 0 || status.st_nlink < 2
               ? 0
               : (size_t)status.st_nlink - 2;
}

static bool is_good(const struct cosched_cpuset *mask,
                    const struct cosched_cpuset *cpus, bool strays)
{
    return strays ? cpuset_subset(mask, cpus) : cpuset_equal(mask, cpus);
}

bool threads_kept(struct threads *t, const struct cosched_cpuset *cpus,
                  bool strays)
{
    struct cosched_cpuset mask;

    if (!t->count || t->count > THREADS_MOST || ++t->looks > THREADS_PASSES ||
        count_now(t) != t->count)
        return false;
    for (size_t i = 0; i < t->count; i++)
        if (cpuset_get_affinity(t->tid[i], &mask) < 0 ||
            !is_good(&mask, cpus, strays))
            return false;
    return true;
}

static void forget(struct threads *t)
{
    free(t->tid);
    t->tid = NULL;
    t->count = 0;
}

/* Returns false when the process has ended. */
static bool list(struct threads *t)
{
    forget(t);
    t->lists++;
    t->looks = 0;
    ssize_t n = proc_read_tasks(t->dir, &t->tid);
    t->count = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* True while TID is a thread of the process. */
static bool is_ours(const struct threads *t, pid_t tid)
{
    char name[16];

    snprintf(name, sizeof(name), "%d", (int)tid);
    return faccessat(t->dir, name, F_OK, 0) == 0;
}

/* The next part of very many; not done before the last one. */
static size_t keep_part(struct threads *t, const struct cosched_cpuset *cpus,
                        bool strays)
{
    struct cosched_cpuset mask;
    size_t moved = 0, end;

    if (t->from >= t->count || !cpuset_equal(&t->to, cpus)) {
        list(t);
        t->from = 0;
        t->to = *cpus;
    }
    end = t->count - t->from > THREADS_MOST ? t->from + THREADS_MOST : t->count;
    t->failed = end < t->count;
    for (; t->from < end; t->from++, t->looked++) {
        pid_t tid = t->tid[t->from];
        if (cpuset_get_affinity(tid, &mask) < 0 || is_good(&mask, cpus, strays) ||
            !is_ours(t, tid))
            continue;
        if (cpuset_set_affinity(tid, cpus) == 0)
            moved++;
        else if (errno != ESRCH)
            t->failed = true;
    }
    return moved;
}

size_t threads_keep(struct threads *t, const struct cosched_cpuset *cpus,
                    bool strays)
{
    size_t moved = 0, before = 0;

    t->failed = false;
    if (threads_kept(t, cpus, strays))
        return 0;
    if (t->count > THREADS_MOST)
        return keep_part(t, cpus, strays);
    for (int pass = 0; pass < MAX_PASSES && list(t); pass++) {
        if (t->count > THREADS_MOST) {
            t->from = 0;
            t->to = *cpus;
            return moved + keep_part(t, cpus, strays);
        }
        t->looked += t->count;
        for (size_t i = 0; i < t->count; i++) {
            struct cosched_cpuset mask;
            if (cpuset_get_affinity(t->tid[i], &mask) < 0 ||
                is_good(&mask, cpus, strays))
                continue;
            if (cpuset_set_affinity(t->tid[i], cpus) == 0)
                moved++;
            else if (errno != ESRCH)
                t->failed = true;
        }
        /* A thread made during the pass has the mask of its maker. */
        if (moved == before)
            break;
        before = moved;
    }
    t->failed |= !t->count && count_now(t);
    return moved;
}

bool threads_failed(const struct threads *t)
{
    return t->failed;
}

size_t threads_count(const struct threads *t)
{
    return t ? t->count : 0;
}

size_t threads_looked(const struct threads *t)
{
    return t->looked;
}

size_t threads_lists(const struct threads *t)
{
    return t->lists;
}

void threads_free(struct threads *t)
{
    if (!t)
        return;
    close(t->dir);
    forget(t);
    free(t);
}
