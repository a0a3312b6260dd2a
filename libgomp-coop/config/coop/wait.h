/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Waiting: config/linux/wait.h in an unmanaged process, the parking lot in a
   managed one.

   Included by our shadows of the files that wait, before upstream's file: that
   one finds GOMP_WAIT_H defined and takes these functions.  */

#ifndef COOP_WAIT_H
#define COOP_WAIT_H 1

#define futex_wait stock_futex_wait
#define futex_wake stock_futex_wake
#define cpu_relax stock_cpu_relax
#define do_spin stock_do_spin
#define do_wait stock_do_wait
#include "../linux/wait.h"
#undef futex_wait
#undef futex_wake
#undef cpu_relax
#undef do_spin
#undef do_wait

#include "blocking.h"

static inline void
futex_wait (int *addr, int val)
{
  if (__builtin_expect (coop_managed, 0))
    coop_block (addr, val);
  else
    stock_futex_wait (addr, val);
}

static inline void
futex_wake (int *addr, int count)
{
  if (__builtin_expect (coop_managed, 0))
    coop_unpark (addr, count);
  else
    stock_futex_wake (addr, count);
}

static inline void
cpu_relax (void)
{
  if (__builtin_expect (coop_managed, 0))
    coop_relax ();
  else
    stock_cpu_relax ();
}

/* Returns 0 once *ADDR is not VAL, 1 if the caller should block.  */
static inline int
do_spin (int *addr, int val)
{
  if (__builtin_expect (coop_managed, 0))
    return coop_spin (addr, val);
  return stock_do_spin (addr, val);
}

static inline void
do_wait (int *addr, int val)
{
  if (!__builtin_expect (coop_managed, 0))
    stock_do_wait (addr, val);
  else if (coop_spin (addr, val))
    coop_block (addr, val);
}

#endif /* COOP_WAIT_H */
