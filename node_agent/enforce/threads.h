/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The threads of one process, and whether they are where they should be. */

#ifndef COSCHED_THREADS_H
#define COSCHED_THREADS_H

/* Concept
 *
 * To list the threads of a process costs several times as much as to ask where
 * they are, and mostly they are the same as the last time.  So they are
 * remembered.  While the directory /proc/PID/task, which is kept open, has as
 * many entries as there are remembered threads, and each of these lives, they
 * are all there are, unless one of them ended and the kernel gave its number to
 * a thread of another process at once.  So what is concluded is only that
 * nothing is to be done, and not more than THREADS_PASSES times on end; nothing
 * is moved before the threads were listed anew.
 *
 * The directory belongs to the process, not to its number: another one that
 * gets the number is not taken for it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "protocol/layout.h"

#define THREADS_PASSES 8

struct threads;

/* The threads of process PID.  NULL with errno: there is no such process, or no
 * memory or descriptor. */
struct threads *threads_new(pid_t pid);

/* Put all threads on CPUS: those whose affinity is another, or with STRAYS those
 * whose affinity reaches beyond.  Returns the number of threads moved. */
size_t threads_keep(struct threads *threads, const struct cosched_cpuset *cpus,
                    bool strays);

/* True when all are known to be where threads_keep() would put them; false says
 * nothing. */
bool threads_kept(struct threads *threads, const struct cosched_cpuset *cpus,
                  bool strays);

/* How often they were listed, so far. */
size_t threads_lists(const struct threads *threads);

/* Takes NULL. */
void threads_free(struct threads *threads);

#endif /* COSCHED_THREADS_H */
