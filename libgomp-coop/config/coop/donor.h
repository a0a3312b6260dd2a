/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Donors: parked pthreads that lend their thread-local storage to a task.

   A task needs a thread control block that glibc knows, with errno, C++
   exception state, malloc caches and threadprivate variables of its own, and a
   stack.  A donor is a pthread that gives away both: it builds the task's first
   frame below its own, and sleeps until the task has ended.  Then it returns
   as an ordinary pthread, so that destructors of thread-local objects run.

   Donors are created when tasks need them (birth.h).  One whose task is joined ends with
   it; one whose task was detached, as those of nested teams are, is kept for
   the next task if the program has nothing that would show the difference
   (needs.h).

   What the kernel keeps by kernel thread must not be reached through the
   borrowed block: restartable sequences are unregistered here, setxid.h is
   about user ids.  */

#ifndef COOP_DONOR_H
#define COOP_DONOR_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* A task, ready to begin and else all zero, with the donor of one that has
   ended; NULL: there is none with that size of the stack.  */
extern struct coop_ult *coop_donor_reuse (size_t stack_size);

/* Creates the donor of U with a stack of U->stack_size bytes, 0: as usual, and
   sleeps until it has made U's context: it begins on the CPU of its creator.
   Returns 0 or an error number.  */
extern int coop_donor_create (struct coop_ult *u);

/* Creates a donor for the scheduler of worker W, whose own stack and storage
   belong to the initial thread; it will begin with ENTRY.  Returns 0 or an
   error number.  The initial thread must not leave W before it is there.  */
extern int coop_donor_create_scheduler (struct coop_worker *w,
					void (*entry) (void));
extern void coop_donor_await_scheduler (void);

/* The task U has ended: keeps its donor or lets it end.  If U is DETACHED it
   belongs to the donor from now on.  */
extern void coop_donor_return (struct coop_ult *u, bool detached);

/* Has the calling kernel thread leave restartable sequences: the area of a
   borrowed control block would go stale.  Its users fall back when they read
   an invalid CPU number.  False: it cannot be left.  */
extern bool coop_donor_leave_rseq (void);

/* Forgets the donors that are kept (child of a fork).  */
extern void coop_donor_reset (void);

#pragma GCC visibility pop

#endif /* COOP_DONOR_H */
