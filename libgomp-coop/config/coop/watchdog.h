/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Watchdog: tasks that keep a worker although others wait for one.

   Where tasks can be preempted, those that spin are, and those that keep their worker for
   long take turns (preempt.h), as in a kernel's queue, but on their own CPU and at
   intervals that cost nothing.  Spares are for the others.

   A task that waits in a loop of the program's own never reaches a scheduling
   point; if the task it waits for is queued behind it, both wait for ever.
   When tasks are queued, a worker has been busy with one task for too long and
   no such worker has gone on for a while, the watchdog lets spares run, twice
   as many at each tick, until each task that can run does: then the kernel's
   time slices resolve the wait.  Spares stay on the CPUs of the allotment.  A
   task that just computes for long looks the same; then the spares cost time
   slicing, but not correctness, and no more of them come once it ends.

   A task that blocks in the kernel leaves its worker's CPU idle.  /proc tells:
   after a tick there is a spare for each worker that sleeps so.

   Spares retire soon after the queues are empty.  How many a region needed is
   remembered, so that its next run gets them at the first tick.  That may be
   wrong: where tasks just compute, spares take them from their CPUs and their data
   for nothing.  So now and then, less often each time that it shows a need, a
   region is tried without.  */

#ifndef COOP_WATCHDOG_H
#define COOP_WATCHDOG_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* One look at all workers.  Returns true if it should look again soon.  */
extern bool coop_watchdog_tick (uint64_t now_ns);

/* Forgets the spares (child of a fork).  */
extern void coop_watchdog_reset (void);

#pragma GCC visibility pop

#endif /* COOP_WATCHDOG_H */
