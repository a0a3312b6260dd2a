/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Tasks that have strayed: stolen, or of workers that have got other CPUs.

   They run where they are, and begin there again, until a team waits in its dock
   and the time has come to place all of it anew (placement.h).  What that takes
   grows with the team, so the time between does, too.  */

#ifndef COOP_STRAY_H
#define COOP_STRAY_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Some have since the last time; a hint, set by whoever moves them.  */
extern int coop_strayed;

/* Is it time to place a team anew?  Says so once.  */
extern bool coop_stray_are_due (void);

/* In kernel-thread mode only those that sleep can go elsewhere: should a thread
   that waits in the dock do so at once?  Not without the agent's homes: a thread
   that is woken begins where it went to sleep.  */
extern bool coop_stray_should_sleep (void);

/* Hands out BATCH, batches of a team of SIZE that has waited in its dock, each task
   to the worker where it would begin in a new team.  Returns false, and does
   nothing, if there is no memory.  */
extern bool coop_stray_hand_out (struct coop_ult *batch, unsigned size);

#pragma GCC visibility pop

#endif /* COOP_STRAY_H */
