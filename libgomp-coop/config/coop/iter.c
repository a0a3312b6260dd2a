/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's iter.c; claiming a chunk is where a task leaves a worker that has
   lost its CPU, and where iterations are counted.  */

#include "libgomp.h"
#include "dispatch.h"
#include "looprun.h"
#include "region.h"

#define gomp_iter_static_next upstream_iter_static_next
#define gomp_iter_dynamic_next_locked upstream_iter_dynamic_next_locked
#define gomp_iter_dynamic_next upstream_iter_dynamic_next
#define gomp_iter_guided_next_locked upstream_iter_guided_next_locked
#define gomp_iter_guided_next upstream_iter_guided_next
static int upstream_iter_static_next (long *, long *);
static bool upstream_iter_dynamic_next_locked (long *, long *);
static bool upstream_iter_dynamic_next (long *, long *);
static bool upstream_iter_guided_next_locked (long *, long *);
static bool upstream_iter_guided_next (long *, long *);
#include "../../iter.c"
#undef gomp_iter_static_next
#undef gomp_iter_dynamic_next_locked
#undef gomp_iter_dynamic_next
#undef gomp_iter_guided_next_locked
#undef gomp_iter_guided_next

/* The chunk from START to before END is claimed.  */
static void
count (long start, long end)
{
  long incr = gomp_thread ()->ts.work_share->incr;
  unsigned long n = incr > 0 ? (unsigned long) end - (unsigned long) start
			     : (unsigned long) start - (unsigned long) end;
  unsigned long step = incr > 0 ? (unsigned long) incr : -(unsigned long) incr;
  coop_region_count_iterations (step > 1 ? (n + step - 1) / step : n);
}

#define ITERATOR long
#define ITER(name) gomp_iter_##name
#define UPSTREAM(name) upstream_iter_##name
#include "iterwrap.h"
