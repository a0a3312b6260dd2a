/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops in which tasks wait (spinloop.h).  */

#include "spinloop.h"

#define LOOPS 32
#define LOOP_BYTES 64 /* the longest */

static struct coop_spinloop loops[LOOPS];
static unsigned loop_count;
static int loop_lock;

struct coop_spinloop *
coop_spinloop_find (uintptr_t pc)
{
  unsigned n = coop_load (&loop_count);
  for (unsigned i = 0; i < n; i++)
    if (pc >= coop_peek (&loops[i].first) && pc <= coop_peek (&loops[i].last))
      return &loops[i];
  return NULL;
}

void
coop_spinloop_note (uintptr_t pc)
{
  if (__atomic_exchange_n (&loop_lock, 1, __ATOMIC_ACQUIRE))
    return; /* it will be met again */
  unsigned i = 0;
  while (i < loop_count
	 && (pc + LOOP_BYTES < loops[i].last || pc > loops[i].first + LOOP_BYTES))
    i++;
  if (i < loop_count)
    {
      if (pc < loops[i].first)
	__atomic_store_n (&loops[i].first, pc, __ATOMIC_RELAXED);
      if (pc > loops[i].last)
	__atomic_store_n (&loops[i].last, pc, __ATOMIC_RELAXED);
      if (coop_peek (&loops[i].credit) < COOP_SPINLOOP_AGAIN)
	__atomic_store_n (&loops[i].credit, COOP_SPINLOOP_AGAIN, __ATOMIC_RELAXED);
    }
  else if (i < LOOPS)
    {
      loops[i].first = loops[i].last = pc;
      loops[i].credit = COOP_SPINLOOP_CREDIT;
      coop_store (&loop_count, i + 1);
    }
  coop_store (&loop_lock, 0);
}

void
coop_spinloop_reset (void)
{
  coop_store (&loop_lock, 0);
}
