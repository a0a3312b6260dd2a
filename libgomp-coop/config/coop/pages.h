/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Moves pages of the process between NUMA nodes.

   Pages that a memory policy interleaves are meant to be on all of its nodes, and no page on a
   certain one.  So a part of those on one node can move to another, whatever they are for.  A few
   threads go through the process's writable anonymous memory, a block of 2 MiB at a time, ask the
   kernel where its pages are and have those moved that are too many on their node (move_pages(2)).
   A block that is all on one node, as a huge page is, moves as a whole or not at all; what a block
   cannot have right the following ones make up for.  Mappings with another policy are left alone,
   as are pages that the kernel cannot move.

   The program does not see that: an access to a page that is on its way waits for microseconds.  */

#ifndef COOP_PAGES_H
#define COOP_PAGES_H 1

#include <stdbool.h>
#include <stdint.h>

#include "protocol/layout.h"

#pragma GCC visibility push(hidden)

#define COOP_PAGES_NODES 64  /* of a policy, at most */
#define COOP_PAGES_BLOCK 512 /* pages of 4 KiB in a huge one */
#define COOP_NODE_WORDS (COSCHED_MAX_CPUS / (8 * sizeof (unsigned long)))

/* The nodes of a policy, in the order of their numbers.  */
struct coop_nodes
{
  unsigned count;
  uint16_t number[COOP_PAGES_NODES];
  unsigned long mask[COOP_NODE_WORDS]; /* the same, as the kernel has it */
};

#define COOP_PAGE_ELSEWHERE (-1) /* not there, or on a node that is not the policy's */

/* Of COUNT pages, page i is on the node with index AT[i], or COOP_PAGE_ELSEWHERE.  NODES nodes
   should have the parts PART of them.  NEED has by how many pages each node has less than that so
   far.  Says into TO[i] where page i should move to, COOP_PAGE_ELSEWHERE: it stays, and brings NEED
   up to date.  */
extern void coop_pages_plan (const double *part, double *need, unsigned nodes, const int *at,
			     unsigned count, int *to);

/* Has THREADS threads bring the pages that the policy of NODES interleaves to where the parts
   PART[nodes->count] are on each; NODES must stay.  False if that was refused, or goes on
   already.  */
extern bool coop_pages_move (const struct coop_nodes *nodes, const double *part, unsigned threads);

/* Are they at it?  Acquires what they did.  */
extern bool coop_pages_moving (void);

/* They are to end soon.  */
extern void coop_pages_stop (void);

/* The part of the memory that they went through, once they have ended.  */
extern double coop_pages_done (void);

/* The threads are not there (child of a fork).  */
extern void coop_pages_reset (void);

#pragma GCC visibility pop

#endif /* COOP_PAGES_H */
