/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's loop.c; in a managed process loops with the schedules dynamic,
   guided and runtime are handed out as looprun.h says.  Upstream makes no
   difference between monotonic schedules and others, here it counts.  */

#include "libgomp.h"
#include "looprun.h"

#define GOMP_loop_runtime_start upstream_loop_runtime_start
#define GOMP_loop_dynamic_start upstream_loop_dynamic_start
#define GOMP_loop_guided_start upstream_loop_guided_start
#define GOMP_loop_nonmonotonic_dynamic_start upstream_loop_n_dynamic_start
#define GOMP_loop_nonmonotonic_guided_start upstream_loop_n_guided_start
#define GOMP_loop_nonmonotonic_runtime_start upstream_loop_n_runtime_start
#define GOMP_loop_maybe_nonmonotonic_runtime_start \
  upstream_loop_m_runtime_start
#define GOMP_parallel_loop_dynamic upstream_parallel_loop_dynamic
#define GOMP_parallel_loop_guided upstream_parallel_loop_guided
#define GOMP_parallel_loop_runtime upstream_parallel_loop_runtime
#define GOMP_parallel_loop_nonmonotonic_dynamic upstream_parallel_loop_n_dynamic
#define GOMP_parallel_loop_nonmonotonic_guided upstream_parallel_loop_n_guided
#define GOMP_parallel_loop_nonmonotonic_runtime upstream_parallel_loop_n_runtime
#define GOMP_parallel_loop_maybe_nonmonotonic_runtime \
  upstream_parallel_loop_m_runtime
#include "../../loop.c"
#undef GOMP_loop_runtime_start
#undef GOMP_loop_dynamic_start
#undef GOMP_loop_guided_start
#undef GOMP_loop_nonmonotonic_dynamic_start
#undef GOMP_loop_nonmonotonic_guided_start
#undef GOMP_loop_nonmonotonic_runtime_start
#undef GOMP_loop_maybe_nonmonotonic_runtime_start
#undef GOMP_parallel_loop_dynamic
#undef GOMP_parallel_loop_guided
#undef GOMP_parallel_loop_runtime
#undef GOMP_parallel_loop_nonmonotonic_dynamic
#undef GOMP_parallel_loop_nonmonotonic_guided
#undef GOMP_parallel_loop_nonmonotonic_runtime
#undef GOMP_parallel_loop_maybe_nonmonotonic_runtime

/* The work share WS of TEAM threads, its loop initialised, is new.  */
static void
prepare (struct gomp_work_share *ws, unsigned team, long sched,
	 bool monotonic, long chunk, const void *site)
{
  struct dynloop_request q
      = { .guided = sched == GFS_GUIDED, .monotonic = monotonic,
	  .chunk = (uint64_t) chunk, .team = team, .site = site };
  if (chunk > 0)
    coop_loop_prepare (ws, false, &q);
}

static inline bool
is_ours (long sched)
{
  return coop_managed && (sched == GFS_DYNAMIC || sched == GFS_GUIDED);
}

static bool
start_loop (long sched, bool monotonic, long chunk, long start, long end,
	    long incr, long *istart, long *iend, const void *site)
{
  struct gomp_thread *thr = gomp_thread ();

  if (gomp_work_share_start (0))
    {
      gomp_loop_init (thr->ts.work_share, start, end, incr,
		      (enum gomp_schedule_type) sched, chunk);
      if (thr->ts.team)
	prepare (thr->ts.work_share, thr->ts.team->nthreads, sched, monotonic,
		 chunk, site);
      gomp_work_share_init_done ();
    }
  return sched == GFS_GUIDED ? gomp_iter_guided_next (istart, iend)
			     : gomp_iter_dynamic_next (istart, iend);
}

/* NAME is the entry point, SCHED the schedule.  */
#define LOOP_START(name, sched, monotonic)                                    \
  bool GOMP_loop_##name##_start (long start, long end, long incr, long chunk, \
				 long *istart, long *iend)                    \
  {                                                                           \
    if (!__builtin_expect (coop_managed, 0))                                  \
      return gomp_loop_##sched##_start (start, end, incr, chunk, istart,      \
					iend);                                \
    return start_loop (SCHED_##sched, monotonic, chunk, start, end, incr,     \
		       istart, iend, __builtin_return_address (0));           \
  }
