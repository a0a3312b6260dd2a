/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Launching a region on a known team (launch.h).  */

#include "launch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "batchlist.h"
#include "birth.h"
#include "blocking.h"
#include "follow.h"
#include "hold.h"
#include "monitor.h"
#include "park.h"
#include "release.h"
#include "worker.h"

struct coop_launch
{
  /* What the noted team is good for.  */
  struct gomp_team *team; /* NULL: none noted */
  unsigned nthreads;
  unsigned bind; /* flags that say where threads are bound */
  unsigned place, partition_off, partition_len; /* of the initial thread */
  unsigned team_partition_off, team_partition_len; /* in the region */

  int leaving; /* threads let go that have not looked here for the last time */

  /* Written by the initial thread before it opens the dock, read by the others
     when they leave it.  */
  bool armed;
  struct region
  {
    void (*fn) (void *);
    void *data;
    struct gomp_team_state ts;
    struct gomp_task *parent;
    struct gomp_task_icv icv;
    struct gomp_taskgroup *taskgroup;
    struct coop_league league;
  } next __attribute__ ((aligned (COOP_LINE))); /* if armed */
};

#define BIND_FLAGS 7

static struct coop_launch **
launch_of (struct gomp_thread_pool *pool)
{
  return &coop_barrier (&pool->threads_dock.bar)->launch;
}

void
coop_launch_free (struct coop_launch *launch)
{
  free (launch);
}

void
coop_launch_note (unsigned flags)
{
  struct gomp_thread *thr = gomp_thread ();
  struct gomp_team *team = thr->ts.team;
  struct coop_launch **where = launch_of (thr->thread_pool), *l = *where;

  if (!l)
    {
      if (posix_memalign ((void **) &l, COOP_LINE, sizeof *l))
	return;
      memset (l, 0, sizeof *l);
      *where = l;
    }
  l->team = team;
  l->nthreads = team->nthreads;
  l->bind = flags & BIND_FLAGS;
  l->place = thr->place;
  l->partition_off = team->prev_ts.place_partition_off;
  l->partition_len = team->prev_ts.place_partition_len;
  l->team_partition_off = thr->ts.place_partition_off;
  l->team_partition_len = thr->ts.place_partition_len;
}

/* Would upstream give each thread what it has?  */
static bool
is_known (const struct coop_launch *l, const struct gomp_thread *thr,
	  unsigned nthreads, unsigned flags, const struct gomp_team *team)
{
  return l && l->team == team && l->nthreads == nthreads
	 && l->bind == (flags & BIND_FLAGS) && l->place == thr->place
	 && l->partition_off == thr->ts.place_partition_off
	 && l->partition_len == thr->ts.place_partition_len
	 && coop_load (&l->leaving) == 0 && !gomp_display_affinity_var;
}

/* The variables that implicit tasks of a team on level 1 have, where its
   parent has ICV.  */
static struct gomp_task_icv
team_icv (const struct gomp_task_icv *icv, unsigned flags)
{
  struct gomp_task_icv result = *icv;
  if (gomp_nthreads_var_list && gomp_nthreads_var_list_len > 1)
    result.nthreads_var = gomp_nthreads_var_list[1];
  if (icv->bind_var != omp_proc_bind_false
      && (flags & BIND_FLAGS) != omp_proc_bind_false)
    result.bind_var = (char) (flags & BIND_FLAGS);
  if (gomp_bind_var_list && gomp_bind_var_list_len > 1)
    result.bind_var = gomp_bind_var_list[1];
  return result;
}

/* Writes what differs only: most regions differ in little, and what is left
   alone stays in the caches of those that read it.  */
#define PUT(place, value)                                                     \
  do                                                                          \
    if (memcmp (&(place), &(value), sizeof (place)))                          \
      memcpy (&(place), &(value), sizeof (place));                            \
  while (0)

bool
coop_launch_start (void (*fn) (void *), void *data, unsigned nthreads,
		   unsigned flags, struct gomp_team *team,
		   struct gomp_taskgroup *taskgroup)
{
  struct gomp_thread *thr = gomp_thread ();
  struct gomp_thread_pool *pool = thr->thread_pool;

  if (!pool || pool->threads_used != nthreads)
    return false;
  struct coop_launch *l = *launch_of (pool);
  if (!is_known (l, thr, nthreads, flags, team))
    return false;

  coop_prefetch_write (&coop_barrier (&pool->threads_dock.bar)->awaited);
  team->prev_ts = thr->ts;
  thr->ts.team = team;
  thr->ts.team_id = 0;
  thr->ts.level++;
  thr->ts.active_level++;
  thr->ts.work_share = &team->work_shares[0];
  thr->ts.last_work_share = NULL;
  thr->ts.single_count = 0;
  thr->ts.static_trip = 0;
  thr->ts.place_partition_off = l->team_partition_off;
  thr->ts.place_partition_len = l->team_partition_len;

