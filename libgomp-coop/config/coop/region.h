/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Regions: what the program does, for the report page.

   A region is a parallel region, named by the object it comes from and the
   offset of its outlined function, and so the same in all runs.  The first
   level of parallelism counts.  Progress inside it is counted without shared
   lines: each worker has counters of its own, which it credits to a region
   when the region changes, and the monitor at each tick.

   coop_report points to one address for ever.  Until there is an agent, private
   memory lies there; a report page is mapped over it, contents carried over, so
   that nobody who counts needs to know.  */

#ifndef COOP_REGION_H
#define COOP_REGION_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

extern struct cosched_report *coop_report; /* NULL: nothing is counted */

/* Reserves the memory behind coop_report if there may be an agent.  */
extern void coop_region_start (void);

/* Maps the report page behind FD there.  Returns 0, or -1 if it is none.  */
extern int coop_region_map (int fd);

/* Forgets the parent's page (child of a fork).  */
extern void coop_region_reset (void);

/* An initial thread is about to start a team that runs FN, on the first level; lets the
   THREADS of the team go, or has just done so: until then there is no region for the agent,
   so it must not wait in between; and has ended it.  */
extern void coop_region_begin (void (*fn) (void *));
extern void coop_region_begun (unsigned threads);
extern void coop_region_end (void);

/* Events inside a region.  */
extern void coop_region_count_barrier (void);
extern void coop_region_count_ult (void);
extern void coop_region_count_iterations (uint64_t n);

/* As coop_region_count_ult, where W has counted another one for the same region.  */
static inline void
coop_region_count_next_ult (struct coop_worker *w)
{
  __atomic_store_n (&w->counted[COOP_ULTS], w->counted[COOP_ULTS] + 1, __ATOMIC_RELAXED);
}

/* W has been spinning until NOW and found nothing: of this the current region
   gets what is its own and has not been counted.  */
extern void coop_region_count_idle (const struct coop_worker *w, uint64_t now);

/* W, which has been spinning since W->idle_since_ns, has found work.  */
extern void coop_region_found (struct coop_worker *w);

/* Is there a region now?  Its index, or COSCHED_REGION_SERIAL.  */
extern bool coop_region_active (void);
extern unsigned coop_region_current (void);

/* For the monitor: GENERATION is in effect; a tick.  */
extern void coop_region_applied (uint32_t generation);
extern void coop_region_tick (void);

/* COUNT spares were added.  By one thread at a time.  */
extern void coop_region_extra_workers (unsigned count);

#pragma GCC visibility pop

#endif /* COOP_REGION_H */
