/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores a job uses, or would, whose processes report nothing. */

#ifndef COSCHED_USAGE_H
#define COSCHED_USAGE_H

/* Concept
 *
 * The CPU time of all processes of a job that are not attached, between two scans
 * that are USAGE_WINDOW_NS apart at least, over the time between them.  The window
 * is the job's, not the processes': one that takes over from another in the
 * middle of it counts for what is left.  No job is said to use more than it does:
 * the window goes from before the first reading until after the second, and a
 * process uses as many cores as it has threads at most, whenever the kernel gets
 * round to counting what they ran.  What a process used that has ended before the
 * second reading is missing.
 *
 * Beside others on the same CPUs, two threads get one CPU's worth.  So the time
 * counts, too, for which threads that never sleep had to wait for a CPU: of the
 * USAGE_THREADS newest of a process.  One that runs or waits is one core at most,
 * so this makes nothing serial seem more than one.  One that only looks for
 * something now and then waits each time, and would use little without that.
 */

#include "node_agent/core/enforcer.h"
#include "node_agent/enforce/proc.h"

#define USAGE_WINDOW_NS UINT64_C(200000000)
#define USAGE_THREADS 32

/* The present time as struct proc_stat has the start of processes. */
uint64_t usage_boot_ticks(void);

/* STAT is the present state of T, which is not attached. */
void usage_note(struct tracked *t, const struct proc_stat *stat);

/* T is attached, or not the job's so far: what it uses does not count, and what
 * it has used until it does, neither. */
void usage_forget(struct tracked *t);

/* A scan from BEGIN_NS to END_NS has noted all processes of JOB; SCAN_TICKS is
 * usage_boot_ticks() at its begin. */
void usage_measure(struct job *job, uint64_t begin_ns, uint64_t end_ns,
                   uint64_t scan_ticks);

#endif /* COSCHED_USAGE_H */
