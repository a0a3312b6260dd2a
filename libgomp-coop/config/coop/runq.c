/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Run queues and stealing (runq.h).  */

#include "runq.h"

#include <sched.h>

#include "hold.h"
#include "stray.h"

/* An idle worker with something to do that has not begun for so long has lost
   its CPU.  From the futex to the task it takes up to 50 us on a CPU that was
   idle; whoever is idle meanwhile may as well run the task.  */
#define LOST_NS 5000

/* From workers of other LLC domains, far from where a task's data are, nothing is
   taken before it has waited for so long.  Until the first team has come to a barrier
   longer: kernel threads begin late and in any order, and what touches its data first
   should do so where it runs later.  */
#define FAR_NS 500000
#define FIRST_NS 100000000

int coop_runq_lost, coop_runq_handing, coop_runq_touched;

/* ---- Locks.  ---- */

/* How often a queue without a bias is unlocked after it was ended, and how many
   biases show that it pays again.  */
#define REST_MIN 16
#define REST_MAX 65536
#define GRANTS 256

/* The queue Q, which was biased, is locked by another worker than its own.  */
static void
end_bias (struct coop_runq *q)
{
  unsigned spins = 0;

  while (!coop_membarrier ())
    sched_yield ();
  while (coop_load (&q->entered))
    coop_lock_pause (&spins);
  if (q->grants >= GRANTS || q->last_rest == 0)
    q->last_rest = REST_MIN;
  else if (q->last_rest < REST_MAX)
    q->last_rest *= 2;
  q->rest = q->last_rest;
  q->grants = 0;
}

void
coop_runq_lock_slow (struct coop_worker *w, int was)
{
  if (was == COOP_LOCK_HELD)
    was = coop_lock_slow (&w->queue.lock);
  if (was == COOP_LOCK_BIASED && w != coop_tls_worker ())
    end_bias (&w->queue);
}

/* ---- Queues.  ---- */

static void
append (struct coop_runq *q, struct coop_ult *head, struct coop_ult *tail,
	unsigned count)
{
  if (__builtin_expect (coop_peek (&coop_has_far), 0) && q->length == 0)
    __atomic_store_n (&q->since_ns, coop_now_ns (), __ATOMIC_RELAXED);
  /* A longer list has its end, and that may be in another CPU's cache.  */
  if (count == 1)
    tail->next = NULL;
  if (q->tail)
    q->tail->next = head;
  else
    q->head = head;
  q->tail = tail;
  __atomic_store_n (&q->length, q->length + count, __ATOMIC_RELAXED);
}

void
coop_runq_append_locked (struct coop_worker *w, struct coop_ult *head,
			 struct coop_ult *tail, unsigned count)
{
  coop_runq_lock (w);
  w->queue.grants += w->queue.entered; /* a bias that pays */
  append (&w->queue, head, tail, count);
}

void
coop_runq_append (struct coop_worker *w, struct coop_ult *head,
		  struct coop_ult *tail, unsigned count)
{
  coop_runq_append_locked (w, head, tail, count);
  coop_runq_unlock (w);
}

void
coop_runq_prepend (struct coop_worker *w, struct coop_ult *u)
{
  struct coop_runq *q = &w->queue;
  coop_runq_lock (w);
  u->next = q->head;
  q->head = u;
  if (!q->tail)
    q->tail = u;
  __atomic_store_n (&q->length, q->length + 1, __ATOMIC_RELAXED);
  coop_runq_unlock (w);
}

/* Removes the first COUNT tasks of Q, which has as many; returns the first and
   stores the last.  */
static struct coop_ult *
detach (struct coop_runq *q, unsigned count, struct coop_ult **last)
{
  struct coop_ult *first = q->head;
  struct coop_ult *u = first;
  for (unsigned i = 1; i < count; i++)
    u = u->next;
  q->head = u->next;
  u->next = NULL;
  if (!q->head)
    q->tail = NULL;
  __atomic_store_n (&q->length, q->length - count, __ATOMIC_RELAXED);
  *last = u;
  return first;
}

/* Has VICTIM something to do, and does not do it?  */
static bool
is_late (struct coop_worker *victim)
{
  return !coop_peek (&victim->running)
	 && (coop_peek (&victim->queue.length)
	     || coop_hold_is_overdue (victim));
}

/* Has VICTIM, which is late, been so for too long?  W has one suspect at a time,
   until that is seen to have run.  */
static bool
is_lost (struct coop_worker *w, struct coop_worker *victim)
{
  struct coop_worker *suspect = &coop_workers[w->suspect];
  unsigned long switches = coop_peek (&victim->switches);

  if (coop_peek (&victim->lost))
    return true;
  if (suspect != victim || w->suspect_switches != switches)
    {
      if (suspect == victim || w->suspect_ns == 0 || !is_late (suspect)
	  || coop_peek (&suspect->switches) != w->suspect_switches)
	{
	  w->suspect = victim->index;
	  w->suspect_switches = switches;
	  w->suspect_ns = coop_now_ns ();
	}
      return false;
    }
  if (coop_now_ns () - w->suspect_ns
      < (victim->node == w->node ? LOST_NS : FAR_NS))
    return false;
  if (!__atomic_exchange_n (&victim->lost, 1, __ATOMIC_RELAXED))
    __atomic_add_fetch (&coop_runq_lost, 1, __ATOMIC_RELAXED);
  return true;
}

