/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Donors: parked pthreads that lend their thread-local storage to a task.

   A task needs a thread control block that glibc knows, with errno, C++
   exception state, malloc caches and threadprivate variables of its own, and a
   stack.  A donor is a pthread that gives away both: it builds the task's first
   frame below its own, and sleeps until the task has ended.  Then it returns
   as an ordinary pthread, so that destructors of thread-local objects run.

   What the kernel keeps by kernel thread must not be reached through the
   borrowed block: restartable sequences are unregistered, and the signal by
   which glibc has all threads change their user ids (SIGSETXID) is handled
   with the kernel thread's own thread pointer.  */

#ifndef COOP_DONOR_H
#define COOP_DONOR_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Creates the donor of U with the stack size of ATTR; the donor makes U ready.
   Returns 0 or an error number.  */
extern int coop_donor_create (struct coop_ult *u, const pthread_attr_t *attr);

/* Creates a donor for the scheduler of worker W, whose own stack and storage
   belong to the initial thread; it will begin with ENTRY.  Returns 0 or an
   error number.  */
extern int coop_donor_create_scheduler (struct coop_worker *w,
					void (*entry) (void));

/* The task U has ended: lets its donor end.  A DETACHED donor frees U.  */
extern void coop_donor_finish (struct coop_ult *u, bool detached);

/* Has the current kernel thread leave restartable sequences: the area of a
   borrowed control block would go stale.  Its users fall back when they read
   an invalid CPU number.  */
extern void coop_donor_leave_rseq (void);

/* Installs the handler round glibc's for SIGSETXID, once.  */
extern void coop_donor_wrap_setxid (void);

#pragma GCC visibility pop

#endif /* COOP_DONOR_H */
