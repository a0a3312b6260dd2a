/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's loop_ull.c, wrapped as loop.c is.  */

#include "libgomp.h"
#include "looprun.h"

#define GOMP_loop_ull_runtime_start upstream_loop_ull_runtime_start
#define GOMP_loop_ull_dynamic_start upstream_loop_ull_dynamic_start
#define GOMP_loop_ull_guided_start upstream_loop_ull_guided_start
#define GOMP_loop_ull_nonmonotonic_dynamic_start \
  upstream_loop_ull_n_dynamic_start
#define GOMP_loop_ull_nonmonotonic_guided_start upstream_loop_ull_n_guided_start
#define GOMP_loop_ull_nonmonotonic_runtime_start \
  upstream_loop_ull_n_runtime_start
#define GOMP_loop_ull_maybe_nonmonotonic_runtime_start \
  upstream_loop_ull_m_runtime_start
#include "../../loop_ull.c"
#undef GOMP_loop_ull_runtime_start
#undef GOMP_loop_ull_dynamic_start
#undef GOMP_loop_ull_guided_start
#undef GOMP_loop_ull_nonmonotonic_dynamic_start
#undef GOMP_loop_ull_nonmonotonic_guided_start
#undef GOMP_loop_ull_nonmonotonic_runtime_start
#undef GOMP_loop_ull_maybe_nonmonotonic_runtime_start

static bool
start_loop (long sched, bool monotonic, gomp_ull chunk, bool up,
	    gomp_ull start, gomp_ull end, gomp_ull incr, gomp_ull *istart,
	    gomp_ull *iend, const void *site)
{
  struct gomp_thread *thr = gomp_thread ();

  if (gomp_work_share_start (0))
    {
      struct gomp_work_share *ws = thr->ts.work_share;
      struct dynloop_request q
	  = { .guided = sched == GFS_GUIDED, .monotonic = monotonic,
	      .chunk = chunk, .site = site };
      gomp_loop_ull_init (ws, up, start, end, incr,
			  (enum gomp_schedule_type) sched, chunk);
      if (thr->ts.team)
	{
	  q.team = thr->ts.team->nthreads;
	  coop_loop_prepare (ws, true, &q);
	}
      gomp_work_share_init_done ();
    }
  return sched == GFS_GUIDED ? gomp_iter_ull_guided_next (istart, iend)
			     : gomp_iter_ull_dynamic_next (istart, iend);
}

/* NAME is the entry point, SCHED the schedule.  */
#define LOOP_START(name, sched, monotonic)                                    \
  bool GOMP_loop_ull_##name##_start (bool up, gomp_ull start, gomp_ull end,   \
				     gomp_ull incr, gomp_ull chunk,           \
				     gomp_ull *istart, gomp_ull *iend)        \
  {                                                                           \
    if (!__builtin_expect (coop_managed, 0))                                  \
      return gomp_loop_ull_##sched##_start (up, start, end, incr, chunk,      \
					    istart, iend);                    \
    return start_loop (SCHED_##sched, monotonic, chunk, up, start, end, incr, \
		       istart, iend, __builtin_return_address (0));           \
  }
#define SCHED_dynamic GFS_DYNAMIC
#define SCHED_guided GFS_GUIDED

LOOP_START (dynamic, dynamic, true)
LOOP_START (guided, guided, true)
LOOP_START (nonmonotonic_dynamic, dynamic, false)
LOOP_START (nonmonotonic_guided, guided, false)

#define LOOP_RUNTIME_START(name, always)                                      \
  bool GOMP_loop_ull_##name##_start (bool up, gomp_ull start, gomp_ull end,   \
				     gomp_ull incr, gomp_ull *istart,         \
				     gomp_ull *iend)                          \
  {                                                                           \
    struct gomp_task_icv *icv = gomp_icv (false);                             \
    long sched = icv->run_sched_var & ~GFS_MONOTONIC;                         \
    bool monotonic = always || (icv->run_sched_var & GFS_MONOTONIC);          \
    if (!coop_managed || (sched != GFS_DYNAMIC && sched != GFS_GUIDED))       \
      return upstream_loop_ull_runtime_start (up, start, end, incr, istart,   \
					      iend);                          \
    return start_loop (sched, monotonic,                                      \
		       (gomp_ull) icv->run_sched_chunk_size, up, start, end,  \
		       incr, istart, iend, __builtin_return_address (0));     \
  }

LOOP_RUNTIME_START (runtime, true)
LOOP_RUNTIME_START (nonmonotonic_runtime, false)
LOOP_RUNTIME_START (maybe_nonmonotonic_runtime, false)
