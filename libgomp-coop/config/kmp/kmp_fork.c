/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Parallel regions, leagues of teams, and who a thread is.  */

#include "kmp.h"

#include <stdarg.h>
#include <stdlib.h>

#include "libgomp_g.h"

void
kmp_fork_main (void *data)
{
  struct kmp_fork *fork = data;
  struct kmp_thread *t = kmp_thread ();
  struct kmp_region region;
  kmp_int32 gtid = t->gtid, tid = (kmp_int32) gomp_thread ()->ts.team_id;

  kmp_region_enter (t, &region);
  kmp_invoke (fork->fn, &gtid, &tid, fork->argc, fork->argv);
  t->region = region.outer;
}

/* The shared variables of a call, which are all pointers or as large.  */
static inline void
get_arguments (void **argv, int argc, va_list args)
{
  for (int i = 0; i < argc; i++)
    argv[i] = va_arg (args, void *);
}

static void
fork_region (struct kmp_fork *fork, bool parallel)
{
  struct kmp_thread *t = kmp_thread ();
  unsigned num_threads = parallel ? t->num_threads : 1;
  unsigned flags = t->proc_bind;

  t->num_threads = t->proc_bind = 0;
  GOMP_parallel (kmp_fork_main, fork, num_threads, flags);
}

void
__kmpc_fork_call (ident_t *loc, kmp_int32 argc, kmpc_micro fn, ...)
{
  void *argv[argc + 1];
  struct kmp_fork fork = { fn, argc, argv };
  va_list args;

  (void) loc;
  va_start (args, fn);
  get_arguments (argv, argc, args);
  va_end (args);
  fork_region (&fork, true);
}

/* ARGS is the only variable.  */
void
__kmpc_fork_call_if (ident_t *loc, kmp_int32 argc, kmpc_micro fn,
		     kmp_int32 parallel, void *args)
{
  struct kmp_fork fork = { fn, argc > 0, &args };

  (void) loc;
  fork_region (&fork, parallel != 0);
}

/* The compiler calls the body of the region itself.  */
void
__kmpc_serialized_parallel (ident_t *loc, kmp_int32 gtid)
{
  struct kmp_thread *t = kmp_thread ();
  struct kmp_region *r = t->spare;

  (void) loc, (void) gtid;
  t->spare = NULL;
  if (!r)
    r = gomp_malloc (sizeof *r);
  t->num_threads = t->proc_bind = 0;
  GOMP_parallel_start (NULL, NULL, 1);
  kmp_region_enter (t, r);
}

void
__kmpc_end_serialized_parallel (ident_t *loc, kmp_int32 gtid)
{
  struct kmp_thread *t = kmp_thread ();
  struct kmp_region *r = t->region;

  (void) loc, (void) gtid;
  t->region = r->outer;
  GOMP_parallel_end ();
  free (t->spare);
  t->spare = r;
}

/* ---- Leagues: as libgomp does, one team after the other.  ---- */

void
__kmpc_fork_teams (ident_t *loc, kmp_int32 argc, kmpc_micro fn, ...)
{
  void *argv[argc + 1];
  struct kmp_fork fork = { fn, argc, argv };
  struct kmp_thread *t = kmp_thread ();
  unsigned num_teams = t->num_teams, thread_limit = t->thread_limit;
  va_list args;

  (void) loc;
  va_start (args, fn);
  get_arguments (argv, argc, args);
  va_end (args);
  t->num_teams = t->thread_limit = 0;
  GOMP_teams_reg (kmp_fork_main, &fork, num_teams, thread_limit, 0);
}

void
__kmpc_push_num_teams (ident_t *loc, kmp_int32 gtid, kmp_int32 num_teams,
		       kmp_int32 num_threads)
{
  struct kmp_thread *t = kmp_thread ();

  (void) loc, (void) gtid;
  t->num_teams = num_teams > 0 ? (unsigned) num_teams : 0;
  t->thread_limit = num_threads > 0 ? (unsigned) num_threads : 0;
}

/* Any number from LOWER to UPPER teams will do.  */
void
__kmpc_push_num_teams_51 (ident_t *loc, kmp_int32 gtid, kmp_int32 lower,
			  kmp_int32 upper, kmp_int32 num_threads)
{
  __kmpc_push_num_teams (loc, gtid, upper > 0 ? upper : lower, num_threads);
}

/* ---- For the next region.  ---- */

void
__kmpc_push_num_threads (ident_t *loc, kmp_int32 gtid, kmp_int32 num_threads)
{
  (void) loc, (void) gtid;
  kmp_thread ()->num_threads = num_threads > 0 ? (unsigned) num_threads : 0;
}

/* With severity and message of the error if there cannot be as many; there can,
   but for limits, which a program knows.  */
void
__kmpc_push_num_threads_strict (ident_t *loc, kmp_int32 gtid,
				kmp_int32 num_threads, int severity,
				const char *message)
{
  (void) severity, (void) message;
  __kmpc_push_num_threads (loc, gtid, num_threads);
}

/* Numbers for this level and deeper ones.  */
void
__kmpc_push_num_threads_list (ident_t *loc, kmp_int32 gtid, kmp_uint32 length,
			      const kmp_int32 *num_threads)
{
  __kmpc_push_num_threads (loc, gtid, length ? num_threads[0] : 0);
}

void
__kmpc_push_num_threads_list_strict (ident_t *loc, kmp_int32 gtid,
				     kmp_uint32 length,
				     const kmp_int32 *num_threads,
				     int severity, const char *message)
{
  (void) severity, (void) message;
  __kmpc_push_num_threads_list (loc, gtid, length, num_threads);
}

/* For the current task.  */
void
__kmpc_set_thread_limit (ident_t *loc, kmp_int32 gtid, kmp_int32 limit)
{
  (void) loc, (void) gtid;
  if (limit > 0)
    gomp_icv (true)->thread_limit_var = (unsigned) limit;
}

void
__kmpc_pop_num_threads (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
}

void
__kmpc_push_proc_bind (ident_t *loc, kmp_int32 gtid, kmp_int32 proc_bind)
{
  (void) loc, (void) gtid;
  if (proc_bind >= 0 && proc_bind <= 4)
    kmp_thread ()->proc_bind = (unsigned) proc_bind;
}

/* ---- Who a thread is.  ---- */

kmp_int32
__kmpc_global_thread_num (ident_t *loc)
{
  (void) loc;
  return kmp_thread ()->gtid;
}

kmp_int32
__kmpc_global_num_threads (ident_t *loc)
{
  (void) loc;
  return (kmp_int32) gomp_managed_threads;
}

kmp_int32
__kmpc_bound_thread_num (ident_t *loc)
{
  (void) loc;
  return (kmp_int32) gomp_thread ()->ts.team_id;
}

kmp_int32
__kmpc_bound_num_threads (ident_t *loc)
{
  (void) loc;
  return (kmp_int32) kmp_team_size ();
}

kmp_int32
__kmpc_in_parallel (ident_t *loc)
{
  (void) loc;
  return gomp_thread ()->ts.active_level > 0;
}

kmp_int32
__kmpc_ok_to_fork (ident_t *loc)
{
  (void) loc;
  return 1;
}

void
__kmpc_begin (ident_t *loc, kmp_int32 flags)
{
  (void) loc, (void) flags;
}

void
__kmpc_end (ident_t *loc)
{
  (void) loc;
}
