/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Batches of tasks at a barrier (batch.h).  */

#include "batch.h"

#include <limits.h>

#include <sched.h>

#include "dispatch.h"
#include "fiber.h"
#include "order.h"
#include "park.h"
#include "runq.h"
#include "stray.h"
#include "worker.h"

static struct gomp_team *
team_of (struct coop_barrier *b)
{
  return (struct gomp_team *) ((char *) b
			       - offsetof (struct gomp_team, barrier));
}

/* The list for tasks that arrive, or arrived, in generation GEN.  Tasks of the
   one before are long released: without them GEN could not be.  */
static struct coop_ult **
slot (struct coop_barrier *b, unsigned gen)
{
  return &b->batches[gen / BAR_INCR % 2];
}

/* ---- The barrier's lists.  With its lock held.  ---- */

static void
push (struct coop_ult **list, struct coop_ult *head, struct coop_ult *tail,
      unsigned count)
{
  head->batch_tail = tail;
  head->batch_count = count;
  head->batch_next = *list;
  *list = head;
}

/* Takes the first task of the first batch, or NULL.  */
static struct coop_ult *
take_one (struct coop_ult **list)
{
  struct coop_ult *u = *list;
  if (!u)
    return NULL;
  *list = u->batch_next;
  if (u->batch_count > 1)
    push (list, u->next, u->batch_tail, u->batch_count - 1);
  u->docked = false;
  return u;
}

/* ---- Release.  ---- */

static void
make_ready (struct coop_ult *batch)
{
  unsigned others = 0;
  if (!batch)
    return;
  coop_runq_hand_out (1);
  while (batch)
    {
      struct coop_ult *next = batch->batch_next;
      others += coop_dispatch_hand (&coop_workers[batch->home], batch,
				    batch->batch_tail, batch->batch_count);
      batch = next;
    }
  coop_runq_hand_out (-1);
  if (others)
    coop_dispatch_ready (others);
}

static struct coop_ult *
take_all (struct coop_barrier *b, unsigned gen)
{
  struct coop_ult **list = slot (b, gen);
  coop_lock (&b->lock);
  struct coop_ult *batches = *list;
  *list = NULL;
  coop_unlock (&b->lock);
  return batches;
}

/* Kernel threads that wait for ADDR, those of a dock in which TOTAL have been, go
   where they belong, if all sleep; else the others shall the next time.  */
static void
hand_out_threads (int *addr, unsigned total)
{
  struct coop_ult *batches;
  unsigned count = coop_park_take (addr, &batches);

  if (count + 1 == total && coop_stray_hand_out (batches, total))
    return;
  make_ready (batches);
  __atomic_store_n (&coop_strayed, 1, __ATOMIC_RELAXED);
}

void
coop_batch_undock (gomp_barrier_t *bar)
{
  struct coop_barrier *b = coop_barrier (bar);
  unsigned gen = coop_load (&b->generation);
  struct coop_ult *batches = coop_peek (&b->batched) ? take_all (b, gen) : NULL;
  unsigned total = b->awaited = b->total;
  coop_store (&b->generation, gen + BAR_INCR);
  if (!coop_peek (&coop_runq_begun))
    coop_store (&coop_runq_begun, 1);
  if (!batches || !coop_stray_are_due () || !coop_stray_hand_out (batches, total))
    make_ready (batches);
  if (__builtin_expect (coop_stray_should_sleep (), 0) && coop_stray_are_due ())
    hand_out_threads ((int *) &b->generation, total);
  coop_unpark ((int *) &b->generation, INT_MAX);
}

/* All tasks of BATCHES arrive at the dock of their pool, which they know: its
   leader may be in another one already (is_led).  */
