/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Stack overflow: a message that names OMP_STACKSIZE before the program dies.

   A task that leaves its stack touches the guard below it, and the program
   ends by SIGSEGV, with the core dump that the user has asked for; a handler
   says why first.  It is installed if the program has none, or one that could
   not run then, for want of a stack of its own.  At the first fault that is no
   overflow our handler puts back what was there and returns: the instruction
   faults again, and the program's handler gets the signal from the kernel as
   if ours had never been.  */

#ifndef COOP_OVERFLOW_H
#define COOP_OVERFLOW_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Installs the handler, once, and watches the calling kernel thread.  */
extern void coop_overflow_start (void);

/* Gives the calling kernel thread a stack for the handler, if it has none.
   Returns what coop_overflow_leave takes back when the thread ends.  */
extern void *coop_overflow_watch (void);
extern void coop_overflow_leave (void *stack);

#pragma GCC visibility pop

#endif /* COOP_OVERFLOW_H */
