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
    size_t next;    /* to be looked at, round and round, */
    size_t left;    /* so many still until all are where these are: */
    struct cosched_cpuset to;
    bool stirred;   /* one of them had to be moved */
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
                  const struct thread_map *map, bool strays, size_t *work)
{
    struct cosched_cpuset mask, home;

    if (t->left || !t->count || t->count > *work || ++t->looks > THREADS_PASSES ||
        count_now(t) != t->count)
        return false;
    for (size_t i = 0; i < t->count; i++) {
        work_take(work, 1);
        if (cpuset_get_affinity(t->tid[i], &mask) < 0 ||
            !is_good(&mask, thread_map_home(map, t->tid[i], cpus, &home), strays))
            return false;
    }
    return true;
}

static void forget(struct threads *t)
{
    free(t->tid);
    t->tid = NULL;
    t->count = t->next = t->left = 0;
}

/* Returns false when the process has ended. */
static bool list(struct threads *t, size_t *work)
{
    forget(t);
    t->lists++;
    t->looks = 0;
    t->stirred = false;
    ssize_t n = proc_read_tasks(t->dir, &t->tid);
    t->count = t->left = n > 0 ? (size_t)n : 0;
    work_take(work, t->count + 1);
    return n > 0;
}

/* True while TID is a thread of the process. */
static bool is_ours(const struct threads *t, pid_t tid)
{
    char name[16];

    snprintf(name, sizeof(name), "%d", (int)tid);
    return faccessat(t->dir, name, F_OK, 0) == 0;
}

/* Look at those that are left; OLD: listed some looks ago. */
static size_t keep_listed(struct threads *t, const struct cosched_cpuset *cpus,
                          const struct thread_map *map, bool strays, bool old, size_t *work)
{
    struct cosched_cpuset mask, home;
    size_t moved = 0;

    for (; t->left && *work; t->left--, t->looked++) {
        pid_t tid = t->tid[t->next];
        t->next = (t->next + 1) % t->count;
        const struct cosched_cpuset *to = thread_map_home(map, tid, cpus, &home);
        work_take(work, 1);
        if (cpuset_get_affinity(tid, &mask) < 0 || is_good(&mask, to, strays) ||
            (old && !is_ours(t, tid)))
            continue;
        work_take(work, THREADS_MOVE);
        if (cpuset_set_affinity(tid, to) == 0)
            moved++;
        else if (errno != ESRCH)
            t->failed = true;
    }
    t->stirred |= moved > 0;
    return moved;
}

size_t threads_keep(struct threads *t, const struct cosched_cpuset *cpus,
                    const struct thread_map *map, bool strays, size_t *work)
{
    size_t moved = 0;

    t->failed = false;
    if (threads_kept(t, cpus, map, strays, work))
        return 0;
    if (t->left && !cpuset_equal(&t->to, cpus))
        t->left = t->count; /* from here all around */
    t->to = *cpus;
    for (int pass = 0; pass < MAX_PASSES && *work; pass++) {
        bool old = t->left > 0;
        if (!old && !list(t, work))
            break;
        moved += keep_listed(t, cpus, map, strays, old, work);
        /* A thread made during the pass has the mask of its maker. */
        if (t->left || !t->stirred)
            break;
    }
    t->failed |= t->left || !*work || (!t->count && count_now(t));
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
