/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's team.c, creating tasks where it creates threads, and telling
   which region runs.  */

#include "libgomp.h"
#include "../kmp/kmp.h"
#include "batch.h"
#include "dispatch.h"
#include "launch.h"
#include "order.h"
#include "region.h"
#include "start.h"
#include "ult.h"

#define pthread_create(handle, attr, fn, data)                                \
  coop_ult_create (handle, attr, fn, data, (data)->ts.team_id,                \
		   (data)->ts.team->nthreads)
#define pthread_join(handle, result) coop_ult_join (handle)
#define pthread_detach(handle) coop_ult_detach (handle)
#define pthread_self() coop_ult_handle ()
#define pthread_exit(result) coop_ult_exit ()
#define gomp_simple_barrier_wait(dock) coop_launch_dock (dock)
#define gomp_barrier_wait(barrier)                                            \
  (coop_launch_ready (), gomp_barrier_wait (barrier))
#define gomp_finish_task(task) finish_task (task)
#define gomp_team_start upstream_team_start
#define gomp_team_end upstream_team_end
static void upstream_team_start (void (*) (void *), void *, unsigned, unsigned,
				 struct gomp_team *, struct gomp_taskgroup *);
static void upstream_team_end (void);

/* The task of a thread that has been in the dock has no table of dependences,
   and may no longer exist.  */
static inline void
finish_task (struct gomp_task *task)
{
  if (!coop_batch_was_docked ())
    (gomp_finish_task) (task);
}

#include "../../team.c"
#undef gomp_team_start
#undef gomp_team_end

void
gomp_team_start (void (*fn) (void *), void *data, unsigned nthreads,
		 unsigned flags, struct gomp_team *team,
		 struct gomp_taskgroup *taskgroup)
{
  bool pooled = false;

  if (__builtin_expect (coop_managed, 0))
    {
      /* At any level: a child that a task forked starts the runtime here, and
	 that must come before the first task is created.  */
      coop_ult_self ();
      bool outermost = gomp_thread ()->ts.level == 0;
      if (outermost)
	coop_region_begin (kmp_fork_function (fn, data));
      coop_order_begin (team, kmp_fork_function (fn, data));
      pooled = outermost && nthreads > 1;
      if (pooled && coop_launch_start (fn, data, nthreads, flags, team, taskgroup))
	return;
      if (outermost)
	coop_region_begun (nthreads);
    }
  upstream_team_start (fn, data, nthreads, flags, team, taskgroup);
  if (pooled)
    coop_launch_note (flags);
}

/* Serial code can have a team, for deferred tasks.  Upstream then frees the
   team of a region as if it were a nested one, while threads may still be
   leaving its barrier.  */
static void
end_team (void)
{
  struct gomp_team_state *outer = &gomp_thread ()->ts.team->prev_ts;
  struct gomp_team *serial = outer->level == 0 ? outer->team : NULL;

  if (__builtin_expect (serial != NULL, 0))
    outer->team = NULL;
  upstream_team_end ();
  if (__builtin_expect (serial != NULL, 0))
    gomp_thread ()->ts.team = serial;
}

void
gomp_team_end (void)
{
  end_team ();
  if (__builtin_expect (coop_managed, 0) && gomp_thread ()->ts.level == 0)
    {
      coop_region_end ();
      coop_dispatch_return_home ();
    }
}
