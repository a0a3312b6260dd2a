/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops: schedules and how iterations are divided.

   Compilers hand over a loop by the values of its variable, which is of one of
   four types.  Here all calculation is in numbers of iterations: the value of
   iteration i is lower + i * step, modulo the size of the type, so that loops
   may go up to the ends of their type.  */

#ifndef KMP_LOOP_H
#define KMP_LOOP_H 1

#include "kmp.h"

#pragma GCC visibility push(hidden)

enum kmp_schedule
{
  KMP_STATIC_CHUNKED = 33,
  KMP_STATIC,
  KMP_DYNAMIC,
  KMP_GUIDED,
  KMP_RUNTIME,
  KMP_AUTO,
  KMP_TRAPEZOIDAL,
  KMP_STATIC_GREEDY,
  KMP_STATIC_BALANCED,
  KMP_GUIDED_ITERATIVE,
  KMP_GUIDED_ANALYTICAL,
  KMP_STATIC_STEAL,
  KMP_STATIC_BALANCED_CHUNKED,
  KMP_GUIDED_SIMD,
  KMP_RUNTIME_SIMD,
  /* Those from static_chunked to trapezoidal, for ordered loops; and all of
     them once more, for loops whose chunks must not be put together.  */
  KMP_ORDERED = 64 - 32,
  KMP_NOMERGE = 160 - 32,
  KMP_DISTRIBUTE_CHUNKED = 91,
  KMP_DISTRIBUTE
};

#define KMP_MONOTONIC (1u << 29)
#define KMP_NONMONOTONIC (1u << 30)

/* The iterations of one of several threads or teams.  */
struct kmp_part
{
  unsigned long long first, count; /* its first chunk */
  unsigned long long stride;	   /* from one chunk to the next */
  bool last;			   /* has the loop's last iteration */
};

/* Part ID of PARTS of a loop with TRIPS iterations; both more than 0.  */
static inline struct kmp_part
kmp_part (unsigned schedule, unsigned long long trips,
	  unsigned long long chunk, unsigned id, unsigned parts)
{
  struct kmp_part p = { 0, trips, trips, true };

  if (parts == 1)
    return p;
  if (schedule == KMP_STATIC_CHUNKED)
    {
      unsigned long long chunks = (trips - 1) / chunk + 1;
      p.first = id * chunk;
      p.count = id >= chunks		? 0
		: trips - p.first < chunk ? trips - p.first
					  : chunk;
      p.stride = parts * chunk;
      p.last = id == (chunks - 1) % parts;
    }
  else if (schedule == KMP_STATIC_BALANCED_CHUNKED)
    {
      /* Whole chunks, whose size is a power of two.  */
      unsigned long long span = (trips - 1) / parts + chunk;
      span -= span % chunk;
      p.first = id * span;
      p.count = p.first >= trips	  ? 0
		: trips - p.first < span ? trips - p.first
					 : span;
      p.last = id == (trips - 1) / span;
    }
  else
    {
      unsigned long long each = trips / parts, more = trips % parts;
      p.first = id * each + (id < more ? id : more);
      p.count = each + (id < more);
      p.last = p.first + p.count == trips && p.count;
    }
  return p;
}

/* Iterations of a loop from LOWER to UPPER by STEP, of which the type is T, or
   UT without sign.  */
#define KMP_TRIPS(T, UT, lower, upper, step)                                  \
  ((step) > 0   ? (T) (lower) > (T) (upper)                                   \
		    ? 0                                                       \
		    : (unsigned long long) ((UT) ((UT) (upper) - (UT) (lower)) \
					    / (UT) (step))                    \
			  + 1                                                 \
   : (T) (lower) < (T) (upper)                                                \
       ? 0                                                                    \
       : (unsigned long long) ((UT) ((UT) (lower) - (UT) (upper))             \
			       / ((UT) 0 - (UT) (step)))                      \
	     + 1)

#pragma GCC visibility pop

#endif /* KMP_LOOP_H */
