/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Batches that workers hold (hold.h).  */

#include "hold.h"

#include <sched.h>

#include "batch.h"
#include "batchlist.h"
#include "dispatch.h"
#include "home.h"
#include "idle.h"
#include "runq.h"
#include "stray.h"

#define LOOKS 64 /* of a task at a barrier: about a microsecond */

bool
coop_hold_may (struct coop_worker *w)
{
  return !coop_must_leave (w) && coop_peek (&w->queue.length) == 0
	 && coop_peek (&coop_crowded) == 0 && !coop_stray_are_expected ();
}

bool
coop_hold_publish (struct coop_batch *batch, unsigned state)
{
  struct coop_barrier *b = batch->bar;
  bool waiting;

  coop_lock (&b->lock);
  coop_store (&b->batched, 1);
  coop_fence (); /* see coop_batch_wake */
  waiting = !((coop_load (&b->generation) ^ state) & -BAR_INCR);
  if (waiting)
    coop_batch_push (coop_batch_slot (b, state), batch->head, batch->tail, batch->count);
  coop_unlock (&b->lock);
  return waiting;
}

bool
coop_hold_look (struct coop_worker *w, struct coop_barrier *b, unsigned gen)
{
  if (coop_peek (&coop_crowded) || coop_home_wants (w))
    return false;
  for (unsigned i = 0; i < LOOKS; i++)
    {
      unsigned now = coop_load (&b->generation);
      if (now != gen)
	return (now ^ gen) & -BAR_INCR;
      coop_pause ();
    }
  return false;
}

void
coop_hold_leave (struct coop_worker *w, struct coop_ult *u,
		 struct coop_batch *batch, struct coop_barrier *b, unsigned gen)
{
  coop_batch_add (batch, u, w);
  w->held = *batch;
  w->held.bar = b;
  w->held_state = gen;
  coop_dispatch_switch (u, NULL, NULL);
}

void
coop_hold_go_on (struct coop_worker *w, struct coop_ult *u,
		 struct coop_batch *batch)
{
  struct coop_ult *first = batch->head;

  coop_idle_back (w); /* W's scheduler may have nothing to do for long */
  coop_batch_add_last (batch, u, w);
  if (coop_must_leave (w))
    {
      coop_runq_append_locked (w, first, u, batch->count);
      first = NULL;
    }
  else
    coop_runq_append_locked (w, first->next, u, batch->count - 1);
  coop_dispatch_switch (u, first, &w->queue.lock);
}

int coop_hold_seized;

void
coop_hold_await_watchers (gomp_barrier_t *bar)
{
  unsigned n = coop_peek (&coop_nworkers);
  for (unsigned i = 0; i < n; i++)
    while (coop_load (&coop_workers[i].watched) == coop_barrier (bar))
      sched_yield ();
}

/* Takes the batch that W holds, by whoever holds its lock.  */
static struct coop_batch
take_held (struct coop_worker *w)
{
  struct coop_batch batch = w->held;
  w->held.count = 0;
  __atomic_store_n (&w->held_offered, 0, __ATOMIC_RELAXED);
  return batch;
}

/* With the lock of what W holds: the team, or the dock, waits for its tasks, so the
   barrier exists.  */
static bool
is_overdue (const struct coop_worker *w)
{
  return coop_load (&w->held_offered)
	 && ((coop_load (&w->held.bar->generation) ^ w->held_state) & -BAR_INCR);
}

bool
coop_hold_is_overdue (struct coop_worker *w)
{
  if (!coop_peek (&w->held_offered))
    return false;
  coop_lock (&w->held_lock);
  bool overdue = is_overdue (w);
  coop_unlock (&w->held_lock);
  return overdue;
}

/* The barrier of BATCH, all tasks of which are on W, is over, and it goes on to the
   dock: it waits there for who opens that, the initial thread goes on.  */
static void
go_to_dock (struct coop_worker *w, struct coop_batch *batch)
{
  struct coop_ult *root = batch->head->root ? batch->head : NULL;
  struct coop_ult *head = root ? root->next : batch->head, *list = NULL;

  if (head)
    {
      coop_batch_push (&list, head, batch->tail, batch->count - (root != NULL));
      coop_batch_dock (list);
    }
  if (root)
    coop_runq_append (w, root, root, 1);
}

/* The initial thread ROOT goes on, and leads the COUNT tasks from HEAD to TAIL, whose
   contexts are saved when it does.  */
static void
lead (struct coop_ult *root, struct coop_ult *head, struct coop_ult *tail, unsigned count)
{
  struct coop_ult *before = root->led;

  root->led = NULL;
  coop_batch_push (&root->led, head, tail, count);
  if (__builtin_expect (before != NULL, 0)) /* at another pool's dock */
    coop_batch_dock (before);
}

