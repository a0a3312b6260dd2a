/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Monitor: the thread that listens to the agent and watches the workers.

   It sleeps on the generation of the allotment page, puts what it finds there
   into effect, and does at each tick what needs no hurry: is the agent alive
   (hang-up, lease), do workers make progress (watchdog), what has been done
   (report page).  While the agent is away the process uses all CPUs that it
   was granted, and the monitor tries to attach again and again.  */

#ifndef COOP_MONITOR_H
#define COOP_MONITOR_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Creates the monitor.  Returns 0 or an error number.  */
extern int coop_monitor_start (void);

/* If there is an agent, waits for its first allotment, once, up to 100 ms while the
   agent is at work, 5 if it sleeps all the same: threads of the team would be in the
   monitor's way, and be dealt out to CPUs that the process does not have a moment
   later.  */
extern void coop_monitor_wait (void);
extern bool coop_monitor_awaited;

static inline void
coop_monitor_await (void)
{
  if (__builtin_expect (!coop_monitor_awaited, 0))
    coop_monitor_wait ();
}

/* Forgets the monitor and its connection (child of a fork).  */
extern void coop_monitor_reset (void);

#pragma GCC visibility pop

#endif /* COOP_MONITOR_H */
