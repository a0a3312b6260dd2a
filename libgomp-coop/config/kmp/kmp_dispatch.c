/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops whose threads ask for chunks: those of libgomp, over the numbers of
   iterations.  Also sections.  */

#include "kmp_dispatch.h"

#include "kmp_loop.h"
#include "libgomp_g.h"

typedef unsigned long long ull;

enum state
{
  OUTSIDE,
  BEFORE, /* libgomp knows nothing of the loop yet */
  WITHIN,
  STATIC, /* libgomp never will */
  AT_END
};

/* How libgomp hands out a loop.  */
static const struct
{
  bool (*start) (bool, ull, ull, ull, ull, ull *, ull *);
  bool (*start_runtime) (bool, ull, ull, ull, ull *, ull *);
  bool (*next) (ull *, ull *);
} handings[] = {
#define ROW(name) { GOMP_loop_ull_##name##_start, NULL, GOMP_loop_ull_##name##_next }
#define ROW_RUNTIME(name) \
  { NULL, GOMP_loop_ull_##name##_start, GOMP_loop_ull_##name##_next }
#define BY_STATIC 0 /* unless it is ordered, it is divided here */
#define BY_DYNAMIC 1
  [BY_DYNAMIC] = ROW (nonmonotonic_dynamic),
#define BY_GUIDED 2
  [BY_GUIDED] = ROW (nonmonotonic_guided),
#define BY_RUNTIME 3
  [BY_RUNTIME] = ROW_RUNTIME (maybe_nonmonotonic_runtime),
#define MONOTONIC 4
  [MONOTONIC + BY_DYNAMIC] = ROW (dynamic),
  [MONOTONIC + BY_GUIDED] = ROW (guided),
  [MONOTONIC + BY_RUNTIME] = ROW_RUNTIME (runtime),
#define ORDERED 8
  [ORDERED + BY_STATIC] = ROW (ordered_static),
  [ORDERED + BY_DYNAMIC] = ROW (ordered_dynamic),
  [ORDERED + BY_GUIDED] = ROW (ordered_guided),
  [ORDERED + BY_RUNTIME] = ROW_RUNTIME (ordered_runtime),
};

/* The row for SCHEDULE.  Guided is what fits where the choice is ours.  */
static unsigned
choose_row (unsigned *schedule)
{
  bool monotonic = !(*schedule & KMP_NONMONOTONIC);
  unsigned row, ordered = 0;

  *schedule &= ~(KMP_MONOTONIC | KMP_NONMONOTONIC);
  if (*schedule > KMP_NOMERGE)
    *schedule -= KMP_NOMERGE;
  if (*schedule > KMP_ORDERED + 32)
    {
      *schedule -= KMP_ORDERED;
      ordered = ORDERED;
    }
  switch (*schedule)
    {
    case KMP_STATIC_CHUNKED:
    case KMP_STATIC:
    case KMP_STATIC_GREEDY:
    case KMP_STATIC_BALANCED:
    case KMP_STATIC_BALANCED_CHUNKED:
      return ordered + BY_STATIC;
    case KMP_RUNTIME:
      row = BY_RUNTIME;
      break;
    case KMP_STATIC_STEAL:
      return ordered + BY_DYNAMIC;
    case KMP_DYNAMIC:
      row = BY_DYNAMIC;
      break;
    default:
      row = BY_GUIDED;
    }
  return ordered ? ordered + row : monotonic ? MONOTONIC + row : row;
}

/* What the user's schedule means for a loop whose chunks are to be multiples of
   *CHUNK iterations.  */
static unsigned
simd_schedule (ull *chunk)
{
  const struct gomp_task_icv *icv = gomp_icv (false);

  switch (icv->run_sched_var & ~GFS_MONOTONIC)
    {
    case GFS_DYNAMIC:
    case GFS_GUIDED:
      *chunk *= (ull) icv->run_sched_chunk_size;
      return KMP_DYNAMIC;
    case GFS_STATIC:
      if (icv->run_sched_chunk_size > 0)
	{
	  *chunk *= (ull) icv->run_sched_chunk_size;
	  return KMP_STATIC_CHUNKED;
	}
    /* FALLTHROUGH */
    default:
      return KMP_STATIC_BALANCED_CHUNKED;
    }
}

/* SITE is the place in the program; PART_LAST tells whether the last iteration
   is the last one of a loop of which this is a part.  */
static void
init (unsigned schedule, ull trips, ull lower, ull step, ull chunk,
      const void *site, bool part_last)
{
  struct kmp_loop *l = &kmp_thread ()->region->loop;

  if (schedule == KMP_RUNTIME_SIMD)
    schedule = simd_schedule (&chunk);
  else if (schedule == KMP_GUIDED_SIMD)
    schedule = KMP_DYNAMIC;
  l->row = choose_row (&schedule);
  l->trips = trips;
  l->lower = lower;
  l->step = step;
  l->chunk = chunk;
  l->site = site;
  l->part_last = part_last;
  l->state = BEFORE;
  if (trips == 0)
    l->state = AT_END;
  else if (l->row == BY_STATIC)
    {
      struct kmp_part p
	  = kmp_part (schedule, trips, chunk, gomp_thread ()->ts.team_id,
		      kmp_team_size ());
      l->state = p.count ? STATIC : AT_END;
      l->next = p.first;
      l->chunk = p.count;
      l->stride = p.stride;
    }
  else if (l->row == ORDERED + BY_STATIC && schedule != KMP_STATIC_CHUNKED)
    l->chunk = 0; /* as few chunks as there are threads */
}

/* The next iterations from *START to before *END; false: there are none.  */
static bool
next (struct kmp_loop *l, ull *start, ull *end)
{
  switch (l->state)
    {
    case STATIC:
      *start = l->next;
      *end = l->trips - *start < l->chunk ? l->trips : *start + l->chunk;
      if (l->trips - *start <= l->stride)
	l->state = AT_END;
      else
	l->next += l->stride;
      return true;

    case BEFORE:
      /* While it is so, coop_loop_prepare asks for the site.  */
      if (handings[l->row].start
	      ? handings[l->row].start (true, 0, l->trips, 1, l->chunk, start,
					end)
	      : handings[l->row].start_runtime (true, 0, l->trips, 1, start,
						end))
	{
	  l->state = WITHIN;
	  return true;
	}
      break;

    case WITHIN:
      if (handings[l->row].next (start, end))
	return true;
      break;

    default:
      l->state = OUTSIDE;
      return false;
    }
  GOMP_loop_end_nowait ();
  l->state = OUTSIDE;
  return false;
}

void
kmp_dispatch_leave (void)
{
  struct kmp_loop *l = &kmp_thread ()->region->loop;

  if (l->state == WITHIN)
    GOMP_loop_end_nowait ();
  l->state = OUTSIDE;
}

const void *
kmp_dispatch_site (void)
{
  struct kmp_thread *t = coop_tls_kmp ();
  return t && t->region->loop.state == BEFORE ? t->region->loop.site : NULL;
}

void
__kmpc_dispatch_deinit (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
}

/* The functions for variables of type T, which is UT without sign and ST with
   one.  */
#define DISPATCH(suffix, T, UT, ST)                                           \
  void __kmpc_dispatch_init_##suffix (ident_t *loc, kmp_int32 gtid,           \
				      kmp_int32 schedule, T lower, T upper,   \
				      ST step, ST chunk)                      \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
    init ((unsigned) schedule, KMP_TRIPS (T, UT, lower, upper, step),         \
	  (ull) lower, (ull) step, chunk > 0 ? (ull) chunk : 1,               \
	  __builtin_return_address (0), true);                                \
  }                                                                           \
                                                                              \
  /* A loop over the part of this thread's team.  */                          \
  void __kmpc_dist_dispatch_init_##suffix (                                   \
      ident_t *loc, kmp_int32 gtid, kmp_int32 schedule, kmp_int32 *last,      \
      T lower, T upper, ST step, ST chunk)                                    \
  {                                                                           \
    ull trips = KMP_TRIPS (T, UT, lower, upper, step);                        \
    struct kmp_part p = { 0, 0, 0, false };                                   \
    (void) loc, (void) gtid;                                                  \
    if (trips)                                                                \
      p = kmp_part (KMP_STATIC, trips, 1, (unsigned) omp_get_team_num (),     \
		    (unsigned) omp_get_num_teams ());                         \
    if (last)                                                                 \
      *last = p.last;                                                         \
    init ((unsigned) schedule, p.count, (ull) lower + p.first * (ull) step,   \
	  (ull) step, chunk > 0 ? (ull) chunk : 1,                            \
	  __builtin_return_address (0), p.last);                              \
  }                                                                           \
                                                                              \
  int __kmpc_dispatch_next_##suffix (ident_t *loc, kmp_int32 gtid,            \
				     kmp_int32 *last, T *lower, T *upper,     \
				     ST *step)                                \
  {                                                                           \
    struct kmp_loop *l = &kmp_thread ()->region->loop;                        \
    ull start, end;                                                           \
    (void) loc, (void) gtid;                                                  \
    if (!next (l, &start, &end))                                              \
      return 0;                                                               \
    *lower = (T) (l->lower + start * l->step);                                \
    *upper = (T) (l->lower + (end - 1) * l->step);                            \
    if (step)                                                                 \
      *step = (ST) l->step;                                                   \
    if (last)                                                                 \
      *last = end == l->trips && l->part_last;                                \
    return 1;                                                                 \
  }                                                                           \
                                                                              \
  /* An iteration of an ordered loop has ended; libgomp looks at chunks.  */  \
  void __kmpc_dispatch_fini_##suffix (ident_t *loc, kmp_int32 gtid)           \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
  }

DISPATCH (4, kmp_int32, kmp_uint32, kmp_int32)
DISPATCH (4u, kmp_uint32, kmp_uint32, kmp_int32)
DISPATCH (8, kmp_int64, kmp_uint64, kmp_int64)
DISPATCH (8u, kmp_uint64, kmp_uint64, kmp_int64)

/* ---- Sections: the first one that is free, and then the next ones.  ---- */

kmp_int32
__kmpc_sections_init (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  kmp_thread ()->region->loop.state = BEFORE;
  return 0;
}

/* The number of the section to run, or COUNT.  */
kmp_int32
__kmpc_next_section (ident_t *loc, kmp_int32 gtid, kmp_int32 count)
{
  struct kmp_loop *l = &kmp_thread ()->region->loop;
  unsigned section;

  (void) loc, (void) gtid;
  if (l->state == BEFORE)
    section = GOMP_sections_start ((unsigned) count);
  else
    section = GOMP_sections_next ();
  l->state = WITHIN;
  if (section > 0)
    return (kmp_int32) section - 1;
  GOMP_sections_end_nowait ();
  l->state = OUTSIDE;
  return count;
}
