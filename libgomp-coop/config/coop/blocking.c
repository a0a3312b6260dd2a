/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Waiting of a managed process (blocking.h).  */

#include "blocking.h"

#include <sched.h>

#include "libgomp.h"

#include "batch.h"
#include "dispatch.h"
#include "home.h"
#include "idle.h"
#include "ult.h"

#define FOREIGN_SPINS 1000 /* a foreign thread owns no CPU */
#define RELAX_TURNS 16	   /* pauses between two looks at the queues */

/* Who has less to do between two polls of a row waits.  Beside a look at the clock, which it may
   poll, too.  */
#define POLL_NS 50

int
coop_spin (int *addr, int value)
{
  struct coop_worker *w = coop_tls_worker ();

  if (coop_load (addr) != value)
    return 0;
  if (w && __builtin_expect (w->batch.count != 0, 0))
    coop_batch_flush (w);
  if (__builtin_expect (w != NULL, 1))
    return coop_idle_spin (w, addr, value) != COOP_SPIN_CHANGED;
  if (coop_home_is_here ())
    return coop_home_spin (addr, value);
  if (coop_peek (&coop_crowded) == 0)
    for (int i = 0; i < FOREIGN_SPINS; i++)
      {
	if (coop_load (addr) != value)
	  return 0;
	coop_pause ();
      }
  return 1;
}

void
coop_block (int *addr, int value)
{
  if (__builtin_expect (coop_home_tid != 0, 0) && coop_home_is_here ())
    {
      coop_store (&coop_home_asleep, 1);
      coop_park (addr, value);
      coop_store (&coop_home_asleep, 0);
      return;
    }
  coop_park (addr, value);
  struct coop_ult *u = coop_tls_ult ();
  if (__builtin_expect (u->root, 0) && gomp_thread ()->ts.level == 0)
    coop_dispatch_return_home ();
}

void
coop_relax (void)
{
  static __thread unsigned turns;
  coop_pause ();
  if (__builtin_expect (coop_home_tid != 0, 0) && coop_home_is_here ())
    sched_yield (); /* what it waits for may need worker 0 */
  else if (++turns % RELAX_TURNS == 0)
    coop_dispatch_yield ();
}

void
coop_polled (struct coop_ult *u)
{
  struct coop_worker *w = coop_tls_worker ();

  if (u->kind != COOP_ULT || !w || gomp_thread ()->ts.level == 0)
    return;
  if (coop_peek (&w->queue.length) || coop_must_leave (w))
    {
      uint64_t before = coop_now_ns (), now = coop_now_ns ();
      if (now - u->polled_ns < COOP_POLLS * (POLL_NS + now - before))
	coop_dispatch_yield ();
    }
  u->polled_ns = coop_now_ns ();
}
