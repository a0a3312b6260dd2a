/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The threads of one process, and whether they are where they should be. */

#ifndef COSCHED_THREADS_H
#define COSCHED_THREADS_H

/* Concept
 *
 * Listing the threads of a process costs several times as much as asking where they
 * are, so they are remembered.  As long as /proc/PID/task, which is kept open, has as
 * many entries as there are remembered threads, and each of these lives, the list is
 * complete, unless the kernel reused a thread id at once.  So only "nothing to do" is
 * concluded from it, THREADS_PASSES times in a row at most; before a thread is moved
 * all are listed anew.
 *
 * No program can make a look longer: it takes of the WORK that it is given, in units of about
 * half a microsecond, and ends when nothing is left.  The next look goes on where it ended.  What
 * was listed some looks ago may have ended and its number be another's, so that it is asked for
 * again before it is moved.
 *
 * Threads that have a home (core/thread_map.h) are put on those of the CPUs that are there.
 *
 * The open directory belongs to the process, not to its pid, so reuse does no harm.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "node_agent/core/thread_map.h"
#include "protocol/layout.h"

#define THREADS_PASSES 8
#define THREADS_MOVE 8 /* work of moving one; listing it, or asking where it is, is 1 */

struct threads;

/* The threads of process PID.  NULL with errno: there is no such process, or no
 * memory or descriptor. */
struct threads *threads_new(pid_t pid);

/* Put all threads on CPUS, or those of them that MAP (may be NULL) has for a thread: all whose
 * affinity is another, or with STRAYS those whose affinity reaches beyond; as far as *WORK goes, of
 * which it takes what it did.  Returns the number of threads moved. */
size_t threads_keep(struct threads *threads, const struct cosched_cpuset *cpus,
                    const struct thread_map *map, bool strays, size_t *work);

/* True when all are known to be where threads_keep() would put them; false says nothing. */
bool threads_kept(struct threads *threads, const struct cosched_cpuset *cpus,
                  const struct thread_map *map, bool strays, size_t *work);

/* Take COST of *WORK, or what is left. */
static inline void work_take(size_t *work, size_t cost)
{
    *work -= cost < *work ? cost : *work;
}

/* True when the last threads_keep() left a thread that lives elsewhere, or may do so. */
bool threads_failed(const struct threads *threads);

/* How many there were when they were listed; THREADS may be NULL. */
size_t threads_count(const struct threads *threads);

/* How many were looked at in order to move them, so far. */
size_t threads_looked(const struct threads *threads);

/* How often they were listed, so far. */
size_t threads_lists(const struct threads *threads);

/* Takes NULL. */
void threads_free(struct threads *threads);

#endif /* COSCHED_THREADS_H */
