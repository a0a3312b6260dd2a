/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* A task arrives at a barrier behind another one of its worker (batch.h), and the worker
   has a third to turn to: what each task but the first and the last does.

   With many tasks per worker this is all that barriers and regions cost, so it is inlined
   where tasks arrive, and has nothing else than what most of them need.  */

#ifndef COOP_FOLLOW_H
#define COOP_FOLLOW_H 1

#include "batch.h"
#include "batchlist.h"
#include "dispatch.h"
#include "region.h"
#include "runq.h"

#pragma GCC visibility push(hidden)

static inline bool
coop_follow_is_member (struct coop_ult *u, struct gomp_team *team)
{
  return u && u->thread && u->thread->ts.team == team;
}

/* What libgomp calls the state of who arrives in generation GEN.  */
static inline unsigned
coop_follow_state (unsigned gen)
{
  return gen & (-BAR_INCR | BAR_CANCELLED);
}

/* U continues after waiting in a batch: is it to act as the last one?  */
static inline bool
coop_follow_was_elected (struct coop_ult *u)
{
  bool elected = u->elected;
  if (__builtin_expect (elected, 0))
    u->elected = false;
  return elected;
}

/* The state of U, which continues after it arrived in generation GEN.  */
static inline unsigned
coop_follow_state_after (struct coop_ult *u, unsigned gen)
{
  gen = coop_follow_state (gen);
  return coop_follow_was_elected (u) ? gen | BAR_WAS_LAST : gen;
}

/* May U, whose thread is THR, go on from the last barrier of its region to the dock?  A
   thread with a table of dependences has to free it in the region.  Only the initial thread
   can lead a batch to a dock: a task that runs a target region on the host leads another
   pool meanwhile.  */
static inline bool
coop_follow_may_dock (const struct coop_ult *u, const struct gomp_thread *thr)
{
  if (thr->ts.level != 1 || thr->task->depend_hash)
    return false;
  if (u && u->pool == thr->thread_pool)
    return true;
  struct gomp_thread **pool = thr->thread_pool->threads; /* NULL: a team of one */
  return pool && pool[0] == coop_batch_leader;
}

/* The first task of W's queue if it is of TEAM and nobody else is at the queue, else NULL:
   of one that is BIASED, which only W makes it, or of one that is not.  The last one of W will
   write AWAITED.  */
static inline __attribute__ ((always_inline)) struct coop_ult *
coop_follow_take (struct coop_worker *w, struct gomp_team *team, unsigned *awaited,
		  bool biased)
{
  struct coop_runq *q = &w->queue;
  if (biased ? __builtin_expect (!coop_runq_enter (q), 0)
	     : coop_peek (&q->lock) == COOP_LOCK_BIASED
		   || __atomic_exchange_n (&q->lock, COOP_LOCK_HELD, __ATOMIC_ACQUIRE))
    return NULL;
  struct coop_ult *u = q->head;
  if (__builtin_expect (coop_follow_is_member (u, team), 1))
    {
      if (coop_runq_pop (q, u))
	coop_prefetch_write (awaited); /* U will count */
    }
  else
    u = NULL;
  if (biased)
    coop_runq_leave (q);
  else
    coop_unlock (&q->lock);
  return u;
}

/* If a task of B's team has arrived before on the worker of U, the caller, and another
   comes next: arrives in generation GEN, if DOCKING on its way to the dock, and returns
   true when it goes on.  BIASED: as for coop_follow_take.  The caller's worker may be
   another one afterwards.  */
static inline __attribute__ ((always_inline)) bool
coop_follow (struct coop_ult *u, struct coop_barrier *b, unsigned *awaited, unsigned gen,
	     bool docking, bool biased)
{
  struct coop_worker *w = coop_tls_worker ();
  struct coop_ult *next;

  if (__builtin_expect (!w || w->passing != awaited || (docking && u->root)
			    || (gen & BAR_TASK_PENDING) || coop_must_leave (w),
			0)
      || !(next = coop_follow_take (w, coop_batch_team (b), awaited, biased)))
    return false;
  if (docking)
    {
      u->docked = true;
      coop_region_count_next_ult (w);
    }
  u->arrived = gen;
  coop_batch_add_last (&w->batch, u, w);
  coop_dispatch_pass (w, u, next);
  return true;
}

#pragma GCC visibility pop

#endif /* COOP_FOLLOW_H */
