/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* CPUs that are not ours alone: another process runs on one of the allotment.

   Nobody tells; it shows in time that passes while a worker spins, or between the
   moment a kernel thread is given a slot and the moment it runs there.  A worker's
   CPU then counts as shared for a while, the longer the more often this happens:
   a thread that uses up its time slices has to wait for long when there is work,
   one that sleeps most of the time gets its CPU when it wakes up.

   Kernel threads that have to wait for their CPUs take a lease: all of them may
   run, anywhere, until it is over (worker.h).  */

#ifndef COOP_SHARE_H
#define COOP_SHARE_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* For how long something counts as so: longer each time that it shows soon again.  */
struct coop_lease
{
  int lock;
  uint64_t until_ns; /* read without the lock */
  uint64_t ns;	     /* so long after it has shown last */
};

/* It shows NOW.  */
extern void coop_lease_extend (struct coop_lease *l, uint64_t now);

/* W, which spins, looks at the clock.  */
extern void coop_share_watch (struct coop_worker *w, uint64_t now);

/* W's CPU is not shared any longer, if it was until NOW; if it was at all.  */
extern void coop_share_expire (struct coop_worker *w, uint64_t now);
extern void coop_share_forget (struct coop_worker *w);

/* W may spin so long before it sleeps.  */
extern uint64_t coop_share_spin_ns (struct coop_worker *w);

/* A kernel thread runs in slot W: has it waited for its CPU?  If so it has
   extended the lease.  */
extern bool coop_share_begun (struct coop_worker *w, uint64_t now);

/* Is there a lease?  Ends it.  */
extern bool coop_share_leased (uint64_t now);
extern void coop_share_end_lease (void);

/* In the child of a fork: no CPU is shared.  */
extern void coop_share_reset (void);

#pragma GCC visibility pop

#endif /* COOP_SHARE_H */
