/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What libgomp's waiting turns into when the process is managed.  */

#ifndef COOP_BLOCKING_H
#define COOP_BLOCKING_H 1

#include "coop.h"
#include "park.h"

#pragma GCC visibility push(hidden)

/* Spins as long as that is better than to block: the task's worker owns a CPU
   and has nothing else to run.  Returns 0 once *ADDR is not VALUE, else 1.  */
extern int coop_spin (int *addr, int value);

/* As coop_park; afterwards serial code is on its own kernel thread.  */
extern void coop_block (int *addr, int value);

/* One turn of a loop that waits for another task.  */
extern void coop_relax (void);

/* U has asked COOP_POLLS times.  */
#define COOP_POLLS 256
extern void coop_polled (struct coop_ult *u);

/* The program asks for something, as it may do in a loop in which it waits.  Where it does
   little else, other tasks of the worker go on.  */
static inline void
coop_poll (void)
{
  struct coop_ult *u;

  if (__builtin_expect (coop_managed, 0) && (u = coop_tls_ult ())
      && __builtin_expect (++u->polls % COOP_POLLS == 0, 0))
    coop_polled (u);
}

#pragma GCC visibility pop

#endif /* COOP_BLOCKING_H */
