/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Dispatching of tasks on workers (dispatch.h).  */

#include "dispatch.h"

#include <sched.h>

#include "batch.h"
#include "birth.h"
#include "fiber.h"
#include "hold.h"
#include "idle.h"
#include "kthread.h"
#include "region.h"
#include "runq.h"
#include "settings.h"
#include "ult.h"

#define ADOPT_SWITCHES 16 /* a worker looks after others so often */

void
coop_dispatch_finish (struct coop_worker *w)
{
  enum coop_post post = w->post;

  w->post = COOP_POST_NOTHING;
  if (post == COOP_POST_UNLOCK && w->post_for == &w->queue.lock)
    coop_runq_unlock (w);
  else if (post == COOP_POST_UNLOCK)
    coop_unlock (w->post_for);
  else if (post == COOP_POST_RECLAIM)
    coop_ult_reclaim (w->post_for);
  else
    {
      coop_store (&coop_workers[0].home_ready, w->post_for);
      coop_fence ();
      coop_idle_wake (&coop_workers[0]);
    }
}

/* Duties left over by the previous context of this worker.  */
static inline __attribute__ ((always_inline)) void
begin (void)
{
  struct coop_worker *w = coop_tls_worker ();

  if (__builtin_expect (coop_fibers, 0))
    coop_fiber_arrive (w);
  if (w->post != COOP_POST_NOTHING)
    coop_dispatch_finish (w);
}

void
coop_dispatch_begin (void)
{
  begin ();
}

static inline __attribute__ ((always_inline)) void
switch_to (struct coop_worker *w, struct coop_ult *u, void **save)
{
  if (__builtin_expect (coop_fibers, 0))
    coop_fiber_leave (w);
  if (u)
    {
      void *tp = coop_dispatch_enter (w, u);
      coop_switch (save, coop_stack_enter (u), tp);
    }
  else
    {
      w->running = NULL;
      w->switches++;
      coop_switch (save, w->sched_sp, w->sched_tp);
    }
  begin ();
}

/* Leaves to the context that W runs next to release LOCK, unless NULL.  */
static inline void
leave_lock (struct coop_worker *w, int *lock)
{
  w->post_for = lock;
  w->post = lock ? COOP_POST_UNLOCK : COOP_POST_NOTHING;
}

void
coop_dispatch_switch (struct coop_ult *u, struct coop_ult *next, int *lock)
{
  struct coop_worker *w = coop_tls_worker ();
  leave_lock (w, lock);
  switch_to (w, next, &u->sp);
}

void
coop_dispatch_pass_trimmed (struct coop_worker *w, struct coop_ult *u,
			    struct coop_ult *next, void *sp)
{
  coop_stack_await (next);
  coop_switch (&u->sp, sp, coop_dispatch_enter (w, next));
  begin ();
}

/* As coop_dispatch_next, for a task that does not arrive at a barrier.  */
static struct coop_ult *
successor (struct coop_worker *w)
{
  if (w->batch.count)
    coop_batch_flush (w);
  return coop_dispatch_next (w);
}

/* Not inlined: the caller's worker is another one afterwards.  */
__attribute__ ((noinline)) void
coop_dispatch_block (struct coop_ult *u, int *lock)
{
  struct coop_worker *w = coop_tls_worker ();
  struct coop_ult *next = successor (w);
  leave_lock (w, lock);
  switch_to (w, next, &u->sp);
}

static __attribute__ ((noinline)) void
yield_ult (struct coop_ult *u)
{
  struct coop_worker *w = coop_tls_worker (), *home;
  struct coop_ult *next = successor (w);

  if (!next && !coop_must_leave (w))
    {
      next = coop_runq_steal (w);
      if (!next)
	return;
    }
  home = coop_is_spare (w) || u->root ? &coop_workers[coop_ult_settle (u)] : w;
  coop_runq_append_locked (home, u, u, 1);
  leave_lock (w, &home->queue.lock);
  switch_to (w, next, &u->sp);
}

/* What a task that yields in vain waits for may be queued where nobody runs.
   W has tasks of its own to turn to and does not steal; so now and then it
   looks.  */
