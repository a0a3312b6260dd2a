/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* When tasks may be preempted, which is by a signal (preempt.h).

   A task is preempted only where

   - the program counter is in the code of the program itself or of a library
     with parallel regions, which is where no lock of the C library, the loader
     or the runtime is held;
   - the task has a thread control block of its own and uses its own stack;
   - signals are blocked as everywhere: it is in no handler;
   - it is not serial code of the initial thread.

   A program that imports calls which end early by any signal (needs.h), as well
   as one under a debugger, valgrind or a sanitizer, is left alone; there, in
   kernel-thread mode and with tasks that share storage the watchdog's spares
   must do.  */

#ifndef COOP_PREEMPTIBLE_H
#define COOP_PREEMPTIBLE_H 1

#include "coop.h"

#include <ucontext.h>

#pragma GCC visibility push(hidden)

/* May the task of W, the caller's worker, which a signal interrupted in CONTEXT, be preempted
   there?  In a signal handler.  */
extern bool coop_preemptible_now (const struct coop_worker *w,
				  const ucontext_t *context);

/* May tasks be preempted in this mode, by what is known of the program so far?  */
extern bool coop_preemptible_mode (void);

/* May tasks of this program be preempted now?  Looks at libraries that were loaded since the last
   time; says once if the program's calls forbid it.  By the monitor, before the first
   coop_preemptible_now().  */
extern bool coop_preemptible_program (void);

#pragma GCC visibility pop

#endif /* COOP_PREEMPTIBLE_H */
