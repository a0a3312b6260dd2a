/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Batches of tasks at a barrier (batch.h).  */

#include "batch.h"

#include <limits.h>

#include "batchlist.h"
#include "dispatch.h"
#include "fiber.h"
#include "follow.h"
#include "hold.h"
#include "order.h"
#include "park.h"
#include "region.h"
#include "runq.h"
#include "stray.h"

/* Takes the first task of the first batch of LIST, whose barrier's lock is held, or
   NULL.  */
static struct coop_ult *
take_one (struct coop_ult **list)
{
  struct coop_ult *u = *list;
  if (!u)
    return NULL;
  *list = u->batch_next;
  if (u->batch_count > 1)
    coop_batch_push (list, u->next, u->batch_tail, u->batch_count - 1);
  coop_batch_call_early (u);
  return u;
}

/* ---- Release.  ---- */

static void
make_ready (struct coop_ult *batch)
{
  unsigned others = 0;
  if (!batch)
    return;
  bool several = batch->batch_next != NULL;
  if (several)
    coop_runq_hand_out (1);
  while (batch)
    {
      struct coop_ult *next = batch->batch_next;
      others += coop_dispatch_hand (&coop_workers[batch->home], batch,
				    batch->batch_tail, batch->batch_count);
      batch = next;
    }
  if (several)
    coop_runq_hand_out (-1);
  if (others)
    coop_dispatch_ready (others);
}

static struct coop_ult *
take_all (struct coop_barrier *b, unsigned gen)
{
  struct coop_ult **list = coop_batch_slot (b, gen);
  coop_lock (&b->lock);
  struct coop_ult *batches = *list;
  *list = NULL;
  if (!b->batches[0] && !b->batches[1])
    coop_store (&b->batched, 0);
  coop_unlock (&b->lock);
  return batches;
}

/* BATCHES of a team of TOTAL go on, where they belong if it is time for that.  */
static void
go_on (struct coop_ult *batches, unsigned total)
{
  if (!batches || !coop_stray_are_due () || !coop_stray_hand_out (batches, total))
    make_ready (batches);
}

void
coop_batch_undock (gomp_barrier_t *bar, struct coop_ult *led)
{
  struct coop_barrier *b = coop_barrier (bar);
  unsigned gen = coop_load (&b->generation), total = b->awaited = b->total;

  coop_store (&b->generation, gen + BAR_INCR);
  /* Who holds a batch sees the new generation, or its batch is on the list now
     (coop_hold_publish).  */
  coop_fence ();
  struct coop_ult *batches = coop_peek (&b->batched) ? take_all (b, gen) : NULL;
  if (led)
    coop_batch_push (&batches, led, led->batch_tail, led->batch_count);
  go_on (batches, total);
  /* Kernel threads that sleep.  */
  if (__builtin_expect (coop_stray_should_sleep (), 0) && coop_stray_are_due ())
    go_on (coop_park_take ((int *) &b->generation), total);
  coop_unpark ((int *) &b->generation, INT_MAX);
}

/* The pool is that of its tasks: its leader may be in another one already (is_led).  */
void
coop_batch_dock (struct coop_ult *batches)
{
  gomp_barrier_t *bar = coop_batch_dock_of (batches);
  struct coop_barrier *b = coop_barrier (bar);
  unsigned count = 0;

  coop_lock (&b->lock);
  /* Cannot change before the tasks have been counted.  */
  unsigned gen = coop_load (&b->generation);
  while (batches)
    {
      struct coop_ult *next = batches->batch_next;
      count += batches->batch_count;
      coop_batch_push (coop_batch_slot (b, gen), batches, batches->batch_tail,
		       batches->batch_count);
      batches = next;
    }
  coop_store (&b->batched, 1);
  bool last = __atomic_sub_fetch (&b->awaited, count, __ATOMIC_ACQ_REL) == 0;
  coop_unlock (&b->lock);
  if (last)
    coop_batch_undock (bar, NULL);
}

