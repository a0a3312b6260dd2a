/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Lists of tasks: a worker's batch, and the batches on a barrier's lists (batch.h).  */

#ifndef COOP_BATCHLIST_H
#define COOP_BATCHLIST_H 1

#include "libgomp.h"

#include "coop.h"
#include "domain.h"

static inline struct gomp_team *
coop_batch_team (struct coop_barrier *b)
{
  return (struct gomp_team *) ((char *) b
			       - offsetof (struct gomp_team, barrier));
}

/* The dock of U, which is not the initial thread.  */
static inline gomp_barrier_t *
coop_batch_dock_of (const struct coop_ult *u)
{
  return &u->thread->thread_pool->threads_dock.bar;
}

/* U goes on although its barrier may not be over, and so not to the dock.  */
static inline void
coop_batch_call_early (struct coop_ult *u)
{
  u->docked = false;
  u->early = true;
}

/* The list for tasks that arrive, or arrived, in generation GEN.  Tasks of the
   one before are long released: without them GEN could not be.  */
static inline struct coop_ult **
coop_batch_slot (struct coop_barrier *b, unsigned gen)
{
  return &b->batches[gen / BAR_INCR % 2];
}

/* With its lock, if LIST is a barrier's.  */
static inline void
coop_batch_push (struct coop_ult **list, struct coop_ult *head,
		 struct coop_ult *tail, unsigned count)
{
  head->batch_tail = tail;
  head->batch_count = count;
  head->batch_next = *list;
  *list = head;
}

/* U, on W, has come to a barrier or the dock: if for the first time, it has touched
   data here, wherever it was to begin (placement.h).  Spares are on no CPU for long.  */
static inline void
coop_batch_settle (struct coop_ult *u, struct coop_worker *w)
{
  if (__builtin_expect (coop_domain_is_settled (u), 1) || coop_is_spare (w))
    return;
  /* Read before the number, which may be of the next source already: it is asked for again
     then, and a number of the last one never counts as of the next.  */
  unsigned char source = coop_load (&coop_domain_source);
  u->node = coop_peek (&w->node);
  u->settled = source;
}

/* U, a task of W, is the last of BATCH, which has others.  */
static inline void
coop_batch_add_last (struct coop_batch *batch, struct coop_ult *u,
		     struct coop_worker *w)
{
  u->next = NULL;
  u->home = w->index;
  coop_batch_settle (u, w);
  batch->count++;
  batch->tail->next = u;
  batch->tail = u;
}

/* U joins BATCH, both on W.  The initial thread does not go to the dock, and so it
   comes first in a batch that does.  */
static inline void
coop_batch_add (struct coop_batch *batch, struct coop_ult *u,
		struct coop_worker *w)
{
  if (batch->docking)
    u->docked = !u->root;
  if (batch->count && !(batch->docking && u->root))
    {
      coop_batch_add_last (batch, u, w);
      return;
    }
  u->home = w->index;
  coop_batch_settle (u, w);
  u->next = batch->count ? batch->head : NULL;
  if (!batch->count)
    batch->tail = u;
  batch->head = u;
  batch->count++;
}

#endif /* COOP_BATCHLIST_H */
