/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Explicit tasks whose memory and whose submission are the caller's.

   GOMP_task allocates what it makes and runs, and waits for the event of a
   detached task that it does not defer.  The tasks of ../kmp are allocated
   before they are submitted, some are run by compiled code, and none may wait
   for its event.  They use the parts of which GOMP_task consists; what that
   needs of libgomp's task.c is in our task.c and nowhere else.  */

#ifndef COOP_TASK_H
#define COOP_TASK_H 1

#include "libgomp.h"

#pragma GCC visibility push(hidden)

/* What GOMP_task makes of its arguments.  */
struct coop_task_kind
{
  bool final;
  bool detach; /* not complete before omp_fulfill_event (task) */
  int priority;
};

/* The thread begins to run TASK inside the current one, without deferring.  */
extern void coop_task_enter (struct gomp_task *task,
			     const struct coop_task_kind *kind);

/* It has run it.  The caller frees it.  */
extern void coop_task_leave (void);

/* It has run it, but the event is still to be fulfilled; needs a team.
   libgomp frees it then.  */
extern void coop_task_leave_detached (void);

/* Makes TASK one that is to be deferred, to run FN (DATA); it can then be
   fulfilled.  Needs a team.  */
extern void coop_task_prepare (struct gomp_task *task,
			       const struct coop_task_kind *kind,
			       void (*fn) (void *), void *data);

/* Submits TASK, which libgomp frees when it is complete.  DEPEND is as in
   GOMP_task, and TASK has room for it, or NULL.  */
extern void coop_task_defer (struct gomp_task *task, void **depend);

/* Runs one waiting task that the thread may run inside the current one, if
   there is one.  */
extern bool coop_task_run_one (void);

/* The addresses on which children of the current task that are not complete
   have dependences: stores up to ROOM of them at TO, returns how many there
   are.  */
extern size_t coop_task_addresses (void **to, size_t room);

/* Gives serial code a team of one thread, so that tasks can be deferred.
   False if there is none and cannot be.  */
extern bool coop_task_team (void);

#pragma GCC visibility pop

#endif /* COOP_TASK_H */