static void
dock (struct coop_ult *batches)
{
  gomp_barrier_t *bar = &batches->thread->thread_pool->threads_dock.bar;
  struct coop_barrier *b = coop_barrier (bar);
  unsigned count = 0;

  coop_lock (&b->lock);
  /* Cannot change before the tasks have been counted.  */
  unsigned gen = coop_load (&b->generation);
  while (batches)
    {
      struct coop_ult *next = batches->batch_next;
      count += batches->batch_count;
      push (slot (b, gen), batches, batches->batch_tail, batches->batch_count);
      batches = next;
    }
  coop_store (&b->batched, 1);
  bool last = __atomic_sub_fetch (&b->awaited, count, __ATOMIC_ACQ_REL) == 0;
  coop_unlock (&b->lock);
  if (last)
    coop_batch_undock (bar);
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
    push (batches, root->next, root->batch_tail, root->batch_count - 1);
  root->batch_next = NULL;
  root->batch_tail = root;
  root->batch_count = 1;
  return root;
}

/* The barrier of BATCHES is over.  The initial thread goes first: it has most
   to do before the next region, and waits at the dock for those that go there.
   It may end the team, so that nobody must look at the barrier afterwards.  */
static void
release (struct coop_ult *batches)
{
  if (!is_docking (batches))
    {
      make_ready (batches);
      return;
    }
  make_ready (take_root (&batches));
  dock (batches);
}

void
coop_batch_wake (gomp_barrier_t *bar, int count)
{
  struct coop_barrier *b = coop_barrier (bar);
  unsigned gen = coop_load (&b->generation);
  struct coop_worker *w = coop_tls_worker ();
  if (w && w->closing.count && w->closing.bar == b)
    {
      /* Those that arrived on W before the caller, see hold.  */
      coop_runq_append (w, w->closing.head, w->closing.tail, w->closing.count);
      w->closing.count = 0;
    }
  /* Contains a fence: a batch is on the list now, or its worker will see the
     new generation (coop_batch_hold).  */
  int woken = (int) coop_unpark ((int *) &b->generation, count);
  if (coop_load (&b->batched))
    release (take_all (b, gen - BAR_INCR));
  if (count == INT_MAX || woken >= count || !coop_load (&b->batched))
    return;
  /* For explicit tasks.  */
  for (; woken < count; woken++)
    {
      coop_lock (&b->lock);
      struct coop_ult *u = take_one (slot (b, gen));
      coop_unlock (&b->lock);
      if (!u)
	return;
      if (coop_dispatch_hand (&coop_workers[u->home], u, u, 1))
	coop_dispatch_ready (1);
    }
}

/* ---- Arrival.  ---- */

struct gomp_thread *coop_batch_leader;

/* Nothing but waiting is left to do at the end of the region, and no task
   needs a thread.  Called by a scheduler in the place of the last thread.  */
static void
complete_final (struct coop_barrier *b, unsigned gen)
{
  struct coop_ult *batches = take_all (b, gen);
  b->awaited_final = b->total;
  b->awaited = b->total;
  team_of (b)->work_share_cancelled = 0;
  coop_store (&b->generation, gen + BAR_INCR);
  release (batches);
  coop_unpark ((int *) &b->generation, INT_MAX);
}

void
coop_batch_flush (struct coop_worker *w)
{
  struct coop_batch batch = w->batch;
  struct coop_barrier *b = batch.bar;
  struct coop_ult *leader = batch.head;

  w->batch.count = 0;
  w->passing = NULL;
  coop_lock (&b->lock);
  unsigned gen = coop_load (&b->generation);
  coop_store (&b->batched, 1);
  bool last = __atomic_sub_fetch (batch.awaited, batch.count, __ATOMIC_ACQ_REL)
	      == 0;
  bool simple = last && batch.awaited == &b->awaited_final
		&& gen % BAR_INCR == 0 && team_of (b)->task_count == 0;
  if (!last || simple)
    push (slot (b, gen), leader, batch.tail, batch.count);
  else if (batch.count > 1)
    push (slot (b, gen), leader->next, batch.tail, batch.count - 1);
  coop_unlock (&b->lock);
  if (simple)
    complete_final (b, gen);
  else if (last)
    {
      leader->elected = true;
      leader->docked = false;
      if (coop_dispatch_hand (w, leader, leader, 1))
	coop_dispatch_ready (1);
    }
}

