/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops with static schedules: each thread calculates its part.  */

#include "kmp_loop.h"

#define NOTHING(name)                                                         \
  void name (ident_t *loc, kmp_int32 gtid)                                    \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
  }

NOTHING (__kmpc_for_static_fini)
NOTHING (__kmpc_dist_for_static_fini)

/* Who shares the loop.  */
static inline void
get_sharers (unsigned *schedule, unsigned *id, unsigned *parts)
{
  *schedule &= ~(KMP_MONOTONIC | KMP_NONMONOTONIC);
  if (*schedule == KMP_DISTRIBUTE_CHUNKED || *schedule == KMP_DISTRIBUTE)
    {
      *schedule += KMP_STATIC_CHUNKED - KMP_DISTRIBUTE_CHUNKED;
      *id = (unsigned) omp_get_team_num ();
      *parts = (unsigned) omp_get_num_teams ();
    }
  else
    {
      if (*schedule > KMP_NOMERGE)
	*schedule -= KMP_NOMERGE;
      *id = gomp_thread ()->ts.team_id;
      *parts = kmp_team_size ();
    }
}

/* Sets *LOWER and *UPPER to no iteration of a loop by STEP, in any type.  */
#define SET_NONE(lower, upper, step) \
  (*(lower) = (step) > 0, *(upper) = (step) <= 0)

/* The functions for variables of type T, which is UT without sign and ST with
   one.  A part's lower and upper bound replace those of the loop.  */
#define STATIC_LOOPS(suffix, T, UT, ST)                                       \
  static bool set_part_##suffix (const struct kmp_part *p, T *lower,          \
				    T *upper, ST step)                        \
  {                                                                           \
    if (p->count == 0)                                                        \
      {                                                                       \
	SET_NONE (lower, upper, step);                                        \
	return false;                                                         \
      }                                                                       \
    *lower = (T) ((UT) *lower + (UT) p->first * (UT) step);                   \
    *upper = (T) ((UT) *lower + (UT) (p->count - 1) * (UT) step);             \
    return p->last;                                                           \
  }                                                                           \
                                                                              \
  void __kmpc_for_static_init_##suffix (                                      \
      ident_t *loc, kmp_int32 gtid, kmp_int32 sched, kmp_int32 *last,         \
      T *lower, T *upper, ST *stride, ST step, ST chunk)                      \
  {                                                                           \
    unsigned long long trips = KMP_TRIPS (T, UT, *lower, *upper, step);       \
    unsigned schedule = (unsigned) sched, id, parts;                          \
    struct kmp_part p;                                                        \
                                                                              \
    (void) loc, (void) gtid;                                                  \
    if (trips == 0)                                                           \
      {                                                                       \
	if (last)                                                             \
	  *last = 0;                                                          \
	*stride = step;                                                       \
	return;                                                               \
      }                                                                       \
    get_sharers (&schedule, &id, &parts);                                     \
    if (parts == 1)                                                           \
      {                                                                       \
	if (last)                                                             \
	  *last = 1;                                                          \
	*stride = (ST) ((UT) *upper - (UT) *lower + (step > 0 ? 1 : (UT) -1)); \
	return;                                                               \
      }                                                                       \
    p = kmp_part (schedule, trips, chunk > 0 ? (UT) chunk : 1, id, parts);    \
    *stride = (ST) (schedule == KMP_STATIC_CHUNKED                            \
			? (UT) p.stride * (UT) step                           \
			: (UT) p.stride);                                     \
    bool mine = set_part_##suffix (&p, lower, upper, step);                   \
    if (last)                                                                 \
      *last = mine;                                                           \
  }                                                                           \
                                                                              \
  /* Distribute, and a loop over each team's part, whose end is TEAM_UPPER.  */ \
  void __kmpc_dist_for_static_init_##suffix (                                 \
      ident_t *loc, kmp_int32 gtid, kmp_int32 sched, kmp_int32 *last,         \
      T *lower, T *upper, T *team_upper, ST *stride, ST step, ST chunk)       \
  {                                                                           \
    kmp_int32 team_last, mine;                                                \
    __kmpc_for_static_init_##suffix (loc, gtid, KMP_DISTRIBUTE, &team_last,   \
				     lower, upper, stride, step, 1);          \
    *team_upper = *upper;                                                     \
    __kmpc_for_static_init_##suffix (loc, gtid, sched, &mine, lower, upper,   \
				     stride, step, chunk);                    \
    if (last)                                                                 \
      *last = team_last && mine;                                              \
  }                                                                           \
                                                                              \
  /* Distribute by chunks: the first one of this team.  */                    \
  void __kmpc_team_static_init_##suffix (ident_t *loc, kmp_int32 gtid,        \
					 kmp_int32 *last, T *lower, T *upper, \
					 ST *stride, ST step, ST chunk)       \
  {                                                                           \
    __kmpc_for_static_init_##suffix (loc, gtid, KMP_DISTRIBUTE_CHUNKED, last, \
				     lower, upper, stride, step, chunk);      \
  }

STATIC_LOOPS (4, kmp_int32, kmp_uint32, kmp_int32)
STATIC_LOOPS (4u, kmp_uint32, kmp_uint32, kmp_int32)
STATIC_LOOPS (8, kmp_int64, kmp_uint64, kmp_int64)
STATIC_LOOPS (8u, kmp_uint64, kmp_uint64, kmp_int64)