  struct region *next = &l->next;
  struct gomp_task_icv icv
      = team_icv (thr->task ? &thr->task->icv : &gomp_global_icv, flags);
  struct coop_league league = coop_league_of (thr);
  PUT (next->fn, fn);
  PUT (next->data, data);
  PUT (next->ts, thr->ts);
  PUT (next->parent, thr->task);
  PUT (next->icv, icv);
  PUT (next->taskgroup, taskgroup);
  PUT (next->league, league);
  PUT (l->armed, (bool) { true });

  thr->task = &team->implicit_task[0];
  gomp_init_task (thr->task, next->parent, &next->icv);
  thr->task->taskgroup = taskgroup;
  bool open = coop_hold_open (&pool->threads_dock.bar);
  /* Not after waiting: the others may have done much then.  */
  coop_region_begun (nthreads);
  if (!open)
    gomp_simple_barrier_wait (&pool->threads_dock);
  return true;
}

/* THR, that of U and not the initial one, has left the dock.  Its place and its part of
   the places are still those of the last region.  */
static void
take_part (struct gomp_thread *thr, struct coop_ult *u,
	   const struct coop_launch *l)
{
  const struct region *next = &l->next;
  unsigned id = thr->ts.team_id;
  unsigned partition_off = thr->ts.place_partition_off;
  unsigned partition_len = thr->ts.place_partition_len;

  thr->ts = next->ts;
  thr->ts.team_id = id;
  thr->ts.place_partition_off = partition_off;
  thr->ts.place_partition_len = partition_len;
  thr->task = u->implicit;
  gomp_init_task (thr->task, next->parent,
		  (struct gomp_task_icv *) &next->icv);
  thr->task->taskgroup = next->taskgroup;
  coop_league_join (thr, next->league);
}

void
coop_launch_ready (void)
{
  coop_monitor_await ();
  coop_worker_sit ();
  coop_birth_await ();
}

/* The initial thread of POOL has told each thread what to do, or, for those it
   does not need any longer, nothing.  */
static void
open_dock (struct gomp_thread_pool *pool, struct coop_launch *l)
{
  int leaving;

  coop_launch_ready ();
  if (l)
    {
      while ((leaving = coop_load (&l->leaving)))
	coop_block (&l->leaving, leaving);
      l->armed = false;
      l->team = NULL;
      l->leaving = (int) (pool->threads_dock.bar.total - pool->threads_used);
    }
  gomp_simple_barrier_wait (&pool->threads_dock);
}

/* The caller was told nothing, and ends.  */
static void
leave (struct coop_launch *l)
{
  if (__atomic_sub_fetch (&l->leaving, 1, __ATOMIC_ACQ_REL) == 0)
    coop_unpark (&l->leaving, INT_MAX);
}

/* THR's thread, that of U, waits in DOCK.  False: it is the initial one, which has opened
   it.  */
static inline bool
wait_in_dock (struct gomp_thread *thr, struct coop_ult *u, gomp_simple_barrier_t *dock)
{
  /* The initial thread writes in the lines of pool and dock: a task that has been
     told all before leaves them alone.  */
  if (__builtin_expect (u->docked, 1))
    {
      u->docked = false;
      u->pool = thr->thread_pool;
      return true;
    }
  /* Who came last in its first region has waited nowhere.  */
  if (u->pooled && !coop_domain_is_settled (u) && coop_tls_worker ())
    coop_batch_settle (u, coop_tls_worker ());
  if (thr->thread_pool->threads[0] == thr)
    {
      open_dock (thr->thread_pool, coop_barrier (&dock->bar)->launch);
      return false;
    }
  gomp_simple_barrier_wait (dock);
  return true;
}

/* What gomp_thread_start does for each region.  */
static inline void
run_part (struct gomp_thread *thr, struct coop_ult *u, const struct region *region)
{
  gomp_barrier_t *bar = &thr->ts.team->barrier;
  struct coop_barrier *b = coop_barrier (bar);

  region->fn (region->data);
  gomp_barrier_state_t state;
  bool follows = coop_follow_may_dock (u, thr)
		 && coop_follow (u, b, &b->awaited_final,
				 coop_load (&b->generation), true, true);
  if (!follows)
    state = coop_batch_arrive_final (bar, thr, u);
  if (__builtin_expect (u->docked, 1))
    return;
  if (follows)
    state = coop_follow_state_after (u, u->arrived);
  coop_barrier_end_final (bar, state);
  gomp_finish_task (u->implicit);
}

void
coop_launch_dock (gomp_simple_barrier_t *dock)
{
  struct gomp_thread *thr = gomp_thread ();
  struct coop_ult *u;
  struct coop_launch *l;

  if (!coop_managed)
    {
      gomp_simple_barrier_wait (dock);
      return;
    }
  u = coop_tls_ult ();
  while (wait_in_dock (thr, u, dock))
    {
      if (!(l = u->launch))
	l = u->launch = coop_load (&coop_barrier (&dock->bar)->launch);
      if (!l || !l->armed)
	{
	  if (l && !thr->fn && u->pooled)
	    leave (l);
	  u->pooled = true; /* one that begins has its function from elsewhere */
	  return;
	}
      take_part (thr, u, l);
      u->pooled = true;
      run_part (thr, u, &l->next);
    }
}