/* Are BATCHES on their way to the dock?  */
static bool
is_docking (const struct coop_ult *batches)
{
  if (batches && batches->root)
    batches = batches->batch_count > 1 ? batches->next : batches->batch_next;
  return batches && batches->docked;
}

/* Takes the initial thread, which does not go to the dock, out of BATCHES,
   which do: it leads one.  Returns NULL if it is not there.  */
static struct coop_ult *
take_root (struct coop_ult **batches)
{
  while (*batches && !(*batches)->root)
    batches = &(*batches)->batch_next;
  struct coop_ult *root = *batches;
  if (!root)
    return NULL;
  *batches = root->batch_next;
  if (root->batch_count > 1)
    coop_batch_push (batches, root->next, root->batch_tail, root->batch_count - 1);
  root->batch_next = NULL;
  root->batch_tail = root;
  root->batch_count = 1;
  return root;
}

/* The barrier of BATCHES is over.  The initial thread goes first: it has most
   to do before the next region, and waits at the dock for those that go there.
   It may end the team, so that nobody must look at the barrier afterwards.  TOTAL have
   waited, or 0: they stay where they are.  */
static void
release (struct coop_ult *batches, unsigned total)
{
  if (!is_docking (batches))
    {
      if (total)
	go_on (batches, total);
      else
	make_ready (batches);
      return;
    }
  make_ready (take_root (&batches));
  coop_batch_dock (batches);
}

/* As coop_batch_wake and release.  */
static void
wake (struct coop_barrier *b, int count, unsigned total)
{
  unsigned gen = coop_load (&b->generation);
  struct coop_worker *w = coop_tls_worker ();
  if (count == INT_MAX && !coop_peek (&coop_runq_touched))
    coop_store (&coop_runq_touched, 1);
  if (w && w->closing.count && w->closing.bar == b)
    {
      /* Those that arrived on W before the caller, see hold.  */
      coop_runq_append (w, w->closing.head, w->closing.tail, w->closing.count);
      w->closing.count = 0;
    }
  /* Contains a fence: a batch is on the list now, or its worker will see the
     new generation (coop_hold_publish).  */
  int woken = (int) coop_unpark ((int *) &b->generation, count);
  if (coop_load (&b->batched))
    release (take_all (b, gen - BAR_INCR), total);
  if (count == INT_MAX || woken >= count || !coop_load (&b->batched))
    return;
  /* For explicit tasks.  */
  for (; woken < count; woken++)
    {
      coop_lock (&b->lock);
      struct coop_ult *u = take_one (coop_batch_slot (b, gen));
      coop_unlock (&b->lock);
      if (!u)
	return;
      if (coop_dispatch_hand (&coop_workers[u->home], u, u, 1))
	coop_dispatch_ready (1);
    }
}

void
coop_batch_wake (gomp_barrier_t *bar, int count)
{
  wake (coop_barrier (bar), count, 0);
}

/* The last one has arrived at B in generation GEN: have all just to go on?  The number of
   tasks is in a line that the initial thread writes in each region: a look at it takes
   two transfers between CPUs.  */
static bool
is_simple (struct coop_barrier *b, unsigned gen)
{
  if (gomp_cancel_var || gen % BAR_INCR || (b->tasked && coop_batch_team (b)->task_count))
    return false;
  b->tasked = 0;
  return true;
}

/* Lets all go on.  By the last one, or by a scheduler in its place.  */
static void
complete (struct coop_barrier *b, unsigned gen)
{
  unsigned total = b->total;
  coop_stray_pass (&b->strayed);
  const struct coop_ult *first
      = coop_stray_are_overdue () ? coop_peek (coop_batch_slot (b, gen)) : NULL;
  bool again = first && coop_hold_places (first, b);

  b->awaited_final = total;
  b->awaited = total;
  coop_store (&b->generation, gen + BAR_INCR);
  wake (b, INT_MAX, again ? total : 0);
}

