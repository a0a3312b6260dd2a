/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Launching a region on the team of the one before.

   Upstream's gomp_team_start fills in each thread's state, one after the
   other: the initial thread touches several cache lines of each task, which
   then move to the worker that runs it.  When a pool's threads run a region in
   the same team as the last time, their states differ in their numbers only.
   Then the initial thread leaves one description in the pool's dock, and each
   thread makes its own state from it when it leaves the dock.  */

#ifndef COOP_LAUNCH_H
#define COOP_LAUNCH_H 1

#include "libgomp.h"

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Does what gomp_team_start does, says that the region has begun (region.h), and returns
   true, or returns false if the team is not the one noted.  Caller: initial thread of a
   pool, not nested.  */
extern bool coop_launch_start (void (*fn) (void *), void *data,
			       unsigned nthreads, unsigned flags,
			       struct gomp_team *team,
			       struct gomp_taskgroup *taskgroup);

/* Gomp_team_start has set up the calling thread's team: the next region may
   be launched on it.  */
extern void coop_launch_note (unsigned flags);

/* The caller has created all threads of its team.  */
extern void coop_launch_ready (void);

/* In place of gomp_simple_barrier_wait on a pool's dock, in team.c.  Runs the regions that
   are launched meanwhile.  */
extern void coop_launch_dock (gomp_simple_barrier_t *dock);

#pragma GCC visibility pop

#endif /* COOP_LAUNCH_H */