static void
look_after_others (struct coop_worker *w)
{
  if (!w || w->switches - w->adopted < ADOPT_SWITCHES || coop_is_spare (w)
      || !coop_may_run (w))
    return;
  w->adopted = w->switches;
  coop_runq_adopt (w);
}

void
coop_dispatch_yield (void)
{
  struct coop_ult *u = coop_tls_ult ();
  if (!u)
    return;
  look_after_others (coop_tls_worker ());
  if (u->kind == COOP_ULT)
    yield_ult (u);
  else if (u->kind == COOP_KTHREAD)
    coop_kthread_yield (u);
}

void
coop_dispatch_exit (struct coop_ult *u)
{
  struct coop_worker *w = coop_tls_worker ();
  struct coop_ult *next = successor (w);
  void *unused;
  w->post = COOP_POST_RECLAIM;
  w->post_for = u;
  switch_to (w, next, &unused);
  __builtin_unreachable ();
}

__attribute__ ((noinline)) void
coop_dispatch_return_home (void)
{
  struct coop_ult *u = coop_tls_ult ();
  struct coop_worker *w = coop_tls_worker ();
  if (!u || !u->root || u->kind != COOP_ULT || w == &coop_workers[0])
    return;
  struct coop_ult *next = successor (w);
  w->post = COOP_POST_HOME;
  w->post_for = u;
  switch_to (w, next, &u->sp);
}

unsigned
coop_dispatch_hand (struct coop_worker *w, struct coop_ult *head,
		    struct coop_ult *tail, unsigned count)
{
  coop_runq_append (w, head, tail, count);
  if (coop_mode == COSCHED_MODE_KTHREAD || !coop_may_run (w))
    return count;
  coop_fence ();
  if (coop_load (&w->sleeping))
    coop_idle_wake (w);
  else if (!coop_idle_any_asleep ())
    return 0;
  else if (coop_peek (&w->running) || coop_peek (&w->lost))
    return count;
  return w->started ? count - 1 : count;
}

void
coop_dispatch_ready (unsigned count)
{
  coop_fence ();
  if (coop_mode == COSCHED_MODE_KTHREAD)
    coop_kthread_fill ();
  else
    coop_idle_kick (count);
}

void
coop_dispatch_first (struct coop_ult *u)
{
  if (coop_dispatch_hand (&coop_workers[u->home], u, u, 1))
    coop_dispatch_ready (1);
}

/* The next task that W's scheduler has of its own, or NULL.  */
static struct coop_ult *
find_own (struct coop_worker *w)
{
  struct coop_ult *u = coop_load (&w->home_ready);
  if (__builtin_expect (u != NULL, 0))
    {
      coop_store (&w->home_ready, NULL);
      coop_idle_kick (coop_peek (&w->queue.length));
      return u;
    }
  return coop_is_spare (w) ? NULL : coop_runq_take (w);
}

void
coop_dispatch_loop (struct coop_worker *w)
{
  for (;;)
    {
      if (w->batch.count)
	coop_batch_flush (w);
      while (w->held.count)
	coop_hold_watch (w);
      coop_idle_back (w);
      if (!coop_may_run (w))
	{
	  /* What it leaves behind is for the others.  */
	  coop_idle_kick (coop_runq_total ());
	  coop_idle_sleep (w);
	  continue;
	}
      struct coop_ult *u = find_own (w);
      if (!u)
	u = coop_birth_next (w);
      if (!u)
	{
	  coop_idle_wait (w);
	  if (coop_may_run (w) && !(u = find_own (w)))
	    u = coop_runq_steal (w);
	  if (!u)
	    {
	      if (coop_peek (&coop_crowded))
		sched_yield ();
	      continue;
	    }
	}
      if (w->idle_since_ns)
	coop_region_found (w);
      if (__builtin_expect (coop_fibers, 0))
	coop_fiber_leave (w);
      void *tp = coop_dispatch_enter (w, u);
      coop_switch (&w->sched_sp, coop_stack_enter (u), tp);
      coop_dispatch_begin ();
      w->sched_tls->ult = NULL;
      w->sched_tls->thread = NULL;
      w->sched_tls->kmp = NULL;
    }
}
