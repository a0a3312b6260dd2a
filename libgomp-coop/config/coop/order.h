/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Order: which task goes first after a barrier.

   Tasks of one worker that work in a pipeline must begin in its order, else
   each spins until it is preempted (preempt.h), which takes longer than many a
   stage.  The runtime cannot know the order, and it may change from one barrier
   to the next: the sweeps of NPB LU go there and back.  But programs repeat
   themselves.  How often a task was preempted after a barrier, before the next
   one, is how many tasks it should have let go first.  It does so, by yielding,
   when it leaves this barrier again.  Barriers are told apart by their region's
   function and by how many came before in the region.

   What was learned wrongly costs a few yields, at most so many as a task may
   be patient, and nothing is learned where no task has spun.  */

#ifndef COOP_ORDER_H
#define COOP_ORDER_H 1

#include "libgomp.h"

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Something has been learned.  */
extern int coop_order_known;

/* A region with FN begins in TEAM.  By its initial thread.  */
extern void coop_order_begin (struct gomp_team *team, void (*fn) (void *));

/* U spins, W's next tasks are let go first.  May be called in a handler.  */
extern void coop_order_learn (struct coop_worker *w, struct coop_ult *u);

/* The caller has left a barrier of its team; it may run on another worker
   afterwards.  */
extern void coop_order_follow (void);

#pragma GCC visibility pop

#endif /* COOP_ORDER_H */
