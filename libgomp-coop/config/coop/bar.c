/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's barriers over batches of tasks (batch.h), and counted for the
   report page.  */

#include "wait.h"
#include "batch.h"
#include "hold.h"
#include "order.h"
#include "region.h"
#include "stray.h"

#define gomp_barrier_wait_end upstream_barrier_wait_end
#define gomp_barrier_wait upstream_barrier_wait
#define gomp_barrier_wait_last upstream_barrier_wait_last
#define gomp_team_barrier_wait upstream_team_barrier_wait
#define gomp_team_barrier_wait_end upstream_team_barrier_wait_end
#define gomp_team_barrier_wait_final upstream_team_barrier_wait_final
#define gomp_team_barrier_wait_cancel upstream_team_barrier_wait_cancel
#define gomp_team_barrier_wait_cancel_end upstream_team_barrier_wait_cancel_end
void upstream_barrier_wait_end (gomp_barrier_t *, gomp_barrier_state_t);
void upstream_team_barrier_wait_end (gomp_barrier_t *, gomp_barrier_state_t);
bool upstream_team_barrier_wait_cancel_end (gomp_barrier_t *,
					    gomp_barrier_state_t);

/* In upstream's text below, all wake-ups are for a barrier's generation.  */
static inline void
wake_generation (int *addr, int count)
{
  if (__builtin_expect (coop_managed, 0))
    coop_batch_wake ((gomp_barrier_t *) ((char *) addr
					 - offsetof (gomp_barrier_t,
						     generation)),
		     count);
  else
    stock_futex_wake (addr, count);
}
#define futex_wake(addr, count) wake_generation (addr, count)
#include "../linux/bar.c"
#undef gomp_barrier_wait_end
#undef gomp_barrier_wait
#undef gomp_barrier_wait_last
#undef gomp_team_barrier_wait
#undef gomp_team_barrier_wait_end
#undef gomp_team_barrier_wait_final
#undef gomp_team_barrier_wait_cancel
#undef gomp_team_barrier_wait_cancel_end

/* ---- Barriers that are no team's: docks, and begin and end of nested
   teams.  ---- */

void
gomp_barrier_wait_end (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  if (__builtin_expect (coop_managed, 0))
    {
      if (gomp_barrier_last_thread (state))
	{
	  coop_batch_undock (bar, NULL);
	  return;
	}
      if (__builtin_expect (coop_stray_should_sleep (), 0))
	coop_block ((int *) &bar->generation, state);
      else if (coop_stray_are_expected ())
	coop_hold_alone (bar, state);
    }
  upstream_barrier_wait_end (bar, state);
}

void
gomp_barrier_wait (gomp_barrier_t *bar)
{
  if (!__builtin_expect (coop_managed, 0) || !coop_hold_open (bar))
    gomp_barrier_wait_end (bar, upstream_barrier_wait_start (bar));
}

void
gomp_barrier_wait_last (gomp_barrier_t *bar)
{
  gomp_barrier_state_t state = upstream_barrier_wait_start (bar);
  if (!gomp_barrier_last_thread (state))
    return;
  if (!__builtin_expect (coop_managed, 0))
    {
      upstream_barrier_wait_end (bar, state);
      return;
    }
  /* Nobody is in a batch here, and who waits may destroy the barrier at once.  */
  bar->awaited = bar->total;
  coop_store (&bar->generation, bar->generation + BAR_INCR);
  coop_unpark ((int *) &bar->generation, INT_MAX);
}

/* ---- Barriers of teams.  Gomp_team_barrier_wait is in batch.c.  ---- */

/* Once the others have been let go.  */
static inline void
note_barrier (gomp_barrier_state_t state)
{
  if (__builtin_expect (coop_managed, 0) && gomp_barrier_last_thread (state))
    coop_region_count_barrier ();
}

/* Without tasks the last one leaves the team's lines alone, which are with other CPUs.  */
static inline void
team_barrier_wait_end (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  if (!__builtin_expect (coop_managed, 0) || !gomp_barrier_last_thread (state)
      || !coop_batch_complete (bar))
    upstream_team_barrier_wait_end (bar, state);
}

void
gomp_team_barrier_wait_end (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  /* A task that has waited in a batch finds the barrier completed.  */
  if (gomp_barrier_last_thread (state)
      || coop_load (&bar->generation) != (state & -BAR_INCR) + BAR_INCR)
    {
      if (!gomp_barrier_last_thread (state)
	  && coop_stray_are_overdue ())
	coop_hold_alone (bar, state);
      team_barrier_wait_end (bar, state);
      note_barrier (state);
    }
  if (__builtin_expect (coop_peek (&coop_order_known), 0))
    coop_order_follow ();
}

void
coop_barrier_end_final (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  if (gomp_barrier_last_thread (state))
    bar->awaited_final = bar->total;
  team_barrier_wait_end (bar, state);
}

/* The last barrier of a region counts as the end of the region does.  */
void
gomp_team_barrier_wait_final (gomp_barrier_t *bar)
{
  if (!__builtin_expect (coop_managed, 0))
    {
      upstream_team_barrier_wait_final (bar);
      return;
    }
  gomp_barrier_state_t state
      = coop_batch_arrive_final (bar, gomp_thread (), coop_tls_ult ());
  if (!coop_batch_was_docked ())
    coop_barrier_end_final (bar, state);
}

bool
gomp_team_barrier_wait_cancel_end (gomp_barrier_t *bar,
				   gomp_barrier_state_t state)
{
  bool cancelled = upstream_team_barrier_wait_cancel_end (bar, state);
  note_barrier (state);
  return cancelled;
}

bool
gomp_team_barrier_wait_cancel (gomp_barrier_t *bar)
{
  return gomp_team_barrier_wait_cancel_end (
      bar, gomp_barrier_wait_cancel_start (bar));
}
