/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Parking lot: where tasks wait for a word to change.

   Replaces the kernel's futex below all of libgomp's waiting.  Each worker has
   a table of buckets, hashed by address, and tasks wait in the table of the
   worker they ran on: arriving at a barrier touches no remote line but the
   barrier's own.  For each hash value a bitmap tells the waker which tables
   have waiters.

   No wake-up is lost: the waiter marks the bitmap before it compares the word,
   the waker changes the word before it reads the bitmap, both sequentially
   consistent.  The bucket stays locked until the waiter's context is saved,
   so that nobody continues a context that still runs.  */

#ifndef COOP_PARK_H
#define COOP_PARK_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Allocates the table of worker INDEX, if it has none.  Returns 0 or -1.  */
extern int coop_park_table (unsigned index);

/* Forgets all waiters (child of a fork).  */
extern void coop_park_reset (void);

/* Waits until *ADDR is not VALUE or somebody wakes ADDR; may return early.  */
extern void coop_park (int *addr, int value);

/* Takes all tasks that wait for ADDR, a batch of each table (batch.h).  */
extern struct coop_ult *coop_park_take (int *addr);

/* Makes up to COUNT waiters for ADDR ready.  Returns how many there were.  */
extern unsigned coop_unpark (int *addr, int count);

#pragma GCC visibility pop

#endif /* COOP_PARK_H */