bool
coop_batch_complete (gomp_barrier_t *bar)
{
  struct coop_barrier *b = coop_barrier (bar);
  unsigned gen = coop_load (&b->generation);
  bool simple = is_simple (b, gen);

  if (simple)
    complete (b, gen);
  return simple;
}

/* ---- Arrival.  ---- */

struct gomp_thread *coop_batch_leader;

/* W's batch is the caller's, who counts it.  */
static inline struct coop_batch
take_batch (struct coop_worker *w)
{
  struct coop_batch batch = w->batch;

  w->batch.count = 0;
  w->passing = NULL;
  return batch;
}

void
coop_batch_flush (struct coop_worker *w)
{
  struct coop_batch batch = take_batch (w);
  struct coop_barrier *b = batch.bar;
  struct coop_ult *leader = batch.head;

  coop_lock (&b->lock);
  unsigned gen = coop_load (&b->generation);
  coop_store (&b->batched, 1);
  bool last = __atomic_sub_fetch (batch.awaited, batch.count, __ATOMIC_ACQ_REL)
	      == 0;
  bool simple
      = last && batch.awaited == &b->awaited_final && is_simple (b, gen);
  if (!last || simple)
    coop_batch_push (coop_batch_slot (b, gen), leader, batch.tail, batch.count);
  else if (batch.count > 1)
    coop_batch_push (coop_batch_slot (b, gen), leader->next, batch.tail, batch.count - 1);
  coop_unlock (&b->lock);
  if (simple)
    complete (b, gen);
  else if (last)
    {
      coop_batch_call_early (leader);
      leader->elected = true;
      if (coop_dispatch_hand (w, leader, leader, 1))
	coop_dispatch_ready (1);
    }
}

/* U, on W, joins W's batch, if DOCKING on its way to the dock.  */
static void
join (struct coop_worker *w, struct coop_barrier *b, unsigned *awaited,
      struct coop_ult *u, bool docking)
{
  w->batch.bar = b;
  w->batch.awaited = awaited;
  w->batch.docking = docking;
  w->passing = coop_fibers ? NULL : awaited;
  coop_batch_add (&w->batch, u, w);
}

static inline bool
may_batch (struct coop_ult *u, struct coop_worker *w, unsigned gen)
{
  return u && u->kind == COOP_ULT && w && !coop_is_spare (w)
	 && !(gen & BAR_TASK_PENDING) && !gomp_cancel_var;
}

/* Counts BATCH and the caller, which has come last to it.  Are they the last ones?  If so,
   the generation is written next, and that line comes while the counter's is waited for;
   who is not would only take it from tasks that read it.  */
static inline bool
count_all (const struct coop_batch *batch)
{
  unsigned count = batch->count + 1;

  if (coop_peek (batch->awaited) == count)
    coop_prefetch_write (&batch->bar->generation);
  return __atomic_sub_fetch (batch->awaited, count, __ATOMIC_ACQ_REL) == 0;
}

/* U arrives in generation GEN behind the others of W's batch, and W has no other task at
   all.  Returns its state; WHOLE: the caller has nothing to do as the last one before the
   barrier is completed, which is done here if it is simple.  */
static unsigned
arrive_with_all (struct coop_worker *w, struct coop_ult *u, unsigned gen, bool whole)
{
  struct coop_batch batch = take_batch (w);
  struct coop_barrier *b = batch.bar;
  unsigned state = coop_follow_state (gen);
  bool due = coop_stray_are_overdue ();

  if (count_all (&batch))
    {
      /* Without explicit tasks nothing comes between this and the wake-up, in
	 which U, still on W, releases the others.  */
      bool simple = !due && is_simple (b, coop_load (&b->generation));
      if (simple)
	w->closing = batch;
      else
	coop_hold_publish (&batch, state);
      if (!simple || !whole)
	return state | BAR_WAS_LAST;
      complete (b, gen);
      coop_region_count_barrier ();
      return state;
    }
  if (!due && coop_hold_look (w, b, state))
    coop_hold_go_on (w, u, &batch);
  else
    coop_hold_leave (w, u, &batch, b, state);
  return coop_follow_state_after (u, gen);
}

