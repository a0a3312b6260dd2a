/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Preemption: tasks that wait in a loop of the program's own make room.

   A task that spins for what a task behind it has to do keeps the worker from
   doing it, and no call tells.  While a worker with queued tasks has been busy
   with one for a while, a timer interrupts its kernel thread every few dozen
   microseconds.  Code that comes to the same place with the same registers
   again and again waits; the handler remembers the place and switches to the
   next task.  What the task needs to go on is in the signal's frame, on its own
   stack.  From then on whoever is found at such a place is preempted at once.
   The next look comes when the task will have worked for as long as it did the
   last time, or after a moment if it had been continued in vain.

   It may happen that code which computes is taken for a loop that waits; then
   tasks take turns that need not, until it is found out.  After that the loop is looked
   at as one that nobody knows.

   Other loops that wait cannot be told from code that computes: they count, say.
   So tasks that keep their worker for long, whatever they do, take turns when the
   watchdog says so, until they go on by themselves.  A turn begins with some looks, as who
   spins needs none.

   The signal is glibc's SIGSETXID, which no program can handle or block, and
   whose handler the runtime has wrapped (setxid.h); the kernel drops a timer's
   signals in exec.  Where a task may be preempted is in preemptible.h.  */

#ifndef COOP_PREEMPT_H
#define COOP_PREEMPT_H 1

#include "coop.h"

#include <signal.h>
#include <ucontext.h>

#pragma GCC visibility push(hidden)

/* Looks which workers should be interrupted for a while.  By the watchdog, when
   tasks are queued or workers have lost their CPUs.  */
extern void coop_preempt_tick (uint64_t now_ns);

/* The tasks of W are to take turns, if any waits for W.  Returns false if they cannot, or
   were to before and it has not come about.  By the watchdog.  */
extern bool coop_preempt_turn (struct coop_worker *w);

/* Serves SIGSETXID if it comes from one of the timers; else returns false.  */
extern bool coop_preempt_serve (const siginfo_t *info, ucontext_t *context);

/* Tasks that were found spinning and made room; counted, but not exactly.  */
extern unsigned long coop_preempted;

/* Forgets the timers (child of a fork).  */
extern void coop_preempt_reset (void);

#pragma GCC visibility pop

#endif /* COOP_PREEMPT_H */