bool
coop_runq_found (struct coop_worker *w)
{
  if (!coop_peek (&w->lost)
      || !__atomic_exchange_n (&w->lost, 0, __ATOMIC_RELAXED))
    return false;
  __atomic_sub_fetch (&coop_runq_lost, 1, __ATOMIC_RELAXED);
  return true;
}

/* Is what VICTIM has to stay there for now?  What was placed lately is, and what has not waited
   for long, if VICTIM is far from W.  */
static bool
is_left_alone (struct coop_worker *w, struct coop_worker *victim)
{
  if (!victim->started || coop_is_spare (w))
    return false;
  if (victim->node == w->node)
    return coop_stray_are_settling ();
  return !coop_runq_has_waited (coop_now_ns (),
				coop_peek (&victim->queue.since_ns),
				coop_peek (&coop_runq_touched) ? FAR_NS
							       : FIRST_NS);
}

static bool
worth (struct coop_worker *w, struct coop_worker *victim)
{
  unsigned length = coop_peek (&victim->queue.length);
  if (length && coop_may_run (victim)
      && (coop_peek (&coop_runq_handing) || is_left_alone (w, victim)))
    return false;
  if (length > 1)
    return true;
  if (length == 1
      && (!coop_may_run (victim) || coop_peek (&victim->sleeping)
	  || coop_peek (&victim->running) != NULL))
    return true;
  return is_late (victim) && is_lost (w, victim);
}

static struct coop_ult *
steal_from (struct coop_worker *w, struct coop_worker *victim)
{
  struct coop_runq *q = &victim->queue;
  struct coop_ult *first = NULL, *last;
  unsigned count = 0;

  coop_runq_lock (victim);
  if (q->length)
    {
      /* A spare must not keep a queue: it may be put back to sleep.  */
      if (coop_is_spare (w))
	count = 1;
      else if (coop_may_run (victim))
	count = (q->length + 1) / 2;
      else
	count = q->length;
      first = detach (q, count, &last);
    }
  coop_runq_unlock (victim);
  if (count > 1)
    coop_runq_append (w, first->next, last, count - 1);
  if (first)
    {
      coop_stray_note ();
      __atomic_store_n (&w->steals, w->steals + 1, __ATOMIC_RELAXED);
    }
  return first;
}

static struct coop_worker *
victim_at (struct coop_worker *w, unsigned distance)
{
  unsigned start = coop_is_spare (w) ? 0 : w->index;
  return &coop_workers[(start + distance) % coop_peek (&coop_nworkers)];
}

struct coop_ult *
coop_runq_steal (struct coop_worker *w)
{
  unsigned n = coop_peek (&coop_nworkers);
  for (int pass = 0; pass < 2; pass++)
    for (unsigned i = 0; i < n; i++)
      {
	struct coop_worker *victim = victim_at (w, i);
	bool near = victim->node == w->node;
	if (victim == w || near != (pass == 0) || !worth (w, victim))
	  continue;
	if (coop_peek (&victim->lost))
	  coop_hold_seize (victim);
	struct coop_ult *u = steal_from (w, victim);
	if (u)
	  return u;
      }
  return NULL;
}

void
coop_runq_adopt (struct coop_worker *w)
{
  unsigned n = coop_peek (&coop_nworkers);
  for (unsigned i = 0; i < n; i++)
    {
      struct coop_worker *victim = &coop_workers[i];
      if (victim == w || coop_may_run (victim)
	  || !coop_peek (&victim->queue.length))
	continue;
      struct coop_ult *u = steal_from (w, victim);
      if (u)
	coop_runq_append (w, u, u, 1);
    }
}

bool
coop_runq_orphans (void)
{
  unsigned n = coop_peek (&coop_nworkers);
  for (unsigned i = 0; i < n; i++)
    if (!coop_may_run (&coop_workers[i]) && coop_peek (&coop_workers[i].queue.length))
      return true;
  return false;
}

bool
coop_runq_any (void)
{
  unsigned n = coop_peek (&coop_nworkers);
  for (unsigned i = 0; i < n; i++)
    if (coop_peek (&coop_workers[i].queue.length))
      return true;
  return false;
}

unsigned
coop_runq_total (void)
{
  unsigned n = coop_peek (&coop_nworkers), total = 0;
  for (unsigned i = 0; i < n; i++)
    total += coop_peek (&coop_workers[i].queue.length);
  return total;
}

bool
coop_runq_look (struct coop_worker *w, unsigned count)
{
  struct coop_worker *victim = victim_at (w, count);
  struct coop_worker *suspect = &coop_workers[w->suspect];

  if (victim != w && worth (w, victim))
    return true;
  if (w->suspect_ns == 0 || victim == suspect)
    return false;
  if (!is_late (suspect))
    w->suspect_ns = 0;
  return worth (w, suspect);
}
