/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What one look at an interrupted task shows (preempt.h): where it is, and whether anything of
   it has been executed since the last look.

   The latter is told by a mark in the context, which the processor takes away with the next
   instruction (arch.h): signals may follow each other closely when the kernel has other things
   to do.  Not every processor has such a mark, and QEMU without hardware's help sets it at each
   interrupt.  So it counts from the first time on that it was seen gone.  */

#ifndef COOP_SAMPLE_H
#define COOP_SAMPLE_H 1

#include "coop.h"

#include <ucontext.h>

#pragma GCC visibility push(hidden)

struct coop_sample
{
  uintptr_t pc;
  uint64_t registers; /* a hash of the others */
};

/* Of the task that a signal has interrupted in CONTEXT.  */
extern struct coop_sample coop_sample_of (const ucontext_t *context);

static inline bool
coop_sample_alike (struct coop_sample a, struct coop_sample b)
{
  return a.pc == b.pc && a.registers == b.registers;
}

/* The next look at CONTEXT is to know whether the task has moved since.  */
extern void coop_sample_mark (ucontext_t *context);

/* Has anything been executed since the mark?  True where marks say nothing.  CONTEXT is in the
   program's own code: where a system call ends there is no mark.  */
extern bool coop_sample_moved (const ucontext_t *context);

/* Do marks say anything?  */
extern bool coop_sample_marks (void);

#pragma GCC visibility pop

#endif /* COOP_SAMPLE_H */