/* U, a task of W, is the last of BATCH, which has others; or has none.  */
static inline void
add_last (struct coop_batch *batch, struct coop_ult *u, struct coop_worker *w)
{
  u->next = NULL;
  u->home = w->index;
  batch->count++;
  batch->tail->next = u;
  batch->tail = u;
}

static void
add (struct coop_batch *batch, struct coop_ult *u, struct coop_worker *w)
{
  if (batch->count == 0)
    batch->head = batch->tail = u;
  add_last (batch, u, w);
  u->next = NULL; /* not itself */
}

/* U, on W, joins W's batch, if DOCKING on its way to the dock: there the
   initial thread does not go, and so it comes first (take_root).  */
static void
join (struct coop_worker *w, struct coop_barrier *b, unsigned *awaited,
      struct coop_ult *u, bool docking)
{
  struct coop_batch *batch = &w->batch;

  batch->bar = b;
  batch->awaited = awaited;
  w->passing = coop_fibers ? NULL : awaited;
  if (docking)
    u->docked = !u->root;
  if (docking && u->root && batch->count)
    {
      u->home = w->index;
      u->next = batch->head;
      batch->head = u;
      batch->count++;
    }
  else
    add (batch, u, w);
}

static bool
is_member (struct coop_ult *u, struct gomp_team *team)
{
  return u && u->thread && u->thread->ts.team == team;
}

/* What libgomp calls the state of who arrives in generation GEN.  */
static inline unsigned
state_of (unsigned gen)
{
  return gen & (-BAR_INCR | BAR_CANCELLED);
}

/* U continues after waiting in a batch: is it to act as the last one?  */
static inline bool
was_elected (struct coop_ult *u)
{
  bool elected = u->elected;
  if (__builtin_expect (elected, 0))
    u->elected = false;
  return elected;
}

static inline bool
may_batch (struct coop_ult *u, struct coop_worker *w, unsigned gen)
{
  return u && u->kind == COOP_ULT && w && !coop_is_spare (w)
	 && !(gen & BAR_TASK_PENDING) && !gomp_cancel_var;
}

/* Puts BATCH, which arrived in STATE and is counted, on its barrier's list;
   returns false if the barrier is completed already.  */
static bool
publish (struct coop_batch *batch, unsigned state)
{
  struct coop_barrier *b = batch->bar;
  bool waiting;

  coop_lock (&b->lock);
  coop_store (&b->batched, 1);
  coop_fence (); /* see coop_batch_wake */
  waiting = !((coop_load (&b->generation) ^ state) & -BAR_INCR);
  if (waiting)
    push (slot (b, state), batch->head, batch->tail, batch->count);
  coop_unlock (&b->lock);
  return waiting;
}

/* As wait_with_batch, when W has no other task at all.  */
static bool
hold (struct coop_worker *w, struct coop_ult *u, unsigned state,
      struct coop_batch *batch)
{
  if (__atomic_sub_fetch (batch->awaited, batch->count + 1, __ATOMIC_ACQ_REL)
      == 0)
    {
      /* Without explicit tasks nothing comes between this and the wake-up, in
	 which U, still on W, releases the others.  */
      if (coop_peek (&team_of (batch->bar)->task_count) == 0)
	w->closing = *batch;
      else
	publish (batch, state);
      return true;
    }
  add (batch, u, w);
  w->held = *batch;
  w->held_state = state;
  coop_dispatch_switch (u, NULL, NULL);
  return false;
}

/* Workers whose batch has been seized and that may still watch its barrier.  Who
   destroys that has waited for the tasks of the batch, and so sees them.  */
int coop_batch_seized;

