/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Sections: what the program does, for the report page.

   A section is a parallel region, named by the object it comes from and the
   offset of its outlined function, and so the same in all runs.  The first
   level of parallelism counts.  Progress inside it is counted without shared
   lines: each worker has counters of its own, which it credits to a section
   when the section changes, and the monitor at each tick.

   coop_report points to one address for ever.  Until there is an agent, private
   memory lies there; a report page is mapped over it, contents carried over, so
   that nobody who counts needs to know.  */

#ifndef COOP_SECTION_H
#define COOP_SECTION_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

extern struct cosched_report *coop_report; /* NULL: nothing is counted */

/* Reserves the memory behind coop_report if there may be an agent.  */
extern void coop_section_start (void);

/* Maps the report page behind FD there.  Returns 0, or -1 if it is none.  */
extern int coop_section_map (int fd);

/* Forgets the parent's page (child of a fork).  */
extern void coop_section_reset (void);

/* A team of THREADS begins to run FN, on the first level; it has ended.  */
extern void coop_section_begin (void (*fn) (void *), unsigned threads);
extern void coop_section_end (void);

/* Events inside a section.  */
extern void coop_section_count_barrier (void);
extern void coop_section_count_ult (void);
extern void coop_section_count_iterations (uint64_t count);

/* Is there a section now?  Its index, or COSCHED_SECTION_SERIAL.  */
extern bool coop_section_active (void);
extern unsigned coop_section_current (void);

/* For the monitor: GENERATION is in effect; COUNT spares were added; a tick. */
extern void coop_section_applied (uint32_t generation);
extern void coop_section_extra_workers (unsigned count);
extern void coop_section_tick (void);

#pragma GCC visibility pop

#endif /* COOP_SECTION_H */
