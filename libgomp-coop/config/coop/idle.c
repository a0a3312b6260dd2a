/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Workers without work (idle.h).  */

#include "idle.h"

#include "libgomp.h"

#include "home.h"
#include "region.h"
#include "runq.h"
#include "share.h"
#include "worker.h"

/* Pauses before an idle worker looks into others' queues: about a microsecond.
   Whoever runs through a queue of short tasks is done sooner, and finds them in
   its cache the next time.  */
#define STEAL_PAUSES 64

static int nsleeping;

void
coop_idle_reset (void)
{
  nsleeping = 0;
}

void
coop_idle_wake (struct coop_worker *w)
{
  if (w->started && coop_load (&w->sleeping)
      && __atomic_exchange_n (&w->sleeping, 0, __ATOMIC_ACQ_REL))
    coop_futex_wake (&w->sleeping, 1);
}

static bool
wake_if_asleep (struct coop_worker *w)
{
  if (!coop_load (&w->sleeping) || !coop_may_run (w) || !w->started)
    return false;
  coop_idle_wake (w);
  return true;
}

bool
coop_idle_any_asleep (void)
{
  return coop_load (&nsleeping) != 0;
}

void
coop_idle_kick (unsigned count)
{
  coop_fence ();
  if (count == 0 || !coop_idle_any_asleep ())
    return;
  unsigned n = coop_peek (&coop_nworkers);
  for (unsigned i = 0; i < n && count > 0; i++)
    count -= wake_if_asleep (&coop_workers[i]);
  n = coop_peek (&coop_nspares);
  for (unsigned i = 0; i < n && count > 0; i++)
    count -= wake_if_asleep (&coop_workers[COOP_SPARE_FIRST + i]);
}

void
coop_idle_sleep (struct coop_worker *w)
{
  if (w->idle_since_ns)
    coop_region_count_idle (w, coop_now_ns ());
  __atomic_add_fetch (&nsleeping, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n (&w->sleeping, 1, __ATOMIC_SEQ_CST);
  coop_worker_settled (w);
  coop_fence ();
  if (!coop_may_run (w))
    coop_idle_kick (coop_runq_total ()); /* queued for W meanwhile */
  else if (coop_load (&w->home_ready) || coop_peek (&w->queue.unborn)
	   || coop_runq_any ())
    coop_store (&w->sleeping, 0);
  while (coop_load (&w->sleeping))
    coop_futex_sleep (&w->sleeping, 1);
  w->spun_ns = 0;
  if (w->idle_since_ns)
    w->idle_told_ns = coop_now_ns (); /* asleep it did not spin */
  __atomic_sub_fetch (&nsleeping, 1, __ATOMIC_SEQ_CST);
}

void
coop_idle_back (struct coop_worker *w)
{
  if (coop_runq_found (w))
    coop_share_watch (w, coop_now_ns ());
}

/* W has been spinning for a while: has it done so for too long?  */
static bool
is_tired (struct coop_worker *w)
{
  uint64_t now = coop_now_ns ();

  coop_runq_found (w);
  coop_share_watch (w, now);
  coop_share_expire (w, now);
  if (w->idle_since_ns == 0)
    w->idle_since_ns = now;
  return now - w->idle_since_ns > coop_share_spin_ns (w);
}

enum coop_spin
coop_idle_spin (struct coop_worker *w, const int *addr, int value)
{
  unsigned long limit = gomp_spin_count_var;
  unsigned patience = coop_peek (&coop_runq_lost) ? 0 : STEAL_PAUSES;

  w->spun_ns = 0;
  for (unsigned i = 0;; i++)
    {
      if (coop_load (addr) != value)
	{
	  if (w->idle_since_ns)
	    coop_region_found (w);
	  return COOP_SPIN_CHANGED;
	}
      if (i % 16 == 0
	  && (coop_must_leave (w) || coop_peek (&w->queue.length)
	      || coop_peek (&w->queue.unborn)
	      || coop_peek (&coop_crowded) || coop_home_wants (w)
	      || (i >= patience && coop_runq_look (w, i / 16))))
	return COOP_SPIN_WORK;
      if (i >= limit)
	return COOP_SPIN_TIMEOUT;
      if (i % 256 == 255 && is_tired (w))
	return COOP_SPIN_TIMEOUT;
      coop_pause ();
    }
}

void
coop_idle_wait (struct coop_worker *w)
{
  enum coop_spin r
      = coop_is_spare (w)
	    ? COOP_SPIN_TIMEOUT
	    : coop_idle_spin (w, (int *) &w->queue.length, 0);
  if (r == COOP_SPIN_TIMEOUT || coop_peek (&coop_crowded)
      || coop_home_wants (w))
    coop_idle_sleep (w);
}
