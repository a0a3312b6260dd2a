/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Barriers, regions for one thread or one at a time, cancellation.  */

#include "kmp.h"

#include "blocking.h"
#include "kmp_dispatch.h"
#include "libgomp_g.h"

/* ---- Barriers.  ---- */

void
__kmpc_barrier (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  GOMP_barrier ();
}

/* True: the region is cancelled.  A cancelled loop does not count, as the
   threads go on behind its barrier.  Libgomp relies on a thread that cancels
   not to come to a barrier any more, but clang has it come.  */
kmp_int32
__kmpc_cancel_barrier (ident_t *loc, kmp_int32 gtid)
{
  struct gomp_team *team = gomp_thread ()->ts.team;

  (void) loc, (void) gtid;
  if (team && gomp_cancel_var)
    return gomp_team_barrier_cancelled (&team->barrier)
	   || GOMP_barrier_cancel ();
  GOMP_barrier ();
  return 0;
}

/* The compiler calls end_barrier_master for the thread that is told 1.  */
kmp_int32
__kmpc_barrier_master (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  GOMP_barrier ();
  if (gomp_thread ()->ts.team_id == 0)
    return 1;
  GOMP_barrier ();
  return 0;
}

void
__kmpc_end_barrier_master (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  GOMP_barrier ();
}

kmp_int32
__kmpc_barrier_master_nowait (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  GOMP_barrier ();
  return gomp_thread ()->ts.team_id == 0;
}

void
__kmpc_flush (ident_t *loc)
{
  (void) loc;
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  coop_poll ();
}

/* ---- Regions for one thread.  ---- */

kmp_int32
__kmpc_master (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  return gomp_thread ()->ts.team_id == 0;
}

kmp_int32
__kmpc_masked (ident_t *loc, kmp_int32 gtid, kmp_int32 filter)
{
  (void) loc, (void) gtid;
  return gomp_thread ()->ts.team_id == (unsigned) filter;
}

kmp_int32
__kmpc_single (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  return GOMP_single_start ();
}

#define NOTHING(name)                                                         \
  void name (ident_t *loc, kmp_int32 gtid)                                    \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
  }

NOTHING (__kmpc_end_master)
NOTHING (__kmpc_end_masked)
NOTHING (__kmpc_end_single)
NOTHING (__kmpc_scope)
NOTHING (__kmpc_end_scope)
NOTHING (__kmpc_end_sections)

/* Hands DATA of the thread that has run the single region (DIDIT) out.  */
void
__kmpc_copyprivate (ident_t *loc, kmp_int32 gtid, size_t size, void *data,
		    void (*copy) (void *, void *), kmp_int32 didit)
{
  (void) loc, (void) gtid, (void) size;
  if (!gomp_thread ()->ts.team)
    return;
  struct kmp_team *team = kmp_team ();
  if (didit)
    team->copyprivate = data;
  GOMP_barrier ();
  if (!didit)
    copy (data, team->copyprivate);
  GOMP_barrier ();
}

/* As before, but the compiler's code copies, and has the second barrier.  */
void *
__kmpc_copyprivate_light (ident_t *loc, kmp_int32 gtid, void *data)
{
  (void) loc, (void) gtid;
  if (!gomp_thread ()->ts.team)
    return data;
  struct kmp_team *team = kmp_team ();
  if (data)
    team->copyprivate = data;
  GOMP_barrier ();
  return team->copyprivate;
}

/* ---- One at a time.  ---- */

void
__kmpc_critical (ident_t *loc, kmp_int32 gtid, kmp_critical_name *name)
{
  (void) loc, (void) gtid;
  GOMP_critical_name_start ((void **) name);
}

void
__kmpc_critical_with_hint (ident_t *loc, kmp_int32 gtid,
			   kmp_critical_name *name, kmp_uint32 hint)
{
  (void) loc, (void) gtid, (void) hint;
  GOMP_critical_name_start ((void **) name);
}

void
__kmpc_end_critical (ident_t *loc, kmp_int32 gtid, kmp_critical_name *name)
{
  (void) loc, (void) gtid;
  GOMP_critical_name_end ((void **) name);
}

void
__kmpc_ordered (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  GOMP_ordered_start ();
}

void
__kmpc_end_ordered (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  GOMP_ordered_end ();
}

/* ---- Cancellation.  ---- */

#define KIND_LOOP 2
#define KIND_SECTIONS 3

/* Cancels the innermost region of KIND (DO_IT), or asks if it is cancelled.  */
static kmp_int32
cancel (kmp_int32 kind, bool do_it)
{
  if (kind < 1 || kind > 4)
    return 0;
  int bit = 1 << (kind - 1); /* libgomp's kinds are in the same order */
  if (!(do_it ? GOMP_cancel (bit, true) : GOMP_cancellation_point (bit)))
    return 0;
  if (kind == KIND_LOOP || kind == KIND_SECTIONS)
    kmp_dispatch_leave ();
  return 1;
}

kmp_int32
__kmpc_cancel (ident_t *loc, kmp_int32 gtid, kmp_int32 kind)
{
  (void) loc, (void) gtid;
  return cancel (kind, true);
}

kmp_int32
__kmpc_cancellationpoint (ident_t *loc, kmp_int32 gtid, kmp_int32 kind)
{
  (void) loc, (void) gtid;
  return cancel (kind, false);
}