void
coop_batch_await_watchers (gomp_barrier_t *bar)
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

/* With the lock of what W holds: the team waits for its tasks, so its barrier
   exists.  */
static bool
is_overdue (const struct coop_worker *w)
{
  return coop_load (&w->held_offered)
	 && ((coop_load (&w->held.bar->generation) ^ w->held_state) & -BAR_INCR);
}

bool
coop_batch_is_overdue (struct coop_worker *w)
{
  if (!coop_peek (&w->held_offered))
    return false;
  coop_lock (&w->held_lock);
  bool overdue = is_overdue (w);
  coop_unlock (&w->held_lock);
  return overdue;
}

void
coop_batch_seize (struct coop_worker *w)
{
  struct coop_batch batch = { 0 };

  if (!coop_peek (&w->held_offered))
    return;
  coop_lock (&w->held_lock);
  if (is_overdue (w))
    {
      batch = take_held (w);
      __atomic_add_fetch (&coop_batch_seized, 1, __ATOMIC_RELAXED);
    }
  coop_unlock (&w->held_lock);
  if (batch.count)
    coop_runq_append (w, batch.head, batch.tail, batch.count);
}

/* In W's scheduler the contexts of all tasks of the batch are saved: from now on
   others may continue them.  */
void
coop_batch_hold (struct coop_worker *w)
{
  struct coop_barrier *b = w->held.bar;
  unsigned state = w->held_state;

  w->watched = b;
  coop_store (&w->held_offered, 1);
  coop_worker_spin (w, (int *) &b->generation, (int) state);
  coop_lock (&w->held_lock);
  struct coop_batch batch = take_held (w);
  coop_unlock (&w->held_lock);
  coop_store (&w->watched, NULL);
  if (batch.count == 0)
    {
      __atomic_sub_fetch (&coop_batch_seized, 1, __ATOMIC_RELAXED);
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
	  coop_runq_append (w, u, u, 1);
	}
      if (batch.count == 0 || publish (&batch, state))
	return;
    }
  coop_runq_append (w, batch.head, batch.tail, batch.count);
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
  struct coop_batch batch = w->batch;
  struct coop_barrier *b = batch.bar;

  w->batch.count = 0;
  w->passing = NULL;
  if (!next && batch.awaited == &b->awaited)
    return hold (w, u, state, &batch);
  coop_lock (&b->lock);
  coop_store (&b->batched, 1);
  push (slot (b, state), batch.head, batch.tail, batch.count);
  if (__atomic_sub_fetch (batch.awaited, batch.count + 1, __ATOMIC_ACQ_REL)
      == 0)
    {
      coop_unlock (&b->lock);
      put_back (w, next);
      return true;
    }
  u->next = NULL;
  u->home = w->index;
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
  unsigned state = state_of (gen);

  if (w && w->batch.count && may_batch (u, w, gen))
    {
      u->docked = false;
      if (wait_with_batch (w, u, state, next))
	return state | BAR_WAS_LAST;
      return was_elected (u) ? state | BAR_WAS_LAST : state;
    }
  put_back (w, next);
  if (w && w->batch.count)
    coop_batch_flush (w);
  if (__atomic_sub_fetch (awaited, 1, __ATOMIC_ACQ_REL) == 0)
    state |= BAR_WAS_LAST;
  return state;
}

/* Arrives in generation GEN, in whatever way is possible.  */
static __attribute__ ((noinline)) unsigned
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
      bool follows = is_member (next, team_of (b));
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
	  gen = state_of (gen);
	  return was_elected (u) ? gen | BAR_WAS_LAST : gen;
	}
    }
  return arrive_last (b, awaited, gen, docking, next);
}

/* The first task of W's queue if it is of TEAM and nobody is at the queue, else
   NULL.  */
