/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The allotment page: what the agent lets this process use.

   The page is written by another process and not believed further than
   needed: its size and seal are checked before it is mapped, its header before
   it is used, its content in a private copy.  */

#ifndef COOP_ALLOT_H
#define COOP_ALLOT_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

enum coop_allot_state
{
  COOP_ALLOT_OK,
  COOP_ALLOT_BUSY,   /* being written; look again soon */
  COOP_ALLOT_EXPIRED, /* the agent has not renewed its lease */
  COOP_ALLOT_INVALID
};

/* Is FD a page of SIZE bytes or more that can be trusted not to vanish?  */
extern bool coop_allot_is_safe (int fd, size_t size);

/* Maps the page behind FD, which stays the caller's.  Returns NULL if it is no
   allotment page that can be trusted not to vanish.  */
extern const struct cosched_allotment *coop_allot_map (int fd);
/* The homes behind PAGE, or NULL.  */
extern const struct cosched_homes *
coop_allot_homes (const struct cosched_allotment *page);
extern void coop_allot_unmap (const struct cosched_allotment *page);

/* Copies PAGE to *COPY at the time NOW_NS (CLOCK_MONOTONIC).  */
extern enum coop_allot_state
coop_allot_read (const struct cosched_allotment *page,
		 struct cosched_allotment *copy, uint64_t now_ns);

/* Sleeps until PAGE's generation is not GENERATION, or for NS nanoseconds.  */
extern void coop_allot_wait (const struct cosched_allotment *page,
			     uint32_t generation, uint64_t ns);

#pragma GCC visibility pop

#endif /* COOP_ALLOT_H */
