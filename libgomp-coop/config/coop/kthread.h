/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Kernel-thread mode: every task is a kernel thread, workers are slots.

   For programs that need what belongs to a kernel thread (priority-inheriting
   mutexes, pthread_kill between threads, affinity and counters by thread).  A
   kernel thread runs only while it holds a slot, and there are as many as the
   allotment has CPUs; it gives the slot to the next one when it blocks.  A
   slot is free when its worker's `sleeping' is 1.

   Who holds a slot is bound to its CPU.  If it had to wait there for a time
   slice of something else, that CPU is shared: for a while whoever holds the slot
   may run on any CPU of the allotment, and nobody spins for long, so that the
   kernel finds a place.  And all others get spare slots, as they would all run
   without us: each time that a slot is handed over the kernel may prefer something
   else on that CPU, for milliseconds.  */

#ifndef COOP_KTHREAD_H
#define COOP_KTHREAD_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Creates the kernel thread of U and makes it ready.  0 or an error number.  */
extern int coop_kthread_create (struct coop_ult *u,
				const pthread_attr_t *attr);

/* As the functions of dispatch.h.  */
extern void coop_kthread_block (struct coop_ult *u, int *lock);
extern void coop_kthread_yield (struct coop_ult *u);
extern void coop_kthread_exit (struct coop_ult *u) __attribute__ ((noreturn));

/* Gives free slots to ready tasks.  */
extern void coop_kthread_fill (void);

/* The calling kernel thread, task U, takes slot W, which is free.  */
extern void coop_kthread_adopt (struct coop_ult *u, struct coop_worker *w);

#pragma GCC visibility pop

#endif /* COOP_KTHREAD_H */
