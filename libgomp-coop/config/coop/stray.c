/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Tasks that have strayed (stray.h).  */

#include "stray.h"

#include <stdlib.h>

#include "libgomp.h"

#include "batchlist.h"
#include "dispatch.h"
#include "hint.h"
#include "placement.h"
#include "runq.h"
#include "settings.h"
#include "worker.h"

/* They are placed anew so long after the last time, and not before PLACE_SHARE times as
   long has passed as it took: each task is some cache lines of other CPUs.  */
#define PLACE_NS 100000
#define PLACE_SHARE 32

/* They settle while those lines come to where they run.  For all tasks that takes about as long
   as placing them, and each worker does a part: they have so many times that.  */
#define SETTLE_PARTS 2

int coop_stray_time;

static uint64_t place_ns;  /* when next, at the earliest */
static uint64_t settle_ns; /* until then those that were placed last begin; 0: they have begun */

static void
set_time (enum coop_stray now)
{
  if (coop_peek (&coop_stray_time) < (int) now)
    __atomic_store_n (&coop_stray_time, now, __ATOMIC_RELAXED);
}

void
coop_stray_note (void)
{
  set_time (COOP_STRAY_SOME);
  if (!coop_stray_are_due () && coop_now_ns () >= coop_peek (&place_ns))
    set_time (COOP_STRAY_DUE);
}

void
coop_stray_tick (uint64_t now)
{
  if (coop_peek (&coop_stray_time) != COOP_STRAY_NONE && now >= coop_peek (&place_ns))
    set_time (COOP_STRAY_OVERDUE);
}

bool
coop_stray_are_expected (void)
{
  return coop_peek (&coop_hint_known) > 1 || coop_stray_are_due ();
}

bool
coop_stray_should_sleep (void)
{
  return coop_mode == COSCHED_MODE_KTHREAD && coop_peek (&coop_hint_known)
	 && coop_stray_are_expected ();
}

bool
coop_stray_are_settling (void)
{
  uint64_t until = coop_peek (&settle_ns);
  if (until == 0)
    return false;
  if (coop_now_ns () < until)
    return true;
  __atomic_store_n (&settle_ns, 0, __ATOMIC_RELAXED);
  return false;
}

/* Stores in TASK, by its number in a team of SIZE, each task of BATCH; there are
   COUNT places.  The initial thread of kernel-thread mode may be among them, and
   stays.  */
static void
sort_by_number (struct coop_ult *batch, unsigned size, struct coop_ult **task,
		unsigned count)
{
  for (; batch; batch = batch->batch_next)
    {
      struct coop_ult *u = batch;
      for (unsigned left = batch->batch_count; left > 0; left--, u = u->next)
	{
	  unsigned i = u->thread->ts.team_id % size;
	  while (task[i])
	    i = (i + 1) % count;
	  task[i] = u;
	  coop_batch_settle (u, &coop_workers[u->home]); /* who waited by itself */
	  if (u->root)
	    u->node = coop_peek (&coop_workers[0].node);
	}
    }
}

/* What a worker is handed.  */
struct chain
{
  struct coop_ult *head, *tail;
  unsigned length;
};

/* Hands out the COUNT places of TASK, some of which are empty, to each worker its
   tasks together; returns how many are for others.  CHAIN[COOP_MAX_CPUS] is zero.  */
static unsigned
hand_out (struct coop_ult *const *task, unsigned count, struct chain *chain)
{
  unsigned others = 0, workers = coop_peek (&coop_nworkers);

  for (unsigned i = 0; i < count; i++)
    if (task[i])
      {
	struct chain *c = &chain[task[i]->home];
	if (c->length++)
	  c->tail->next = task[i];
	else
	  c->head = task[i];
	c->tail = task[i];
	task[i]->next = NULL;
      }
  for (unsigned i = 0; i < workers; i++)
    if (chain[i].length)
      others += coop_dispatch_hand (&coop_workers[i], chain[i].head,
				    chain[i].tail, chain[i].length);
  return others;
}

/* The caller, if it is a task of those that have waited, with WAITING: it came last, and
   goes on where it is.  NULL: it is a scheduler, or the initial thread, number 0.  */
static struct coop_ult *
who_came_last (const struct coop_ult *waiting)
{
  struct coop_ult *u = coop_tls_ult ();
  bool member = u && u->kind == COOP_ULT && !u->root && u->pooled
		&& u->thread->thread_pool == waiting->thread->thread_pool;
  return member ? u : NULL;
}

/* A team has been placed since BEGIN_NS: how long its tasks settle, and when it is time
   again.  */
static void
set_pauses (uint64_t begin_ns)
{
  uint64_t now = coop_now_ns (), took = now - begin_ns, pause = took * PLACE_SHARE;
  unsigned workers = coop_worker_usable (); /* none: all CPUs are taken */
  uint64_t settle = workers ? SETTLE_PARTS * took / workers : 0;

  __atomic_store_n (&settle_ns, now + (settle < PLACE_NS ? settle : PLACE_NS), __ATOMIC_RELAXED);
  __atomic_store_n (&place_ns, now + (pause < PLACE_NS ? PLACE_NS : pause), __ATOMIC_RELAXED);
}

bool
coop_stray_hand_out (struct coop_ult *batch, unsigned size)
{
  uint64_t begin_ns = coop_now_ns ();
  unsigned count = 0;
  for (struct coop_ult *u = batch; u; u = u->batch_next)
    count += u->batch_count;
  struct coop_ult *self = who_came_last (batch);
  if (count + 1 + (self != NULL) < size)
    return false;
  if (count < size)
    count = size;
  struct chain *chain = calloc (1, COOP_MAX_CPUS * sizeof *chain
				       + count * (sizeof (void *) + 1));
  if (!chain)
    return false;
  struct coop_ult **task = (struct coop_ult **) (chain + COOP_MAX_CPUS);
  __atomic_store_n (&coop_stray_time, COOP_STRAY_NONE, __ATOMIC_RELAXED);
  sort_by_number (batch, size, task, count);
  struct coop_ult **own = self ? &task[self->thread->ts.team_id % size] : NULL;
  if (own && !*own)
    *own = self;
  coop_hint_apply (task, count);
  coop_placement_again (task, count, (unsigned char *) (task + count));
  if (own && *own == self)
    *own = NULL;
  if (task[0] && task[0]->root)
    task[0]->home = 0;
  coop_runq_hand_out (1);
  unsigned others = hand_out (task, count, chain);
  coop_runq_hand_out (-1);
  free (chain);
  set_pauses (begin_ns);
  if (others)
    coop_dispatch_ready (others);
  return true;
}