static inline struct coop_ult *
take_member (struct coop_worker *w, struct gomp_team *team)
{
  if (__atomic_exchange_n (&w->queue.lock, 1, __ATOMIC_ACQUIRE))
    return NULL;
  struct coop_ult *u = w->queue.head;
  if (is_member (u, team))
    {
      coop_runq_pop (&w->queue, u);
      /* For the next switch: all storages are alike in the lower bits of their
	 addresses, so that the first-level cache has few of them.  */
      if (u->next)
	__builtin_prefetch (u->next->tls, 1);
    }
  else
    u = NULL;
  coop_unlock (&w->queue.lock);
  return u;
}

/* If a task of B's team has arrived before on the caller's worker and another
   comes next: arrives in generation GEN and returns true when it goes on.  Inlined
   where it is called, and nothing else than what most tasks need: the caller's
   worker may be another one afterwards.  */
static inline __attribute__ ((always_inline)) bool
follow (struct coop_barrier *b, unsigned *awaited, unsigned gen, bool docking)
{
  struct coop_ult *u = coop_tls_ult (), *next;
  struct coop_worker *w = coop_tls_worker ();

  if (!w || w->passing != awaited || (docking && u->root)
      || (gen & BAR_TASK_PENDING) || coop_must_leave (w)
      || !(next = take_member (w, team_of (b))))
    return false;
  if (docking)
    u->docked = true;
  add_last (&w->batch, u, w);
  coop_dispatch_pass (w, u, next);
  return true;
}

static inline unsigned
state_after (unsigned gen)
{
  gen = state_of (gen);
  return was_elected (coop_tls_ult ()) ? gen | BAR_WAS_LAST : gen;
}

static inline __attribute__ ((always_inline)) unsigned
arrive (struct coop_barrier *b, unsigned *awaited, bool docking)
{
  unsigned gen = coop_load (&b->generation);

  if (!follow (b, awaited, gen, docking))
    return arrive_first (b, awaited, gen, docking);
  return state_after (gen);
}

gomp_barrier_state_t
coop_batch_arrive (gomp_barrier_t *bar)
{
  return arrive (coop_barrier (bar), &coop_barrier (bar)->awaited, false);
}

void
coop_batch_wait (gomp_barrier_t *bar)
{
  struct coop_barrier *b = coop_barrier (bar);
  unsigned gen = coop_load (&b->generation), state;

  if (!follow (b, &b->awaited, gen, false))
    state = arrive_first (b, &b->awaited, gen, false);
  else if (coop_load (&b->generation) == (gen & -BAR_INCR) + BAR_INCR
	   && !__builtin_expect (coop_peek (&coop_order_known), 0))
    return;
  else
    state = state_after (gen); /* the barrier is not over, or there is more to do */
  gomp_team_barrier_wait_end (bar, state);
}

/* Is U's thread THR in the pool of coop_batch_leader?  A task that runs a target
   region on the host leads another one meanwhile.  */
static inline bool
is_led (const struct coop_ult *u, const struct gomp_thread *thr)
{
  if (u && u->pool == thr->thread_pool)
    return true;
  struct gomp_thread **pool = thr->thread_pool->threads; /* NULL: a team of one */
  return pool && pool[0] == coop_batch_leader;
}

gomp_barrier_state_t
coop_batch_arrive_final (gomp_barrier_t *bar)
{
  struct gomp_thread *thr = gomp_thread ();
  /* A thread with a table of dependences has to free it in the region.  Only the
     initial thread can lead a batch to a dock.  */
  bool docking = thr->ts.level == 1 && thr->task->depend_hash == NULL
		 && is_led (coop_tls_ult (), thr);
  if (thr->ts.level == 1 && !docking)
    {
      struct coop_worker *w = coop_tls_worker ();
      if (w && w->batch.count)
	coop_batch_flush (w);
      return gomp_barrier_wait_final_start (bar);
    }
  return arrive (coop_barrier (bar), &coop_barrier (bar)->awaited_final,
		 docking);
}
