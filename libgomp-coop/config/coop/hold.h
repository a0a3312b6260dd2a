/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Holding: a batch that is counted stays with its worker until its barrier is over.

   A worker without other work keeps its batch to itself and watches the barrier:
   then completing it is one store, as with one task per worker.  The task that came
   last looks for a moment itself, which saves the ways to the scheduler and back;
   then the worker's scheduler watches, and only one that turns to something else
   puts the batch on the barrier's list.  From a worker that has lost its CPU
   (runq.h) another takes it when the barrier is over.

   A batch at the end of a region goes from there to the dock, counted there as soon
   as its worker has seen that the region is over, and held there, too: from region
   to region nobody touches the tasks of another worker.  The initial thread, which opens
   the dock, keeps the batch that it leads to itself and counts it as it comes there: most
   often it is the last one, and takes the batch along.  The dock does not open before all
   batches are counted, and so the team, which the initial thread may end after that,
   exists as long as a worker looks at its barrier.

   While tasks may be placed anew (stray.h) batches are not held: who opens the dock, or
   completes the barrier, places those on its list.  */

#ifndef COOP_HOLD_H
#define COOP_HOLD_H 1

#include "libgomp.h"

#include "coop.h"

#pragma GCC visibility push(hidden)

/* May W, which has no task to run, hold a batch at the end of a region?  */
extern bool coop_hold_may (struct coop_worker *w);

/* Puts BATCH, which arrived in STATE and is counted, on its barrier's list;
   returns false if the barrier is completed already.  */
extern bool coop_hold_publish (struct coop_batch *batch, unsigned state);

/* Is B over, which was in generation GEN, within a moment?  By a task of W.  */
extern bool coop_hold_look (struct coop_worker *w, struct coop_barrier *b,
			    unsigned gen);

/* U, which came last, joins BATCH, whose other tasks are in saved contexts; W's
   scheduler holds it while B is in generation GEN.  Returns when U goes on.  */
extern void coop_hold_leave (struct coop_worker *w, struct coop_ult *u,
			     struct coop_batch *batch, struct coop_barrier *b,
			     unsigned gen);

/* What U and BATCH waited for on W is over: in the order in which they came they go
   on, U last.  */
extern void coop_hold_go_on (struct coop_worker *w, struct coop_ult *u,
			     struct coop_batch *batch);

/* The region of U and BATCH, on W, is over: they go to the dock, and the initial
   thread, if it is among them, goes on.  Returns when U has left the dock, or at once
   if U is the initial thread.  */
extern void coop_hold_dock (struct coop_worker *w, struct coop_ult *u,
			    struct coop_batch *batch);

/* The caller comes to BAR.  If that is the dock of the batch that it leads, and all others
   are there: opens it and returns true.  Else the batch, if any, waits there.  */
extern bool coop_hold_open (gomp_barrier_t *bar);

/* May U, which waits at B, be placed anew behind it?  If that is the dock of its pool,
   which it does not lead, or the barrier of the pool's team, and it is time.  */
extern bool coop_hold_places (const struct coop_ult *u,
			      const struct coop_barrier *b);

/* The caller waits at BAR, in STATE, and has been counted: as a batch, if it may be
   placed anew.  Returns when it goes on, or at once.  */
extern void coop_hold_alone (gomp_barrier_t *bar, unsigned state);

/* W's scheduler waits for the barrier of the batch it holds, if it has nothing
   better to do; else the batch goes where others find it.  */
extern void coop_hold_watch (struct coop_worker *w);

/* Does W hold a batch whose barrier is over?  For other workers; W's look at
   the barrier ends what is true here.  */
extern bool coop_hold_is_overdue (struct coop_worker *w);

/* Moves such a batch to the queue of W, or to the dock.  By another worker.  W may
   still look at the barrier: while any does, who destroys one waits (bar.h).  */
extern void coop_hold_seize (struct coop_worker *w);

/* Workers whose batch has been seized and that may still watch its barrier.  Who
   destroys that has waited for the tasks of the batch, and so sees them.  */
extern int coop_hold_seized;
extern void coop_hold_await_watchers (gomp_barrier_t *bar);

#pragma GCC visibility pop

#endif /* COOP_HOLD_H */
