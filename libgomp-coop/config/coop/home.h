/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The initial thread at home: on its own kernel thread, always.

   MPI libraries and others know a thread by its kernel thread.  Where that
   matters (COSCHED_STAY_HOME) the initial thread is no user-level task: it
   keeps its kernel thread, waits there like a foreign thread, and shares the
   CPU of worker 0, which is then a worker like any other.  A sibling that spins
   on that CPU until the initial thread has done something cannot lock it out,
   since the kernel divides the CPU between the two.  Worker 0 spins only while
   the initial thread sleeps, and the initial thread only while worker 0 does.

   The price is a sleep in the kernel where the initial thread waits for others
   while worker 0 has tasks.  */

#ifndef COOP_HOME_H
#define COOP_HOME_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Kernel thread of the initial thread if that stays at home, else 0.  */
extern pid_t coop_home_tid;

/* The initial thread sleeps.  */
extern int coop_home_asleep;

/* The calling initial thread stays at home from now on.  */
extern void coop_home_begin (void);

/* Is the caller the initial thread at home?  */
extern bool coop_home_is_here (void);

/* Spins until *ADDR is not VALUE, then returns 0; 1: the caller should block
   instead.  For the initial thread at home.  */
extern int coop_home_spin (const int *addr, int value);

/* Forgets it (child of a fork).  */
extern void coop_home_reset (void);

/* Should W leave its CPU to the initial thread instead of spinning?  */
static inline bool
coop_home_wants (const struct coop_worker *w)
{
  return __builtin_expect (coop_home_tid != 0, 0) && w->index == 0
	 && !coop_peek (&coop_home_asleep);
}

#pragma GCC visibility pop

#endif /* COOP_HOME_H */
