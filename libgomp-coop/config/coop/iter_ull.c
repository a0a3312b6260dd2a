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

/* No scheduling point in those that hold the work share's lock.  */
#define WRAP(name, type, claimed, point)                                      \
  type gomp_iter_ull_##name (ULL *start, ULL *end)                            \
  {                                                                           \
    if (!__builtin_expect (coop_managed, 0))                                  \
      return upstream_iter_ull_##name (start, end);                           \
    if (point)                                                                \
      coop_dispatch_point ();                                                 \
    type result = upstream_iter_ull_##name (start, end);                      \
    if (result == (claimed))                                                  \
      count (*start, *end);                                                   \
    return result;                                                            \
  }

WRAP (static_next, int, 0, true)
WRAP (dynamic_next_locked, bool, true, false)
WRAP (guided_next_locked, bool, true, false)

/* The schedule of a prepared loop is dynamic, even if that of the program is
   guided (looprun.h).  */
#define WRAP_LOOP(name, prepared)                                             \
  bool gomp_iter_ull_##name (ULL *start, ULL *end)                            \
  {                                                                           \
    struct gomp_work_share *ws = gomp_thread ()->ts.work_share;               \
    uint64_t from, to;                                                        \
    if (!__builtin_expect (coop_managed, 0))                                  \
      return upstream_iter_ull_##name (start, end);                           \
    if (!(prepared))                                                          \
      {                                                                       \
	coop_dispatch_point ();                                               \
	if (!upstream_iter_ull_##name (start, end))                           \
	  return false;                                                       \
      }                                                                       \
    else if (!coop_loop_claim (&from, &to))                                   \
      return false;                                                           \
    else                                                                      \
      {                                                                       \
	*start = (ULL) from;                                                  \
	*end = (ULL) to;                                                      \
      }                                                                       \
    count (*start, *end);                                                     \
    return true;                                                              \
  }

WRAP_LOOP (dynamic_next, coop_loop_prepared (ws))
WRAP_LOOP (guided_next, ws->sched == GFS_DYNAMIC)
