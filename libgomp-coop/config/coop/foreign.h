/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Kernel threads that the program has created itself.

   They run whenever they like, but only on CPUs of the allotment, as the job's
   other CPUs may be in use by somebody else.  A thread inherits the binding of
   the one that creates it, here often a worker's to a single CPU, which means
   nothing: such threads get the whole allotment, too.  The monitor looks for
   new ones several times a second, and all follow when the allotment changes.

   The runtime's own threads (workers, donors, the monitor) are known by their
   ids.  */

#ifndef COOP_FOREIGN_H
#define COOP_FOREIGN_H 1

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The calling thread is the runtime's, until it says otherwise.  */
extern void coop_foreign_except_me (void);
extern void coop_foreign_include_me (void);

/* Looks for new threads, now and then; NOW as by coop_now_ns.  For the
   monitor.  */
extern void coop_foreign_tick (uint64_t now);

/* Binds the threads that are known to the new allotment.  For the monitor.  */
extern void coop_foreign_follow (void);

/* Forgets all threads (child of a fork).  */
extern void coop_foreign_reset (void);

#pragma GCC visibility pop

#endif /* COOP_FOREIGN_H */