bool
coop_hold_open (gomp_barrier_t *bar)
{
  struct coop_ult *u = coop_tls_ult (), *led = u ? u->led : NULL;
  struct coop_barrier *b = coop_barrier (bar);

  if (!led || coop_batch_dock_of (led) != bar)
    return false;
  unsigned missing = led->batch_count + 1;
  u->led = NULL;
  bool last = __atomic_compare_exchange_n (&b->awaited, &missing, b->total, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  if (last)
    coop_batch_undock (bar, led);
  else
    coop_batch_dock (led);
  return last;
}

/* BATCH and U, which came last and is still running, arrive in the dock on W, without
   the initial thread, and leave it again.  */
static void
wait_in_dock (struct coop_worker *w, struct coop_ult *u, struct coop_batch *batch)
{
  struct coop_barrier *b = coop_barrier (coop_batch_dock_of (u));
  unsigned gen = coop_load (&b->generation);

  batch->docking = false;
  if (__atomic_sub_fetch (&b->awaited, batch->count + 1, __ATOMIC_ACQ_REL) == 0)
    coop_batch_undock (coop_batch_dock_of (u), NULL);
  else if (!coop_hold_look (w, b, gen))
    {
      coop_hold_leave (w, u, batch, b, gen);
      return;
    }
  /* Most often they meet there again, and another CPU had the line last.  */
  __builtin_prefetch (&u->thread->ts.team->barrier.generation);
  coop_hold_go_on (w, u, batch);
}

/* As go_to_dock, for a batch without the initial thread: W keeps it and watches the
   dock.  Not before it has looked at the barrier of BATCH for the last time: the
   initial thread may end the team when all are in the dock.  */
static void
hold_in_dock (struct coop_worker *w, struct coop_batch *batch)
{
  gomp_barrier_t *bar = coop_batch_dock_of (batch->head);
  struct coop_barrier *b = coop_barrier (bar);
  unsigned gen = coop_load (&b->generation); /* cannot change before this: */

  if (__atomic_sub_fetch (&b->awaited, batch->count, __ATOMIC_ACQ_REL) == 0)
    {
      coop_batch_undock (bar, NULL);
      coop_runq_append (w, batch->head, batch->tail, batch->count);
      return;
    }
  w->held = *batch;
  w->held.bar = b;
  w->held.docking = false;
  w->held_state = gen;
}

/* The barrier of BATCH, which W has held, is over.  */
static void
let_go (struct coop_worker *w, struct coop_batch *batch)
{
  if (!batch->docking)
    coop_runq_append (w, batch->head, batch->tail, batch->count);
  else if (batch->head->root || !coop_hold_may (w))
    go_to_dock (w, batch);
  else
    hold_in_dock (w, batch);
}

void
coop_hold_seize (struct coop_worker *w)
{
  struct coop_batch batch = { 0 };

  if (!coop_peek (&w->held_offered))
    return;
  coop_lock (&w->held_lock);
  if (is_overdue (w))
    {
      batch = take_held (w);
      __atomic_add_fetch (&coop_hold_seized, 1, __ATOMIC_RELAXED);
    }
  coop_unlock (&w->held_lock);
  if (batch.count && batch.docking)
    go_to_dock (w, &batch);
  else if (batch.count)
    coop_runq_append (w, batch.head, batch.tail, batch.count);
}

void
coop_hold_dock (struct coop_worker *w, struct coop_ult *u, struct coop_batch *batch)
{
  struct coop_ult *root = batch->head;

  if (u->root)
    lead (u, batch->head, batch->tail, batch->count);
  else if (root->root)
    {
      coop_batch_add_last (batch, u, w);
      lead (root, root->next, u, batch->count - 1);
      coop_dispatch_switch (u, root, NULL);
    }
  else
    wait_in_dock (w, u, batch);
}

bool
coop_hold_places (const struct coop_ult *u, const struct coop_barrier *b)
{
  const struct gomp_thread *thr = u->thread;
  const struct gomp_thread_pool *pool = thr->thread_pool;

  if (!pool || !pool->threads || (!u->pooled && !u->root))
    return false;
  if (b == coop_barrier ((gomp_barrier_t *) &pool->threads_dock.bar))
    return pool->threads[0] != thr && coop_stray_are_expected ();
  return thr->ts.level == 1 && b == coop_barrier (&thr->ts.team->barrier)
	 && coop_stray_are_overdue ();
}

void
coop_hold_alone (gomp_barrier_t *bar, unsigned state)
{
  struct coop_ult *u = coop_tls_ult ();
  struct coop_worker *w = coop_tls_worker ();
  struct coop_batch batch = { 0 };

  if (u && u->kind == COOP_ULT && w && !coop_is_spare (w) && w->batch.count == 0
      && coop_hold_places (u, coop_barrier (bar))
      && coop_load (&bar->generation) == state)
    coop_hold_leave (w, u, &batch, coop_barrier (bar), state);
}

/* W holds a batch that should be placed anew: it goes on the list, if it still
   waits.  */
static bool
give_up (struct coop_worker *w)
{
  struct coop_batch *batch = &w->held;
  if (!coop_stray_are_expected () || batch->docking
      || coop_load (&batch->bar->generation) != w->held_state
      || !coop_hold_places (batch->head, batch->bar)
      || !coop_hold_publish (batch, w->held_state))
    return false;
  batch->count = 0;
  return true;
}

/* The contexts of all tasks of the batch are saved: from now on others may continue
   them.  */
void
coop_hold_watch (struct coop_worker *w)
{
  struct coop_barrier *b = w->held.bar;
  unsigned state = w->held_state;

  if (give_up (w))
    return;
  w->watched = b;
  coop_store (&w->held_offered, 1);
  coop_idle_spin (w, (int *) &b->generation, (int) state);
  coop_lock (&w->held_lock);
  struct coop_batch batch = take_held (w);
  coop_unlock (&w->held_lock);
  coop_store (&w->watched, NULL);
  if (batch.count == 0)
    {
      __atomic_sub_fetch (&coop_hold_seized, 1, __ATOMIC_RELAXED);
      return;
    }
  unsigned gen = coop_load (&b->generation);
  if (!((gen ^ state) & -BAR_INCR))
    {
      if (gen & BAR_TASK_PENDING)
	{
	  /* One task to execute explicit ones.  */
	  struct coop_ult *u = batch.head;
	  batch.head = u->next;
	  batch.count--;
	  coop_batch_call_early (u);
	  coop_runq_append (w, u, u, 1);
	}
      if (batch.count == 0 || coop_hold_publish (&batch, state))
	return;
    }
  let_go (w, &batch);
}