/* Gives W back the task NEXT that it took, if any.  Workers may have looked for
   it in vain meanwhile and gone to sleep.  */
static void
put_back (struct coop_worker *w, struct coop_ult *next)
{
  if (!next)
    return;
  coop_runq_prepend (w, next);
  coop_dispatch_ready (1);
}

/* W has no other task of the team: U counts the batch, and itself, and waits
   with it while W runs NEXT or looks for other work.  Returns true if it is
   the last one.  */
static bool
wait_with_batch (struct coop_worker *w, struct coop_ult *u, unsigned state,
		 struct coop_ult *next)
{
  struct coop_batch batch = take_batch (w);
  struct coop_barrier *b = batch.bar;

  coop_lock (&b->lock);
  coop_store (&b->batched, 1);
  coop_batch_push (coop_batch_slot (b, state), batch.head, batch.tail, batch.count);
  if (__atomic_sub_fetch (batch.awaited, batch.count + 1, __ATOMIC_ACQ_REL)
      == 0)
    {
      coop_unlock (&b->lock);
      put_back (w, next);
      return true;
    }
  u->next = NULL;
  u->home = w->index;
  coop_batch_settle (u, w);
  batch.tail->next = u;
  batch.head->batch_tail = u;
  batch.head->batch_count++;
  coop_dispatch_switch (u, next, &b->lock);
  return false;
}

/* The caller arrives, and has nobody to join and leave to: what remains of
   arrive_first.  NEXT is what its worker W has for it to do, or NULL.  */
static unsigned
arrive_last (struct coop_barrier *b, unsigned *awaited, unsigned gen,
	     bool docking, struct coop_ult *next)
{
  struct coop_ult *u = coop_tls_ult ();
  struct coop_worker *w = coop_tls_worker ();
  unsigned state = coop_follow_state (gen);

  if (w && w->batch.count && may_batch (u, w, gen))
    {
      u->docked = false;
      if (wait_with_batch (w, u, state, next))
	return state | BAR_WAS_LAST;
      return coop_follow_was_elected (u) ? state | BAR_WAS_LAST : state;
    }
  put_back (w, next);
  if (w && w->batch.count)
    coop_batch_flush (w);
  if (__atomic_sub_fetch (awaited, 1, __ATOMIC_ACQ_REL) == 0)
    state |= BAR_WAS_LAST;
  return state;
}

/* The last task U of W's batch arrives in generation GEN at the end of a region, and W
   has no other one.  */
static unsigned
end_region (struct coop_worker *w, struct coop_barrier *b, struct coop_ult *u,
	    unsigned gen)
{
  struct coop_batch batch = take_batch (w);

  u->docked = !u->root;
  /* What is written next.  */
  if (!u->root && !batch.head->root)
    coop_prefetch_write (&coop_barrier (coop_batch_dock_of (u))->awaited);
  if (count_all (&batch))
    {
      if (!coop_batch_complete ((gomp_barrier_t *) b))
	{
	  u->docked = false;
	  coop_hold_publish (&batch, gen);
	  return coop_follow_state (gen) | BAR_WAS_LAST;
	}
    }
  else if (!coop_hold_look (w, b, gen))
    {
      coop_hold_leave (w, u, &batch, b, gen);
      return coop_follow_state_after (u, gen);
    }
  coop_hold_dock (w, u, &batch);
  return coop_follow_state (gen);
}

/* As arrive, first of its worker or in other cases that are rare.  */
static unsigned
arrive_first (struct coop_barrier *b, unsigned *awaited, unsigned gen,
	      bool docking)
{
  struct coop_ult *u = coop_tls_ult (), *next = NULL;
  struct coop_worker *w = coop_tls_worker ();

  if (w && w->batch.count && w->batch.awaited != awaited)
    coop_batch_flush (w);
  if (may_batch (u, w, gen))
    {
      next = coop_dispatch_next (w);
      bool follows = coop_follow_is_member (next, coop_batch_team (b));
      if (!follows && docking && w->batch.count)
	{
	  put_back (w, next);
	  next = NULL; /* the scheduler counts the batch */
	  follows = true;
	}
      if (follows)
	{
	  join (w, b, awaited, u, docking);
	  coop_dispatch_switch (u, next, NULL);
	  return coop_follow_state_after (u, gen);
	}
    }
  return arrive_last (b, awaited, gen, docking, next);
}

