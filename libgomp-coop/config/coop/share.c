/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* CPUs that are not ours alone (share.h).  */

#include "share.h"

#include <string.h>

#include "settings.h"

/* Idle workers spin so long before they sleep: longer than the serial code
   between two short regions, shorter than what a neighbour would notice.  */
#define IDLE_SPIN_NS 1000000
#define SHARED_SPIN_NS 20000

/* A spinning worker that sees the clock jump by so much had to leave its CPU to
   something else.  For a while it spins shorter then; after CALM_NS without it
   the while is short again.  */
#define GAP_NS 400000
#define SHARED_MIN_NS 10000000
#define SHARED_MAX_NS 320000000
#define CALM_NS 40000000

/* Whether other processes still have CPUs does not show before a lease is over, and
   to find out costs milliseconds.  */
#define LEASE_MIN_NS 320000000
#define LEASE_MAX_NS 10240000000
#define LEASE_CALM_NS 1000000000

static int nshared; /* workers whose CPU is shared */
static struct coop_lease lease;

/* W's CPU is shared for W's shared_ns, or no longer.  */
static void
set_shared (struct coop_worker *w, uint64_t now)
{
  w->shared_until_ns = now + w->shared_ns;
  if (!__atomic_exchange_n (&w->shared, 1, __ATOMIC_ACQ_REL))
    __atomic_add_fetch (&nshared, 1, __ATOMIC_RELAXED);
}

void
coop_share_forget (struct coop_worker *w)
{
  if (__atomic_exchange_n (&w->shared, 0, __ATOMIC_ACQ_REL))
    __atomic_sub_fetch (&nshared, 1, __ATOMIC_RELAXED);
}

void
coop_share_expire (struct coop_worker *w, uint64_t now)
{
  if (coop_peek (&w->shared) && now >= w->shared_until_ns)
    coop_share_forget (w);
}

void
coop_share_watch (struct coop_worker *w, uint64_t now)
{
  uint64_t before = w->spun_ns;
  w->spun_ns = now;
  if (before == 0 || now - before < GAP_NS)
    return;
  if (w->shared_ns == 0 || now > w->shared_until_ns + CALM_NS)
    w->shared_ns = SHARED_MIN_NS;
  else if (now > w->shared_until_ns && w->shared_ns < SHARED_MAX_NS)
    w->shared_ns *= 2;
  set_shared (w, now);
}

uint64_t
coop_share_spin_ns (struct coop_worker *w)
{
  const int *shared
      = coop_mode == COSCHED_MODE_KTHREAD ? &nshared : &w->shared;
  return coop_peek (shared) ? SHARED_SPIN_NS : IDLE_SPIN_NS;
}

void
coop_lease_extend (struct coop_lease *l, uint64_t now)
{
  coop_lock (&l->lock);
  if (now > l->until_ns + LEASE_CALM_NS)
    l->ns = LEASE_MIN_NS;
  else if (now > l->until_ns && l->ns < LEASE_MAX_NS)
    l->ns *= 2;
  __atomic_store_n (&l->until_ns, now + l->ns, __ATOMIC_RELAXED);
  coop_unlock (&l->lock);
}

bool
coop_share_begun (struct coop_worker *w, uint64_t now)
{
  if (now - w->given_ns < GAP_NS
      || coop_settings.test & COOP_TEST_NO_LEASE)
    {
      coop_share_expire (w, now);
      return false;
    }
  /* To run anywhere costs little: no need to begin with less.  */
  w->shared_ns = SHARED_MAX_NS;
  set_shared (w, now);
  coop_lease_extend (&lease, now);
  return true;
}

bool
coop_share_leased (uint64_t now)
{
  return now < coop_peek (&lease.until_ns);
}

void
coop_share_end_lease (void)
{
  coop_lock (&lease.lock);
  __atomic_store_n (&lease.until_ns, 0, __ATOMIC_RELAXED);
  coop_unlock (&lease.lock);
}

void
coop_share_reset (void)
{
  nshared = 0;
  memset (&lease, 0, sizeof lease);
}
