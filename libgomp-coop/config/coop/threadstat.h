/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What the kernel says of a kernel thread of this process, and of other processes.  */

#ifndef COOP_THREADSTAT_H
#define COOP_THREADSTAT_H 1

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* CPU time of TID in ns; 0: not known.  */
extern uint64_t coop_threadstat_used (pid_t tid);

/* State of TID as in proc(5): 'R' runs or can run, 'S' or 'D' sleeps, '\0' is
   not known.  Sets *SLEPT, which may be NULL, to how often it has slept.  */
extern char coop_threadstat_state (pid_t tid, unsigned long *slept);

/* CPU time of process PID in ns; 0: not known.  Does its first kernel thread run, or wait
   for a CPU?  False if that is not known.  */
extern uint64_t coop_threadstat_process_used (pid_t pid);
extern bool coop_threadstat_process_runs (pid_t pid);

/* Is this process traced, by a debugger say?  True if that is not known.  */
extern bool coop_threadstat_traced (void);

#pragma GCC visibility pop

#endif /* COOP_THREADSTAT_H */
