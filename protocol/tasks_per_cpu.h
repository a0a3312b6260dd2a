/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Tasks that the runtime library starts for each CPU where nobody says how many. */

#ifndef COSCHED_TASKS_PER_CPU_H
#define COSCHED_TASKS_PER_CPU_H

/* Concept
 *
 * A team of equal tasks can be dealt out to some numbers of CPUs better than to
 * others.  It has the fewest for each CPU with which no number of CPUs that the
 * job may get is idle for much of the time at a barrier.  The simulator starts
 * as many as the library does.
 */

/* Of the CPUs' time.  With less there would be more tasks, which cost more than
 * that (docs/evaluation-emulated.md, "Tasks for each CPU"). */
#define COSCHED_IDLE_PERCENT_MAX 10

/* Is no more lost when TASKS equal tasks are dealt out to any number of CPUs up
 * to CPUS? */
static inline int cosched_tasks_fold(unsigned long tasks, unsigned long cpus)
{
    for (unsigned long c = 1; c <= cpus; c++) {
        unsigned long room = (tasks + c - 1) / c * c;
        if ((room - tasks) * 100 > room * COSCHED_IDLE_PERCENT_MAX)
            return 0;
    }
    return 1;
}

/* For a job that may have up to CPUS CPUs.  Ends: at most 1 / (m + 1) is lost
 * with m tasks for each. */
static inline unsigned cosched_tasks_per_cpu(unsigned long cpus)
{
    unsigned m = 1;

    while (!cosched_tasks_fold(m * cpus, cpus))
        m++;
    return m;
}

#endif /* COSCHED_TASKS_PER_CPU_H */
