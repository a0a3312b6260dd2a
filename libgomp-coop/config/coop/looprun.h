/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops of libgomp that are handed out by dynloop.h.

   Loops with the schedules dynamic, guided and runtime are, in managed
   processes, unless they are ordered, have cross-iteration dependences, task
   reductions or conditional lastprivate, or are not in a team.  Those are
   upstream's throughout.

   The state belongs to the work share and shares its life: it is found through
   ordered_team_ids, which only ordered loops use otherwise and which libgomp
   frees with the work share.  COOP_LOOP_MODE in the work share's mode tells that
   it is there.  The schedule of such a loop is GFS_DYNAMIC, even for a guided
   one: libgomp sets mode anew for each dynamic loop only, so that a bit left
   over from the previous loop could be taken for that of a guided one.  */

#ifndef COOP_LOOPRUN_H
#define COOP_LOOPRUN_H 1

#include "libgomp.h"

#include "coop.h"
#include "dynloop.h"

#pragma GCC visibility push(hidden)

#define COOP_LOOP_MODE 4 /* libgomp uses 1 and 2 */

/* Prepares WS, initialised by libgomp and not known to other threads yet, for a
   team of Q->team, unless it cannot be.  Q needs not have its bounds.  */
extern void coop_loop_prepare (struct gomp_work_share *ws, bool ull,
			       struct dynloop_request *q);

/* Has the dynamic loop WS been prepared?  */
static inline bool
coop_loop_prepared (const struct gomp_work_share *ws)
{
  return (ws->mode & COOP_LOOP_MODE) != 0;
}

/* As gomp_iter_dynamic_next, for the work share of the current thread, which
   is prepared; also a scheduling point.  */
extern bool coop_loop_claim (uint64_t *start, uint64_t *end);

#pragma GCC visibility pop

#endif /* COOP_LOOPRUN_H */
