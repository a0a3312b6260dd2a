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

#define ITERATOR long
#define IS_ULL false
#define BOUNDS long start, long end, long incr
#define GIVEN start, end, incr
#define INIT gomp_loop_init
#define NEXT(sched) gomp_iter_##sched##_next
#define START(name) GOMP_loop_##name##_start
#define STOCK(sched) gomp_loop_##sched##_start
#define STOCK_RUNTIME upstream_loop_runtime_start
#include "loopwrap.h"

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
