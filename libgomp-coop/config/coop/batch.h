/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Batches: tasks of one worker that wait for the same barrier.

   With many tasks per worker a barrier must not cost each of them an atomic
   operation on the shared counter and a place in the parking lot.  A task that
   arrives while its worker has another task of the team to run joins the
   worker's batch, a private list, and the worker switches to the other one.
   The last one there counts for all, so that the counter is touched once by
   each worker.  Batches are on a list of the barrier; whoever completes it
   appends each to the run queue of its worker at once.

   Workers steal, for whatever reason is then.  Now and then, when a pool opens
   its dock or a barrier of its team is over, all tasks are placed anew (stray.h).

   A worker whose batch is not counted yet runs a task that has not arrived
   either, so nobody waits for the count; before anything else (it looks for
   other work, a task blocks) it counts.  If this completes the barrier, one
   task of the batch is elected to do what libgomp has the last thread do.

   A worker without other work holds its batch until the barrier is over (hold.h).

   At the end of a region the tasks of a pool's threads would wake up from the
   barrier just to wait in the pool's dock.  Their batches go from one to
   the other, and they wake up in the next region.  The initial thread, which has
   no place in the dock, leads its batch there and is taken out.

   Not for an initial thread that stays at home; not for kernel threads and
   spares; and not while the team has explicit tasks, which threads at a barrier
   execute: a wake-up for those takes tasks out of batches again.  */

#ifndef COOP_BATCH_H
#define COOP_BATCH_H 1

#include "libgomp.h"

#include "coop.h"

#pragma GCC visibility push(hidden)

/* As gomp_barrier_wait_final_start, for a barrier in a team, by THR, the thread of U, which
   is NULL if the runtime does not know it; may return after the barrier has completed.
   Coop_batch_arrive, declared in bar.h, is the same for gomp_barrier_wait_start.  */
extern gomp_barrier_state_t coop_batch_arrive_final (gomp_barrier_t *bar,
						     struct gomp_thread *thr,
						     struct coop_ult *u);

/* The initial thread; of the pool that it leads the tasks go to the dock.  */
extern struct gomp_thread *coop_batch_leader;

/* The last one has arrived at BAR, a team's: lets all go on and returns true, or
   returns false if there is more to do than that.  */
extern bool coop_batch_complete (gomp_barrier_t *bar);

/* Counts the tasks in W's batch, which has some.  */
extern void coop_batch_flush (struct coop_worker *w);

/* Wakes up to COUNT tasks that wait for BAR; releases its batches if its
   generation is over.  */
extern void coop_batch_wake (gomp_barrier_t *bar, int count);

/* All tasks of BATCHES, without the initial thread, arrive at their pool's dock.  */
extern void coop_batch_dock (struct coop_ult *batches);

/* The last one has arrived at BAR, which is a dock or no team's barrier: lets
   all go on, and the batch LED, unless NULL.  */
extern void coop_batch_undock (gomp_barrier_t *bar, struct coop_ult *led);

/* After coop_batch_arrive_final: has the caller, which is over and done with
   the region, been in the dock and left it again?  If so, its team may no
   longer exist.  */
static inline bool
coop_batch_was_docked (void)
{
  struct coop_ult *u = coop_tls_ult ();
  return u && u->docked;
}

#pragma GCC visibility pop

#endif /* COOP_BATCH_H */
