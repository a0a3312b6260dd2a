/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Workers that starve: something of higher priority has their CPUs.

   A worker is bound to its CPU, and the task that it runs cannot go elsewhere.
   Beside processes of its own priority it gets its share.  Beside one of higher
   priority it hardly runs, and its team waits for it at the next barrier; threads
   of the stock library would be moved by the kernel.

   A worker starves if it has had less than an eighth of its CPU's time for a
   while, without having slept.  That CPU is left out of the allotment then, as if
   the agent had taken it, and the task goes on elsewhere (worker.h); for a while,
   which is longer each time that this happens soon again.  Where all workers
   starve none is left out.  Kernel threads may run anywhere instead (share.h).  */

#ifndef COOP_STARVE_H
#define COOP_STARVE_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* One look at all workers.  Returns true if other CPUs are to be left out from now
   on: the allotment must be put into effect again.  For the monitor, as the
   following.  */
extern bool coop_starve_tick (uint64_t now_ns);

/* Removes from CPUS those that are left out, unless none would remain.  */
extern void coop_starve_leave_out (struct cosched_cpuset *cpus);

/* Forgets all (child of a fork).  */
extern void coop_starve_reset (void);

#pragma GCC visibility pop

#endif /* COOP_STARVE_H */
