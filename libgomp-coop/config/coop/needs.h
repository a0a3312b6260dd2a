/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Does the program need kernel threads of its own?

   Donors give a task everything that glibc keeps by thread, but not what the
   kernel does: the owner of a priority-inheriting mutex, the receiver of
   pthread_kill, affinity, scheduling policy, hardware counters.  A program that
   imports the functions for these is better off with kernel threads.  */

#ifndef COOP_NEEDS_H
#define COOP_NEEDS_H 1

#pragma GCC visibility push(hidden)

/* The name of the first such function that the main program imports, of the
   first such library that is loaded, or NULL.  */
extern const char *coop_needs_kernel_threads (void);

#pragma GCC visibility pop

#endif /* COOP_NEEDS_H */
