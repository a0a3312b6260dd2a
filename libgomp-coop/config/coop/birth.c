/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Births of tasks (birth.h).  */

#include "birth.h"

#include <limits.h>
#include <string.h>

#include "libgomp.h"

#include "blocking.h"
#include "dispatch.h"
#include "idle.h"
#include "park.h"
#include "runq.h"
#include "stack.h"
#include "ult.h"

void
coop_birth_expect (struct coop_ult *u)
{
  struct coop_worker *w = &coop_workers[u->home];
  struct coop_runq *q = &w->queue;

  u->mother = coop_tls_ult ();
  __atomic_add_fetch (&u->mother->unborn, 1, __ATOMIC_RELAXED);
  coop_stack_add (u); /* here: workers would wait for each other */
  coop_runq_lock (w);
  u->next = NULL;
  if (q->unborn)
    q->last_unborn->next = u;
  else
    __atomic_store_n (&q->unborn, u, __ATOMIC_RELAXED);
  q->last_unborn = u;
  coop_runq_unlock (w);
  coop_fence ();
  if (coop_may_run (w))
    coop_idle_wake (w);
}

static struct coop_ult *
take (struct coop_worker *w)
{
  struct coop_runq *q = &w->queue;

  if (!coop_peek (&q->unborn))
    return NULL;
  coop_runq_lock (w);
  struct coop_ult *u = q->unborn;
  if (u)
    __atomic_store_n (&q->unborn, u->next, __ATOMIC_RELAXED);
  coop_runq_unlock (w);
  return u;
}

/* Returns false if U cannot be.  */
static bool
bear (struct coop_ult *u)
{
  struct coop_ult *mother = u->mother;
  struct coop_worker *w = coop_tls_worker ();

  if (w)
    coop_store (&w->bearing, true);
  int *unborn = &mother->unborn, err = coop_ult_bear (u);
  if (w)
    coop_store (&w->bearing, false);
  if (err)
    coop_store (&mother->birth_error, err);
  /* She may go on and end as soon as she sees this.  */
  if (__atomic_sub_fetch (unborn, 1, __ATOMIC_ACQ_REL) == 0)
    coop_unpark (unborn, INT_MAX);
  return err == 0;
}

struct coop_ult *
coop_birth_next (struct coop_worker *w)
{
  struct coop_ult *u;

  while ((u = take (w)))
    if (bear (u))
      return u;
  return NULL;
}

/* All that are left, those of the caller's worker first.  */
static void
bear_all (void)
{
  struct coop_worker *w = coop_tls_worker ();
  unsigned n = coop_peek (&coop_nworkers);
  unsigned first = w && !coop_is_spare (w) ? w->index : 0;

  for (unsigned i = 0; i < n; i++)
    {
      struct coop_ult *u;
      while ((u = take (&coop_workers[(first + i) % n])))
	if (bear (u))
	  coop_dispatch_first (u);
    }
}

void
coop_birth_await (void)
{
  struct coop_ult *self = coop_tls_ult ();
  int left;

  if (!self || (coop_peek (&self->unborn) == 0 && !self->birth_error))
    return;
  bear_all ();
  while ((left = coop_load (&self->unborn)))
    coop_block (&self->unborn, left);
  if (self->birth_error)
    gomp_fatal ("Thread creation failed: %s", strerror (self->birth_error));
}
