/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* A fence on all CPUs that run this process, by membarrier(2): what one side does
   seldom pays for what the other side does all the time.

   Where two sides store and then look at what the other has stored, both need a fence
   between, so that one of them sees the other.  With this the frequent side has none,
   but for the compiler, and the rare side has it for both.  */

#ifndef COOP_MEMBARRIER_H
#define COOP_MEMBARRIER_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* The kernel is prepared for it, and stays so.  */
extern bool coop_membarrier_ready;

/* Prepares the kernel if that takes no time: while the process has one thread.  */
extern void coop_membarrier_start (void);

/* Prepares it, which takes 10 ms, in which the process cannot end.  By the monitor.
   Returns false if it does not know this.  */
extern bool coop_membarrier_prepare (void);

/* A fence on all CPUs, once they are ready.  Returns false if there is no memory.  */
extern bool coop_membarrier (void);

/* Nothing is prepared (child of a fork).  */
extern void coop_membarrier_reset (void);

#pragma GCC visibility pop

#endif /* COOP_MEMBARRIER_H */
