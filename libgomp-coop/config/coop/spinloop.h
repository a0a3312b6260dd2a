/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops of the program in which tasks were seen to wait (preempt.h).

   Known by their addresses.  Entries are never removed: what is not executed any longer
   matches nothing.  Each has credit, which is lost where code that computes is taken for it;
   and where a thread goes from one wait to the next without work in between, as the threads
   of a pipeline do that have no rows.  So a loop without credit is looked at as code that
   nobody knows, and has some again where it waits by that.
   May be used in a handler of signals.  */

#ifndef COOP_SPINLOOP_H
#define COOP_SPINLOOP_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

#define COOP_SPINLOOP_CREDIT 16 /* doubts until a loop is taken for one that computes */
#define COOP_SPINLOOP_AGAIN 2 /* when it has been found to wait after all */

struct coop_spinloop
{
  uintptr_t first, last; /* instruction */
  int credit;
};

/* The loop with the instruction at PC, or NULL.  */
extern struct coop_spinloop *coop_spinloop_find (uintptr_t pc);

/* PC belongs to a loop that waits: one that is known, near it, or a new one.  */
extern void coop_spinloop_note (uintptr_t pc);

/* Nobody is noting any (child of a fork).  */
extern void coop_spinloop_reset (void);

#pragma GCC visibility pop

#endif /* COOP_SPINLOOP_H */
