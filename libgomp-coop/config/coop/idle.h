/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Workers without work: they spin for a while, looking for something to do, then
   sleep until somebody who has made tasks ready wakes them.  */

#ifndef COOP_IDLE_H
#define COOP_IDLE_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Wakes W if it sleeps.  */
extern void coop_idle_wake (struct coop_worker *w);

/* Does any worker sleep?  One that is about to looks at all queues.  */
extern bool coop_idle_any_asleep (void);

/* Wakes up to COUNT sleeping workers that may run.  */
extern void coop_idle_kick (unsigned count);

/* W sleeps until woken, unless there is work that it may do.  */
extern void coop_idle_sleep (struct coop_worker *w);

/* W has nothing to do: spins a while for work, then sleeps.  */
extern void coop_idle_wait (struct coop_worker *w);

/* Spins until *ADDR is not VALUE.  COOP_SPIN_CHANGED; COOP_SPIN_WORK: W has
   something better to do, or its CPU is wanted; COOP_SPIN_TIMEOUT.  */
enum coop_spin
{
  COOP_SPIN_CHANGED,
  COOP_SPIN_WORK,
  COOP_SPIN_TIMEOUT
};
extern enum coop_spin coop_idle_spin (struct coop_worker *w, const int *addr,
				      int value);

/* W's scheduler runs: it is not lost (runq.h).  */
extern void coop_idle_back (struct coop_worker *w);

/* All are awake (child of a fork).  */
extern void coop_idle_reset (void);

#pragma GCC visibility pop

#endif /* COOP_IDLE_H */
