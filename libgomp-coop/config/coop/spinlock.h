/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Spinning for a lock.

   A task that waits makes room for another one at once, if there is one: what
   it waits for, say a barrier, may take long, and may even need that other
   task.  A lock is mostly held for less time than a switch and the wake-up that
   follows it take, by a task that runs on another CPU.  So it is worth a short
   look; if the holder is not running, little is lost.  */

#ifndef COOP_SPINLOCK_H
#define COOP_SPINLOCK_H 1

#include "wait.h"
#include "worker.h"

#define LOCK_PAUSES_MIN 4
#define LOCK_PAUSES_MAX 64

static inline int
coop_lock_spin (int *addr, int val)
{
  if (__builtin_expect (coop_managed, 0) && coop_peek (&coop_crowded) == 0)
    for (int n = LOCK_PAUSES_MIN; n <= LOCK_PAUSES_MAX; n *= 2)
      {
	for (int i = 0; i < n; i++)
	  coop_pause ();
	if (coop_load (addr) != val)
	  return 0;
      }
  return do_spin (addr, val);
}

#endif /* COOP_SPINLOCK_H */
