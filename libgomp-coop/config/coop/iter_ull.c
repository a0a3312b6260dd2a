/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's iter_ull.c, wrapped as iter.c is.  */

#include "libgomp.h"
#include "dispatch.h"
#include "looprun.h"
#include "region.h"

#define gomp_iter_ull_static_next upstream_iter_ull_static_next
#define gomp_iter_ull_dynamic_next_locked upstream_iter_ull_dynamic_next_locked
#define gomp_iter_ull_dynamic_next upstream_iter_ull_dynamic_next
#define gomp_iter_ull_guided_next_locked upstream_iter_ull_guided_next_locked
#define gomp_iter_ull_guided_next upstream_iter_ull_guided_next
#define ULL unsigned long long
static int upstream_iter_ull_static_next (ULL *, ULL *);
static bool upstream_iter_ull_dynamic_next_locked (ULL *, ULL *);
static bool upstream_iter_ull_dynamic_next (ULL *, ULL *);
static bool upstream_iter_ull_guided_next_locked (ULL *, ULL *);
static bool upstream_iter_ull_guided_next (ULL *, ULL *);
#include "../../iter_ull.c"
#undef gomp_iter_ull_static_next
#undef gomp_iter_ull_dynamic_next_locked
#undef gomp_iter_ull_dynamic_next
#undef gomp_iter_ull_guided_next_locked
#undef gomp_iter_ull_guided_next

/* The chunk from START to before END is claimed; a loop that counts down has a
   step that is negative as a signed number.  */
static void
count (ULL start, ULL end)
{
  struct gomp_work_share *ws = gomp_thread ()->ts.work_share;
  bool up = (ws->mode & 2) == 0;
  ULL n = up ? end - start : start - end;
  ULL step = up ? ws->incr_ull : -ws->incr_ull;
  coop_region_count_iterations (step > 1 ? (n + step - 1) / step : n);
}

#define ITERATOR ULL
#define ITER(name) gomp_iter_ull_##name
#define UPSTREAM(name) upstream_iter_ull_##name
#include "iterwrap.h"
