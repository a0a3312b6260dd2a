/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Run queues: ready tasks, one queue for each worker.

   A worker takes from the head of its own queue; without work it steals half
   of another's, from workers of its own LLC domain first, and from others only
   what has waited for a while.  What has just been placed (stray.h) is not taken
   for some microseconds.  The queue of a worker that may not run is emptied
   by the others.

   A worker that is awake, idle and allowed is about to take its only task
   itself, and to release the batch that it holds (hold.h); taking that away
   would only move it from one cache to another.  If it does nothing for a few
   microseconds though there is something to do, the kernel has given its CPU to
   something else, perhaps for several milliseconds: then it is lost, and others
   take even this until it is back.

   A lock costs half as much as a switch, and at short barriers a worker takes task
   after task from its own queue, where nobody else looks.  So the queue's lock can be
   biased towards its worker: this one does without it, by `entered', and whoever else
   locks the queue has all CPUs pass a fence (membarrier.h), waits until the worker is
   not in it, and has ended the bias.  That takes microseconds: after it the queue does
   without a bias, the longer the sooner it was ended.  */

#ifndef COOP_RUNQ_H
#define COOP_RUNQ_H 1

#include "coop.h"
#include "membarrier.h"

#pragma GCC visibility push(hidden)

/* The caller has set the lock of W's queue, which was in the state WAS, not free.  Returns
   when the queue is its own.  */
extern void coop_runq_lock_slow (struct coop_worker *w, int was);

/* Begins to use Q, the queue of the caller, without its lock; until coop_runq_leave.
   Returns false if it must be locked.  Invariant: who locks Q has either stored that
   before this looks, or sees `entered' after its fence.  */
static inline bool
coop_runq_enter (struct coop_runq *q)
{
  __atomic_store_n (&q->entered, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  if (__builtin_expect (coop_load (&q->lock) == COOP_LOCK_BIASED, 1))
    return true;
  __atomic_store_n (&q->entered, 0, __ATOMIC_RELAXED);
  return false;
}

static inline void
coop_runq_leave (struct coop_runq *q)
{
  coop_store (&q->entered, 0);
}

/* Until coop_runq_unlock, before which the caller may have become another context of its
   worker.  */
static inline void
coop_runq_lock (struct coop_worker *w)
{
  bool own = w == coop_tls_worker ();
  if (own && coop_runq_enter (&w->queue))
    return;
  int was = __atomic_exchange_n (&w->queue.lock, COOP_LOCK_HELD, __ATOMIC_ACQUIRE);
  if (was == COOP_LOCK_HELD || (was == COOP_LOCK_BIASED && !own))
    coop_runq_lock_slow (w, was);
}

/* With a bias if the caller is W and has several tasks to take.  */
static inline void
coop_runq_unlock (struct coop_worker *w)
{
  struct coop_runq *q = &w->queue;
  bool own = w == coop_tls_worker ();
  int state = COOP_LOCK_FREE;

  if (own && q->entered)
    {
      coop_runq_leave (q);
      return;
    }
  if (own && coop_peek (&coop_membarrier_ready) && q->length > 1)
    {
      if (q->rest)
	q->rest--;
      else
	{
	  q->grants++;
	  state = COOP_LOCK_BIASED;
	}
    }
  coop_store (&q->lock, state);
}

/* Appends the COUNT tasks from HEAD to TAIL to the queue of W.  */
extern void coop_runq_append (struct coop_worker *w, struct coop_ult *head,
			      struct coop_ult *tail, unsigned count);

/* Puts U before all others in the queue of W.  */
extern void coop_runq_prepend (struct coop_worker *w, struct coop_ult *u);

/* As coop_runq_append, but returns with the queue locked; the caller releases it once
   the contexts of all are saved.  */
extern void coop_runq_append_locked (struct coop_worker *w, struct coop_ult *head,
				     struct coop_ult *tail, unsigned count);

/* Removes the first task U of Q, whose lock is held.  Was it the last one?  */
static inline bool
coop_runq_pop (struct coop_runq *q, struct coop_ult *u)
{
  struct coop_ult *next = u->next;

  q->head = next;
  /* For the next switch: all storages are alike in the lower bits of their addresses, so
     that the first-level cache has few of them.  */
  if (next)
    __builtin_prefetch (next->tls, 1);
  else
    q->tail = NULL;
  __atomic_store_n (&q->length, q->length - 1, __ATOMIC_RELAXED);
  return !next;
}

/* The first task of W's own queue, or NULL.  */
static inline struct coop_ult *
coop_runq_take (struct coop_worker *w)
{
  struct coop_runq *q = &w->queue;
  if (coop_peek (&q->length) == 0)
    return NULL;
  coop_runq_lock (w);
  struct coop_ult *u = q->head;
  if (u)
    coop_runq_pop (q, u);
  coop_runq_unlock (w);
  return u;
}

/* A task of another worker's queue, or NULL; more of them go to W's own.  */
extern struct coop_ult *coop_runq_steal (struct coop_worker *w);

/* What is queued at workers that may not run goes to W's queue: those that
   have a queue of their own do not steal.  */
extern void coop_runq_adopt (struct coop_worker *w);

/* Has what is queued since SINCE waited for NS by NOW?  NOW may be earlier: another
   worker queues it after the look at the clock, or has a clock that is ahead.  */
static inline bool
coop_runq_has_waited (uint64_t now, uint64_t since, uint64_t ns)
{
  return now > since && now - since >= ns;
}

/* Is there a task in any queue?  In one of a worker that may not run?  Tasks in all
   queues.  */
extern bool coop_runq_any (void);
extern bool coop_runq_orphans (void);
extern unsigned coop_runq_total (void);

/* W runs: it is not lost.  Returns true if it was.  */
extern bool coop_runq_found (struct coop_worker *w);

/* Those who are handing out tasks to several workers now: until all have theirs,
   none is taken from a worker that may run, as who is given its own last would
   begin with another's.  Takes no longer than a futex call for each.  */
extern int coop_runq_handing;

static inline void
coop_runq_hand_out (int begin)
{
  __atomic_add_fetch (&coop_runq_handing, begin, __ATOMIC_RELAXED);
}

/* A team of the process has come to a barrier: what its first region touches is touched.  */
extern int coop_runq_touched;

/* Workers that are lost.  */
extern int coop_runq_lost;

/* Would worker W find something to steal from the victim that stands COUNT
   places after it?  A cheap look for loops that spin.  */
extern bool coop_runq_look (struct coop_worker *w, unsigned count);

#pragma GCC visibility pop

#endif /* COOP_RUNQ_H */
