/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's barriers, counted for the report page.  */

#include "wait.h"

#define gomp_team_barrier_wait upstream_team_barrier_wait
#define gomp_team_barrier_wait_end upstream_team_barrier_wait_end
#define gomp_team_barrier_wait_final upstream_team_barrier_wait_final
#define gomp_team_barrier_wait_cancel upstream_team_barrier_wait_cancel
#define gomp_team_barrier_wait_cancel_end upstream_team_barrier_wait_cancel_end
void upstream_team_barrier_wait_end (gomp_barrier_t *, gomp_barrier_state_t);
void upstream_team_barrier_wait_final (gomp_barrier_t *);
bool upstream_team_barrier_wait_cancel_end (gomp_barrier_t *,
					    gomp_barrier_state_t);
#include "../linux/bar.c"
#undef gomp_team_barrier_wait
#undef gomp_team_barrier_wait_end
#undef gomp_team_barrier_wait_final
#undef gomp_team_barrier_wait_cancel
#undef gomp_team_barrier_wait_cancel_end

#include "section.h"

static inline void
note_barrier (gomp_barrier_state_t state)
{
  if (__builtin_expect (coop_managed, 0) && gomp_barrier_last_thread (state))
    coop_section_count_barrier ();
}

void
gomp_team_barrier_wait_end (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  note_barrier (state);
  upstream_team_barrier_wait_end (bar, state);
}

void
gomp_team_barrier_wait (gomp_barrier_t *bar)
{
  gomp_barrier_state_t state = gomp_barrier_wait_start (bar);
  note_barrier (state);
  upstream_team_barrier_wait_end (bar, state);
}

/* The last barrier of a region counts as the end of the section does.  */
void
gomp_team_barrier_wait_final (gomp_barrier_t *bar)
{
  if (__builtin_expect (coop_managed, 0))
    coop_section_count_ult ();
  upstream_team_barrier_wait_final (bar);
}

bool
gomp_team_barrier_wait_cancel_end (gomp_barrier_t *bar,
				   gomp_barrier_state_t state)
{
  note_barrier (state);
  return upstream_team_barrier_wait_cancel_end (bar, state);
}

bool
gomp_team_barrier_wait_cancel (gomp_barrier_t *bar)
{
  gomp_barrier_state_t state = gomp_barrier_wait_cancel_start (bar);
  note_barrier (state);
  return upstream_team_barrier_wait_cancel_end (bar, state);
}
