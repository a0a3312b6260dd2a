/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The claims of a chunk in iter.c and iter_ull.c, which define the type of an
   ITERATOR, the name ITER (NAME) of a claim, that UPSTREAM (NAME) of
   upstream's, and count ().  */

/* No scheduling point in those that hold the work share's lock.  */
#define WRAP(name, type, claimed, point)                                      \
  type ITER (name) (ITERATOR *start, ITERATOR *end)                           \
  {                                                                           \
    if (!__builtin_expect (coop_managed, 0))                                  \
      return UPSTREAM (name) (start, end);                                    \
    if (point)                                                                \
      coop_dispatch_point ();                                                 \
    type result = UPSTREAM (name) (start, end);                               \
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
  bool ITER (name) (ITERATOR *start, ITERATOR *end)                           \
  {                                                                           \
    struct gomp_work_share *ws = gomp_thread ()->ts.work_share;               \
    uint64_t from, to;                                                        \
    if (!__builtin_expect (coop_managed, 0))                                  \
      return UPSTREAM (name) (start, end);                                    \
    if (!(prepared))                                                          \
      {                                                                       \
	coop_dispatch_point ();                                               \
	if (!UPSTREAM (name) (start, end))                                    \
	  return false;                                                       \
      }                                                                       \
    else if (!coop_loop_claim (&from, &to))                                   \
      return false;                                                           \
    else                                                                      \
      {                                                                       \
	*start = (ITERATOR) from;                                             \
	*end = (ITERATOR) to;                                                 \
      }                                                                       \
    count (*start, *end);                                                     \
    return true;                                                              \
  }

WRAP_LOOP (dynamic_next, coop_loop_prepared (ws))
WRAP_LOOP (guided_next, ws->sched == GFS_DYNAMIC)
