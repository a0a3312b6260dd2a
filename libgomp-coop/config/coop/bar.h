/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's barrier, with room for batches of tasks (batch.h).

   Upstream's structure ends with a cache line of which it uses two words; ours
   is laid over it and has the rest.  In a team's barrier gomp_barrier_wait_start
   may put the caller into a batch; gomp_barrier_wait_cancel_start, whose
   barriers need not complete, never does.  */

#ifndef COOP_BAR_H
#define COOP_BAR_H 1

#define gomp_barrier_init upstream_barrier_init
#define gomp_barrier_destroy upstream_barrier_destroy
#define gomp_barrier_wait_start upstream_barrier_wait_start
#include "../linux/bar.h"
#undef gomp_barrier_init
#undef gomp_barrier_destroy
#undef gomp_barrier_wait_start

#include "coop.h"

#pragma GCC visibility push(hidden)

struct coop_launch;
struct kmp_team;

struct coop_barrier
{
  unsigned total __attribute__ ((aligned (64)));
  unsigned generation;
  unsigned awaited __attribute__ ((aligned (64)));
  unsigned awaited_final;
  int lock;			/* of batches; held for a few instructions */
  int batched;			/* there may be batches */
  int tasked;			/* of a team: there may be explicit tasks */
  unsigned strayed;		/* times it was over since tasks have strayed (stray.h) */
  struct coop_ult *batches[2];	/* by the lowest bit of the generation */
  struct coop_launch *launch;	/* of a pool's dock (launch.h), or NULL */
  struct kmp_team *kmp;		/* of a team (../kmp/kmp.h), or NULL */
  unsigned place;		/* of a team: which barrier is next (order.h) */
} __attribute__ ((may_alias));

_Static_assert (sizeof (struct coop_barrier) == sizeof (gomp_barrier_t)
		    && offsetof (struct coop_barrier, generation)
			   == offsetof (gomp_barrier_t, generation)
		    && offsetof (struct coop_barrier, awaited_final)
			   == offsetof (gomp_barrier_t, awaited_final),
		"struct coop_barrier does not fit over gomp_barrier_t");

static inline struct coop_barrier *
coop_barrier (gomp_barrier_t *bar)
{
  return (struct coop_barrier *) bar;
}

/* Batch.h, hold.h and launch.h include libgomp.h, which includes this file.  */
extern gomp_barrier_state_t coop_batch_arrive (gomp_barrier_t *bar);
extern int coop_hold_seized;
extern void coop_hold_await_watchers (gomp_barrier_t *bar);
extern void coop_launch_free (struct coop_launch *launch);
extern void kmp_team_free (struct kmp_team *team);

/* The rest of gomp_team_barrier_wait_final, for who has arrived in STATE and has not been
   in a dock since.  */
extern void coop_barrier_end_final (gomp_barrier_t *bar, gomp_barrier_state_t state);

static inline void
gomp_barrier_init (gomp_barrier_t *bar, unsigned count)
{
  struct coop_barrier *b = coop_barrier (bar);
  upstream_barrier_init (bar, count);
  b->lock = b->batched = b->tasked = b->strayed = 0;
  b->batches[0] = b->batches[1] = NULL;
  b->launch = NULL;
  b->kmp = NULL;
  b->place = 0;
}

static inline void
gomp_barrier_destroy (gomp_barrier_t *bar)
{
  if (__builtin_expect (coop_barrier (bar)->launch != NULL, 0))
    coop_launch_free (coop_barrier (bar)->launch);
  if (__builtin_expect (coop_barrier (bar)->kmp != NULL, 0))
    kmp_team_free (coop_barrier (bar)->kmp);
  if (__builtin_expect (coop_peek (&coop_hold_seized) != 0, 0))
    coop_hold_await_watchers (bar);
  upstream_barrier_destroy (bar);
}

/* For barriers of teams only.  */
static inline gomp_barrier_state_t
gomp_barrier_wait_start (gomp_barrier_t *bar)
{
  if (__builtin_expect (coop_managed, 0))
    return coop_batch_arrive (bar);
  return upstream_barrier_wait_start (bar);
}

#pragma GCC visibility pop

#endif /* COOP_BAR_H */
