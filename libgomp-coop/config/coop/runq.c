/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Run queues and stealing (runq.h).  */

#include "runq.h"

static void
append (struct coop_runq *q, struct coop_ult *head, struct coop_ult *tail,
	unsigned count)
{
  tail->next = NULL;
  if (q->tail)
    q->tail->next = head;
  else
    q->head = head;
  q->tail = tail;
  __atomic_store_n (&q->length, q->length + count, __ATOMIC_RELAXED);
}

void
coop_runq_append (struct coop_worker *w, struct coop_ult *head,
		  struct coop_ult *tail, unsigned count)
{
  coop_lock (&w->queue.lock);
  append (&w->queue, head, tail, count);
  coop_unlock (&w->queue.lock);
}

void
coop_runq_prepend (struct coop_worker *w, struct coop_ult *u)
{
  struct coop_runq *q = &w->queue;
  coop_lock (&q->lock);
  u->next = q->head;
  q->head = u;
  if (!q->tail)
    q->tail = u;
  __atomic_store_n (&q->length, q->length + 1, __ATOMIC_RELAXED);
  coop_unlock (&q->lock);
}

void
coop_runq_append_locked (struct coop_worker *w, struct coop_ult *u)
{
  coop_lock (&w->queue.lock);
  append (&w->queue, u, u, 1);
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
  if (!q->head)
    q->tail = NULL;
  __atomic_store_n (&q->length, q->length - count, __ATOMIC_RELAXED);
  *last = u;
  return first;
}

struct coop_ult *
coop_runq_take (struct coop_worker *w)
{
  struct coop_runq *q = &w->queue;
  struct coop_ult *u = NULL, *last;
  if (coop_peek (&q->length) == 0)
    return NULL;
  coop_lock (&q->lock);
  if (q->length)
    u = detach (q, 1, &last);
  coop_unlock (&q->lock);
  return u;
}

/* A victim that is awake, idle and allowed is about to take its only task
   itself; taking it away would only move it from one cache to another.  */
static bool
worth (struct coop_worker *victim)
{
  unsigned length = coop_peek (&victim->queue.length);
  if (length != 1)
    return length > 1;
  return !coop_may_run (victim) || coop_peek (&victim->sleeping)
	 || coop_peek (&victim->running) != NULL;
}

static struct coop_ult *
steal_from (struct coop_worker *w, struct coop_worker *victim)
{
  struct coop_runq *q = &victim->queue;
  struct coop_ult *first = NULL, *last;
  unsigned count = 0;

  coop_lock (&q->lock);
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
  coop_unlock (&q->lock);
  if (count > 1)
    coop_runq_append (w, first->next, last, count - 1);
  if (first)
    __atomic_store_n (&w->steals, w->steals + 1, __ATOMIC_RELAXED);
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
	if (victim == w || near != (pass == 0) || !worth (victim))
	  continue;
	struct coop_ult *u = steal_from (w, victim);
	if (u)
	  return u;
      }
  return NULL;
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
  return victim != w && worth (victim);
}
