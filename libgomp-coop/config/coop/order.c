/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Who goes first after a barrier (order.h).  */

#include "order.h"

#include "dispatch.h"

#define PATIENCE_MAX 31 /* then the task begins anew: order is relative */

int coop_order_known;

void
coop_order_begin (struct gomp_team *team, void (*fn) (void *))
{
  struct coop_barrier *b = coop_barrier (&team->barrier);
  uint64_t hash = (uintptr_t)fn * 0x9e3779b97f4a7c15ull;

  /* Who was the last at the barrier has this line.  What is learned before it is set
     is learned for another place, and once only.  */
  if (coop_peek (&coop_order_known))
    b->place = (unsigned)(hash >> 32) - b->generation / BAR_INCR;
}

/* Of the team of the current task, or NULL.  */
static struct coop_barrier *
current_barrier (void)
{
  struct gomp_team *team = coop_tls_thread ()->ts.team;

  return team ? coop_barrier (&team->barrier) : NULL;
}

/* What U knows of the barrier that it was the last to leave, of B.  */
static unsigned char *
patience_of (struct coop_ult *u, struct coop_barrier *b)
{
  unsigned place = b->place + coop_load (&b->generation) / BAR_INCR;

  return &u->patience[place % COOP_PLACES];
}

void
coop_order_learn (struct coop_worker *w, struct coop_ult *u)
{
  struct coop_barrier *b = current_barrier ();
  unsigned char *patience;

  if (!b)
    return;
  unsigned generation = coop_load (&b->generation) / BAR_INCR;
  if (u->spun_at != generation)
    u->spins = 0;
  u->spun_at = generation;
  /* Nobody else is left whom it could let go first.  */
  if (u->spins >= coop_peek (&w->queue.length))
    return;
  u->spins++;
  patience = patience_of (u, b);
  *patience = *patience < PATIENCE_MAX ? *patience + 1 : 0;
  __atomic_store_n (&coop_order_known, 1, __ATOMIC_RELAXED);
}

/* Not inlined: the caller's worker is another one after each turn.  */
static __attribute__ ((noinline)) bool
let_one_go (void)
{
  struct coop_worker *w = coop_tls_worker ();

  if (!w || !coop_peek (&w->queue.length))
    return false;
  coop_dispatch_yield ();
  return true;
}

void
coop_order_follow (void)
{
  struct coop_ult *u = coop_tls_ult ();
  struct coop_barrier *b = current_barrier ();

  if (!u || u->kind != COOP_ULT || !b)
    return;
  unsigned n = *patience_of (u, b);
  while (n > 0 && let_one_go ())
    n--;
}