#define SCHED_dynamic GFS_DYNAMIC
#define SCHED_guided GFS_GUIDED

LOOP_START (dynamic, dynamic, true)
LOOP_START (guided, guided, true)
LOOP_START (nonmonotonic_dynamic, dynamic, false)
LOOP_START (nonmonotonic_guided, guided, false)

/* The schedule of OMP_SCHEDULE or omp_set_schedule may be monotonic, too.  */
#define LOOP_RUNTIME_START(name, always)                                      \
  bool GOMP_loop_##name##_start (long start, long end, long incr,             \
				 long *istart, long *iend)                    \
  {                                                                           \
    struct gomp_task_icv *icv = gomp_icv (false);                             \
    long sched = icv->run_sched_var & ~GFS_MONOTONIC;                         \
    bool monotonic = always || (icv->run_sched_var & GFS_MONOTONIC);          \
    if (!is_ours (sched))                                                     \
      return upstream_loop_runtime_start (start, end, incr, istart, iend);    \
    return start_loop (sched, monotonic, icv->run_sched_chunk_size, start,    \
		       end, incr, istart, iend, __builtin_return_address (0)); \
  }

LOOP_RUNTIME_START (runtime, true)
LOOP_RUNTIME_START (nonmonotonic_runtime, false)
LOOP_RUNTIME_START (maybe_nonmonotonic_runtime, false)

static void
parallel_loop (void (*fn) (void *), void *data, unsigned threads, long start,
	       long end, long incr, long sched, bool monotonic, long chunk,
	       unsigned flags)
{
  if (is_ours (sched))
    {
      threads = gomp_resolve_num_threads (threads, 0);
      struct gomp_team *team = gomp_new_team (threads);
      gomp_loop_init (&team->work_shares[0], start, end, incr,
		      (enum gomp_schedule_type) sched, chunk);
      prepare (&team->work_shares[0], threads, sched, monotonic, chunk,
	       (void *) fn);
      gomp_team_start (fn, data, threads, flags, team, NULL);
    }
  else
    gomp_parallel_loop_start (fn, data, threads, start, end, incr,
			      (enum gomp_schedule_type) sched, chunk, flags);
  fn (data);
  GOMP_parallel_end ();
}

#define PARALLEL_LOOP(name, sched, monotonic)                                 \
  void GOMP_parallel_loop_##name (void (*fn) (void *), void *data,            \
				  unsigned threads, long start, long end,     \
				  long incr, long chunk, unsigned flags)      \
  {                                                                           \
    parallel_loop (fn, data, threads, start, end, incr, sched, monotonic,     \
		   chunk, flags);                                             \
  }

PARALLEL_LOOP (dynamic, GFS_DYNAMIC, true)
PARALLEL_LOOP (guided, GFS_GUIDED, true)
PARALLEL_LOOP (nonmonotonic_dynamic, GFS_DYNAMIC, false)
PARALLEL_LOOP (nonmonotonic_guided, GFS_GUIDED, false)

#define PARALLEL_LOOP_RUNTIME(name, always)                                   \
  void GOMP_parallel_loop_##name (void (*fn) (void *), void *data,            \
				  unsigned threads, long start, long end,     \
				  long incr, unsigned flags)                  \
  {                                                                           \
    struct gomp_task_icv *icv = gomp_icv (false);                             \
    parallel_loop (fn, data, threads, start, end, incr,                       \
		   icv->run_sched_var & ~GFS_MONOTONIC,                       \
		   always || (icv->run_sched_var & GFS_MONOTONIC),            \
		   icv->run_sched_chunk_size, flags);                         \
  }

PARALLEL_LOOP_RUNTIME (runtime, true)
PARALLEL_LOOP_RUNTIME (nonmonotonic_runtime, false)
PARALLEL_LOOP_RUNTIME (maybe_nonmonotonic_runtime, false)
