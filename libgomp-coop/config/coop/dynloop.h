/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Dynamic loops: iterations handed out by ranges, in chunks that grow.

   The iterations of a loop are cut into units, the chunks of the program's
   schedule clause (for guided ones, single iterations), and the units into
   ranges, one for each LLC domain in proportion to the workers there.  A claim
   takes the next units of the range of its worker's node, or of the fullest
   other range when that one is empty.  Each range has a cache line of its
   own; a claim touches no other line that is written.

   A claim takes several units at once, which the program cannot tell from as
   many claims in a row.  How many is found by measuring: when a worker claims
   again for the same task, and has run nothing else meanwhile, the time since
   is that of its last chunk.  Chunks are doubled while they are shorter than
   DYNLOOP_EPOCH_NS and halved when longer, but never more than what remains in
   the range, divided by twice its workers.  The epoch is as short as a claim's
   cost permits: longer chunks gain nothing, but delay a task that has to leave
   its CPU.  The size at the end of a loop is remembered, and a fourth of it is
   where the next loop of the same place in the program begins.

   Guided loops take what remains divided by twice the threads, as long as a
   chunk is shorter than DYNLOOP_GUIDED_NS.

   With one range, a task gets its iterations in ascending order: that is what
   monotonic schedules need.  With several, the last unit of the loop belongs to
   none and is handed out when they are empty: GCC's code for lastprivate takes
   the last chunk of each thread for the one that may be the last of the loop.
   No part of this file knows libgomp.  */

#ifndef COOP_DYNLOOP_H
#define COOP_DYNLOOP_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define DYNLOOP_LINE 64
#define DYNLOOP_RANGES 64 /* at most; LLC domains beyond share them */
#define DYNLOOP_EPOCH_NS 50000u
#define DYNLOOP_GUIDED_NS 2000000u
#define DYNLOOP_UNITS_MAX (UINT64_MAX / 4)

/* Which LLC domains have workers.  */
struct dynloop_nodes
{
  unsigned ranges;			 /* 1.. */
  unsigned total;			 /* workers, at least 1 */
  unsigned workers[DYNLOOP_RANGES];	 /* by range, none is 0 */
  uint8_t range_of[DYNLOOP_RANGES];	 /* by LLC domain modulo this */
};

/* What the program asks for.  All numbers wrap around as unsigned ones.  */
struct dynloop_request
{
  uint64_t first;	/* value of the first iteration */
  uint64_t stop;	/* value that ends the loop */
  uint64_t incr;	/* step, its two's complement for a loop down */
  bool down;
  bool guided;
  bool monotonic;
  uint64_t chunk;	/* iterations */
  unsigned team;	/* threads */
  const void *site;	/* place in the program */
};

struct dynloop_range
{
  uint64_t next; /* unit; passes `end' when all are claimed */
  uint64_t end;
  uint64_t size;     /* units that a claim takes, at most */
  unsigned divisor;  /* and not more than what remains divided by this */
  int last;	     /* range 0: the loop's last unit is apart and unclaimed */
} __attribute__ ((aligned (DYNLOOP_LINE)));

struct dynloop
{
  uint64_t first, stop;
  uint64_t step;  /* between two units */
  uint64_t units;
  uint64_t least; /* units that a claim takes, at least */
  uint32_t epoch_ns;
  unsigned site; /* in the table of remembered sizes */
  unsigned ranges;
  uint8_t range_of[DYNLOOP_RANGES];
  struct dynloop_range range[];
};

/* A worker's last claim.  Zero: none.  */
struct dynloop_clock
{
  const struct dynloop *loop;
  const void *task;
  uint64_t begin_ns;
  uint64_t size;
  unsigned range;
  unsigned long switches; /* the caller's own */
} __attribute__ ((aligned (DYNLOOP_LINE)));

/* Who claims.  */
struct dynloop_claimant
{
  struct dynloop_clock *clock; /* NULL: not on a worker */
  const void *task;
  bool alone; /* the worker has run nothing else since its last claim */
  unsigned node;
};

/* Can the loop be handed out so?  Else it is too long, or no valid one.  */
extern bool dynloop_possible (const struct dynloop_request *request);

/* Bytes that a loop over NODES needs, for any alignment of malloc.  */
extern size_t dynloop_bytes (const struct dynloop_nodes *nodes);

/* The loop in a block of that size.  */
static inline struct dynloop *
dynloop_in (void *block)
{
  return (struct dynloop *) (((uintptr_t) block + DYNLOOP_LINE - 1)
			     & ~(uintptr_t) (DYNLOOP_LINE - 1));
}

extern void dynloop_begin (struct dynloop *loop,
			   const struct dynloop_request *request,
			   const struct dynloop_nodes *nodes);

/* Claims the iterations from *START to before *END; false: none is left.
   NOW is a clock in nanoseconds.  */
extern bool dynloop_claim (struct dynloop *loop,
			   const struct dynloop_claimant *who,
			   uint64_t (*now) (void), uint64_t *start,
			   uint64_t *end);

#pragma GCC visibility pop

#endif /* COOP_DYNLOOP_H */
