/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The entry points of loop.c and loop_ull.c that start a loop.  Those define the
   type of an ITERATOR, parameters that tell the iterations (BOUNDS, their names
   GIVEN), and how the functions are called that differ by the type.  */

/* The work share WS of TEAM threads, its loop initialised, is new.  */
static void
prepare (struct gomp_work_share *ws, unsigned team, long sched,
	 bool monotonic, ITERATOR chunk, const void *site)
{
  struct dynloop_request q
      = { .guided = sched == GFS_GUIDED, .monotonic = monotonic,
	  .chunk = (uint64_t) chunk, .team = team, .site = site };
  if (IS_ULL || chunk > 0)
    coop_loop_prepare (ws, IS_ULL, &q);
}

static inline bool
is_ours (long sched)
{
  return coop_managed && (sched == GFS_DYNAMIC || sched == GFS_GUIDED);
}

static bool
start_loop (long sched, bool monotonic, ITERATOR chunk, BOUNDS,
	    ITERATOR *istart, ITERATOR *iend, const void *site)
{
  struct gomp_thread *thr = gomp_thread ();

  if (gomp_work_share_start (0))
    {
      INIT (thr->ts.work_share, GIVEN, (enum gomp_schedule_type) sched, chunk);
      if (thr->ts.team)
	prepare (thr->ts.work_share, thr->ts.team->nthreads, sched, monotonic,
		 chunk, site);
      gomp_work_share_init_done ();
    }
  return sched == GFS_GUIDED ? NEXT (guided) (istart, iend)
			     : NEXT (dynamic) (istart, iend);
}

/* NAME is the entry point, SCHED the schedule.  */
#define LOOP_START(name, sched, monotonic)                                    \
  bool START (name) (BOUNDS, ITERATOR chunk, ITERATOR *istart, ITERATOR *iend) \
  {                                                                           \
    if (!__builtin_expect (coop_managed, 0))                                  \
      return STOCK (sched) (GIVEN, chunk, istart, iend);                      \
    return start_loop (SCHED_##sched, monotonic, chunk, GIVEN, istart, iend,  \
		       __builtin_return_address (0));                         \
  }
#define SCHED_dynamic GFS_DYNAMIC
#define SCHED_guided GFS_GUIDED

LOOP_START (dynamic, dynamic, true)
LOOP_START (guided, guided, true)
LOOP_START (nonmonotonic_dynamic, dynamic, false)
LOOP_START (nonmonotonic_guided, guided, false)

/* The schedule of OMP_SCHEDULE or omp_set_schedule may be monotonic, too.  */
#define LOOP_RUNTIME_START(name, always)                                      \
  bool START (name) (BOUNDS, ITERATOR *istart, ITERATOR *iend)                \
  {                                                                           \
    struct gomp_task_icv *icv = gomp_icv (false);                             \
    long sched = icv->run_sched_var & ~GFS_MONOTONIC;                         \
    bool monotonic = always || (icv->run_sched_var & GFS_MONOTONIC);          \
    if (!is_ours (sched))                                                     \
      return STOCK_RUNTIME (GIVEN, istart, iend);                             \
    return start_loop (sched, monotonic,                                      \
		       (ITERATOR) icv->run_sched_chunk_size, GIVEN, istart,   \
		       iend, __builtin_return_address (0));                   \
  }

LOOP_RUNTIME_START (runtime, true)
LOOP_RUNTIME_START (nonmonotonic_runtime, false)
LOOP_RUNTIME_START (maybe_nonmonotonic_runtime, false)