/* Has W, the caller's, which has a batch at AWAITED in generation GEN, nothing else to do?  */
static inline bool
has_all (struct coop_worker *w, const unsigned *awaited, unsigned gen)
{
  return w && w->batch.count && w->batch.awaited == awaited
	 && coop_peek (&w->queue.length) == 0 && gen % BAR_INCR == 0 && !coop_must_leave (w);
}

/* Arrives in generation GEN where coop_follow, with a bias, did not.  WHOLE: as for
   arrive_with_all.  */
static __attribute__ ((noinline)) unsigned
arrive (struct coop_barrier *b, unsigned *awaited, unsigned gen, bool docking, bool whole)
{
  struct coop_ult *u = coop_tls_ult ();
  struct coop_worker *w = coop_tls_worker ();
  bool all = has_all (w, awaited, gen);

  if (!all && coop_follow (u, b, awaited, gen, docking, false))
    return coop_follow_state_after (u, gen);
  if (docking)
    coop_region_count_ult ();
  if (all && docking && coop_hold_may (w))
    return end_region (w, b, u, gen);
  if (all && awaited == &b->awaited)
    return arrive_with_all (w, u, gen, whole);
  return arrive_first (b, awaited, gen, docking);
}

gomp_barrier_state_t
coop_batch_arrive (gomp_barrier_t *bar)
{
  struct coop_barrier *b = coop_barrier (bar);
  struct coop_ult *u = coop_tls_ult ();
  unsigned gen = coop_load (&b->generation);

  if (coop_follow (u, b, &b->awaited, gen, false, true))
    return coop_follow_state_after (u, gen);
  return arrive (b, &b->awaited, gen, false, false);
}

/* The rest of gomp_team_barrier_wait, in generation GEN.  */
static __attribute__ ((noinline)) void
wait_in_any_way (gomp_barrier_t *bar, unsigned gen)
{
  struct coop_barrier *b = coop_barrier (bar);
  unsigned state = coop_managed ? arrive (b, &b->awaited, gen, false, true)
				: upstream_barrier_wait_start (bar);
  gomp_team_barrier_wait_end (bar, state);
}

/* U has been continued at the barrier of its team, and that may not be over, or there is
   more to do.  */
static __attribute__ ((noinline)) void
wait_again (struct coop_ult *u)
{
  u->early = false;
  gomp_team_barrier_wait_end (&u->thread->ts.team->barrier,
			      coop_follow_state_after (u, u->arrived));
}

void
gomp_team_barrier_wait (gomp_barrier_t *bar)
{
  struct coop_barrier *b = coop_barrier (bar);
  struct coop_ult *u = coop_tls_ult ();
  unsigned gen = coop_load (&b->generation);

  if (!coop_follow (u, b, &b->awaited, gen, false, true))
    wait_in_any_way (bar, gen);
  else if (__builtin_expect (u->early || coop_peek (&coop_order_known), 0))
    wait_again (u);
}

gomp_barrier_state_t
coop_batch_arrive_final (gomp_barrier_t *bar, struct gomp_thread *thr, struct coop_ult *u)
{
  struct coop_barrier *b = coop_barrier (bar);
  struct coop_worker *w = coop_tls_worker ();
  unsigned gen = coop_load (&b->generation);

  if (coop_follow_may_dock (u, thr))
    return arrive (b, &b->awaited_final, gen, true, false);
  if (thr->ts.level != 1)
    return arrive (b, &b->awaited_final, gen, false, false);
  coop_region_count_ult ();
  if (w && w->batch.count)
    coop_batch_flush (w);
  return gomp_barrier_wait_final_start (bar);
}
