/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores a job uses, or would, whose processes report nothing. */

#ifndef COSCHED_USAGE_H
#define COSCHED_USAGE_H

/* Concept
 *
 * Use is the CPU time of all processes of a job that are not attached, between
 * two scans at least USAGE_WINDOW_NS apart, over the time between them.  It
 * never exceeds what the job really uses: the window goes from before the first
 * reading until after the second, and a process counts for as many cores as it
 * has threads at most.  The time of processes that ended before the second
 * reading is missing.
 *
 * Two threads that share a CPU get one CPU's worth.  So the time in which
 * threads that never sleep waited for a CPU counts, too, for the USAGE_THREADS
 * newest threads of a process, and USAGE_LOOKS of a job.  A thread counts for
 * one core at most, so nothing serial looks parallel.
 *
 * Between scans the CPU clocks of the processes tell the same sooner (core/stretch.h), if they are
 * all that there are: no process came or went for USAGE_STEADY_NS, as those of `make -j` do, there
 * are USAGE_CLOCKS at most, and none has more threads than USAGE_LISTED, of which the kernel adds
 * up the time.  Where CPUs run without a tick (nohz_full) it does so once in a second, and clocks
 * are not read.
 */

#include "node_agent/core/enforcer.h"
#include "node_agent/enforce/proc.h"

#define USAGE_WINDOW_NS UINT64_C(200000000)
#define USAGE_THREADS   32
#define USAGE_LOOKS     256 /* at threads of one job in a scan */
#define USAGE_LISTED                                                           \
    4096 /* threads; one that has more is seen by its CPU time alone */
#define USAGE_CLOCKS    128 /* processes of one job whose CPU clocks are read */
#define USAGE_STEADY_NS UINT64_C(1000000000)

/* The present time as struct proc_stat has the start of processes. */
uint64_t usage_boot_ticks(void);

/* STAT is the present state of T, which is not attached. */
void usage_note(struct tracked *t, const struct proc_stat *stat);

/* T is attached, or not the job's so far: what it used until now does not
 * count. */
void usage_forget(struct tracked *t);

/* A scan from BEGIN_NS to END_NS has noted all processes of JOB; SCAN_TICKS is
 * usage_boot_ticks() at its begin. */
void usage_measure(struct job *job, uint64_t begin_ns, uint64_t end_ns,
                   uint64_t scan_ticks);

/* CPU time that the unattached processes of JOB have used at NOW_NS; STRETCH_UNKNOWN: see above. */
uint64_t usage_cpu_ns(const struct job *job, uint64_t now_ns);

/* For how long the newest of their threads, as many as above, have waited for a CPU so far. */
uint64_t usage_waited_ns(const struct job *job);

/* True when FILE, as the kernel's list nohz_full, names any CPU. */
bool usage_tickless(const char *file);

#endif /* COSCHED_USAGE_H */
