/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Tasks that have strayed: stolen, or of workers that have got other CPUs.

   They run where they are, and begin there again, until a team waits in its dock or
   at a barrier and the time has come to place all of it anew (placement.h).  What that
   takes grows with the team, so the time between does, too.

   Only a whole team is placed.  Where those are who are missing nobody knows; to count
   them where they are not sends others away from their data.  So once the time has
   come, all wait on the list of their barrier, even who is alone on its worker.  */

#ifndef COOP_STRAY_H
#define COOP_STRAY_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Tasks have strayed: stolen, or workers have got other CPUs, or tasks other homes.  */
extern void coop_stray_note (void);

/* It is NOW.  By the monitor now and then, and by coop_stray_pass.  */
extern void coop_stray_tick (uint64_t now);

/* Is it time to place a team anew?  Hints.  */
enum coop_stray
{
  COOP_STRAY_NONE,   /* no task has strayed since the last time */
  COOP_STRAY_SOME,   /* some have, but it is not time yet */
  COOP_STRAY_DUE,    /* in its dock, */
  COOP_STRAY_OVERDUE /* and at barriers, which cost less and are more */
};
extern int coop_stray_time;

/* Barriers do not wait for a tick of the monitor: a task that was stolen while its worker's CPU had
   an interrupt would be at the wrong worker at thousands of short ones.  */
#define COOP_STRAY_PASSES 16

/* A team's barrier is over, for the *PASSES-th time since tasks have strayed.  */
static inline void
coop_stray_pass (unsigned *passes)
{
  if (__builtin_expect (coop_peek (&coop_stray_time) == COOP_STRAY_NONE, 1)
      || ++*passes < COOP_STRAY_PASSES)
    return;
  *passes = 0;
  coop_stray_tick (coop_now_ns ());
}

static inline bool
coop_stray_are_due (void)
{
  return __builtin_expect (coop_peek (&coop_stray_time) >= COOP_STRAY_DUE, 0);
}

static inline bool
coop_stray_are_overdue (void)
{
  return __builtin_expect (coop_peek (&coop_stray_time) == COOP_STRAY_OVERDUE, 0);
}

/* May it be time when those who wait in a dock now go on?  Where regions have
   different homes, it always may.  */
extern bool coop_stray_are_expected (void);

/* Have tasks been placed so lately that their workers wait for the lines of those that were
   elsewhere?  Who takes tasks meanwhile makes them stray again.  */
extern bool coop_stray_are_settling (void);

/* In kernel-thread mode only those that sleep can go elsewhere: should a thread
   that waits in the dock do so at once?  Not without the agent's homes: a thread
   that is woken begins where it went to sleep.  */
extern bool coop_stray_should_sleep (void);

/* Hands out BATCH, batches of a team of SIZE that has waited together, each task to
   the worker where it would begin in a new team.  Returns false, and does nothing, if
   there is no memory, or if others than the initial thread and the caller are
   missing.  */
extern bool coop_stray_hand_out (struct coop_ult *batch, unsigned size);

#pragma GCC visibility pop

#endif /* COOP_STRAY_H */
