/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops whose iterations wait for others (ordered with depend or doacross).

   The threads of a team share a bit for each iteration of a loop nest that has
   ended.  As such loops may have no barrier at the end, threads can be in
   several of them; each thread counts those that it has begun, and finds the
   state of a loop by its number.  */

#include "kmp.h"

#include <sched.h>
#include <stdlib.h>

#include "wait.h"

struct kmp_dim
{
  kmp_int64 lower, upper, step;
};

typedef unsigned long long ull;

#define BITS (8 * sizeof (unsigned long))
#define SPINS 1024 /* before a thread of an unmanaged process lets others run */

struct kmp_doacross
{
  struct kmp_doacross *next; /* of the team */
  unsigned number;	     /* in the region, from 1 */
  unsigned finished;	     /* threads */
  unsigned count;
  unsigned long *done; /* bits */
  struct
  {
    struct kmp_dim range;
    ull trips;
  } dim[];
};

static struct kmp_doacross *
create (unsigned number, int count, const struct kmp_dim *dims)
{
  struct kmp_doacross *d
      = gomp_malloc_cleared (sizeof *d + (unsigned) count * sizeof *d->dim);
  ull total = 1;

  d->number = number;
  d->count = (unsigned) count;
  for (int i = 0; i < count; i++)
    {
      kmp_int64 step = dims[i].step;
      ull length = step > 0 ? (ull) dims[i].upper - (ull) dims[i].lower
			    : (ull) dims[i].lower - (ull) dims[i].upper;
      bool empty = step > 0 ? dims[i].upper < dims[i].lower
			    : dims[i].upper > dims[i].lower;
      d->dim[i].range = dims[i];
      d->dim[i].trips
	  = empty ? 0 : length / (step > 0 ? (ull) step : -(ull) step) + 1;
      if (__builtin_mul_overflow (total, d->dim[i].trips, &total))
	gomp_fatal ("too many iterations of a doacross loop");
    }
  d->done = gomp_malloc_cleared ((total / BITS + 1) * sizeof *d->done);
  return d;
}

void
__kmpc_doacross_init (ident_t *loc, kmp_int32 gtid, kmp_int32 count,
		      const struct kmp_dim *dims)
{
  struct kmp_region *r = kmp_thread ()->region;
  struct kmp_doacross *d;

  (void) loc, (void) gtid;
  r->doacross = NULL;
  if (kmp_team_size () == 1)
    return;
  struct kmp_team *team = kmp_team ();
  unsigned number = ++r->doacross_count;
  coop_lock (&team->doacross_lock);
  for (d = team->doacross; d && d->number != number; d = d->next)
    ;
  if (!d)
    {
      d = create (number, count, dims);
      d->next = team->doacross;
      team->doacross = d;
    }
  coop_unlock (&team->doacross_lock);
  r->doacross = d;
}

/* The bit for iteration AT; false: there is no such iteration.  */
static inline bool
find_bit (const struct kmp_doacross *d, const kmp_int64 *at,
	  unsigned long **word, unsigned long *bit)
{
  ull n = 0;

  for (unsigned i = 0; i < d->count; i++)
    {
      const struct kmp_dim *r = &d->dim[i].range;
      ull trip;
      if (r->step > 0)
	{
	  if (at[i] < r->lower || at[i] > r->upper)
	    return false;
	  trip = ((ull) at[i] - (ull) r->lower) / (ull) r->step;
	}
      else
	{
	  if (at[i] > r->lower || at[i] < r->upper)
	    return false;
	  trip = ((ull) r->lower - (ull) at[i]) / -(ull) r->step;
	}
      n = n * d->dim[i].trips + trip;
    }
  *word = &d->done[n / BITS];
  *bit = 1ul << n % BITS;
  return true;
}

void
__kmpc_doacross_wait (ident_t *loc, kmp_int32 gtid, const kmp_int64 *at)
{
  const struct kmp_doacross *d = kmp_thread ()->region->doacross;
  unsigned long *word, bit;

  (void) loc, (void) gtid;
  if (!d || !find_bit (d, at, &word, &bit))
    return;
  for (unsigned spins = 1; !(coop_load (word) & bit); spins++)
    {
      cpu_relax ();
      if (spins % SPINS == 0 && !coop_managed)
	sched_yield ();
    }
}

void
__kmpc_doacross_post (ident_t *loc, kmp_int32 gtid, const kmp_int64 *at)
{
  const struct kmp_doacross *d = kmp_thread ()->region->doacross;
  unsigned long *word, bit;

  (void) loc, (void) gtid;
  if (d && find_bit (d, at, &word, &bit))
    __atomic_fetch_or (word, bit, __ATOMIC_RELEASE);
}

void
__kmpc_doacross_fini (ident_t *loc, kmp_int32 gtid)
{
  struct kmp_region *r = kmp_thread ()->region;
  struct kmp_doacross *d = r->doacross, **p;

  (void) loc, (void) gtid;
  r->doacross = NULL;
  if (!d
      || __atomic_add_fetch (&d->finished, 1, __ATOMIC_ACQ_REL)
	     != kmp_team_size ())
    return;
  struct kmp_team *team = kmp_team ();
  coop_lock (&team->doacross_lock);
  for (p = &team->doacross; *p != d; p = &(*p)->next)
    ;
  *p = d->next;
  coop_unlock (&team->doacross_lock);
  free (d->done);
  free (d);
}
