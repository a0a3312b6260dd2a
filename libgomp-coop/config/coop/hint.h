/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Hints: in which LLC domain the data of tasks lie, by region.

   A task's LLC domain is where it was in its first region (placement.h).  Its data may lie
   elsewhere: another task has touched them first, or it began while the job had
   few CPUs.  An agent that counts who asks which memory says so behind the
   allotment (protocol/layout.h), of each task by an address in its stack.  The
   monitor finds the tasks; when a region begins that has other homes than the last
   one that had any, its tasks are due to be placed anew (stray.h), each in its home there.

   The agent is believed in no more than this: a home where no worker is changes
   nothing.  */

#ifndef COOP_HINT_H
#define COOP_HINT_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* There are so many different sets of homes; a hint itself.  */
extern unsigned coop_hint_known;

/* Tasks have been created since they were found.  */
extern int coop_hint_stale;

/* Takes the homes HOMES while GENERATION, which guards them, is NOW; NULL: there
   are none.  By the monitor, for each allotment.  */
extern void coop_hint_take (const struct cosched_homes *homes,
			    const uint32_t *generation, uint32_t now);

/* Finds the tasks again, if others have come.  By the monitor, at each tick.  */
extern void coop_hint_tick (void);

/* Region number INDEX begins.  */
extern void coop_hint_choose (unsigned index);

static inline void
coop_hint_region (unsigned index)
{
  if (__builtin_expect (coop_peek (&coop_hint_known), 0))
    coop_hint_choose (index);
}

/* The COUNT tasks TASK, some of which are NULL, wait to be placed: their LLC
   domains are those of the present region.  */
extern void coop_hint_apply (struct coop_ult *const *task, unsigned count);

/* Forgets all (no agent; child of a fork).  */
extern void coop_hint_reset (void);

#pragma GCC visibility pop

#endif /* COOP_HINT_H */
