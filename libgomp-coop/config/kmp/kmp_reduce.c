/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Reductions of regions and loops.

   A thread that ends its part asks how to add its values to the result: with
   atomic instructions, where the compiler has made code for it, or one thread
   at a time.  As at most as many threads run as there are CPUs, and others
   wait without holding anything, trees over all threads would not be faster. */

#include "kmp.h"

#include "libgomp_g.h"

#define ATOMIC_VARIABLES 4 /* more than these are faster under a lock */

enum kmp_reduction
{
  ALONE,
  LOCKED,
  ATOMIC
};

/* 1: add, then call the end function; 2: add by atomic instructions.  */
static kmp_int32
begin (const ident_t *loc, kmp_int32 variables, kmp_critical_name *lock)
{
  struct kmp_thread *t = kmp_thread ();

  t->region->reduction = ALONE;
  if (kmp_team_size () == 1)
    return 1;
  if (loc && (loc->flags & KMP_IDENT_ATOMIC_REDUCE)
      && variables <= ATOMIC_VARIABLES)
    {
      t->region->reduction = ATOMIC;
      return 2;
    }
  t->region->reduction = LOCKED;
  GOMP_critical_name_start ((void **) lock);
  return 1;
}

static void
end (kmp_critical_name *lock)
{
  struct kmp_thread *t = kmp_thread ();

  if (t->region->reduction == LOCKED)
    GOMP_critical_name_end ((void **) lock);
}

kmp_int32
__kmpc_reduce_nowait (ident_t *loc, kmp_int32 gtid, kmp_int32 variables,
		      size_t size, void *data, void (*add) (void *, void *),
		      kmp_critical_name *lock)
{
  (void) gtid, (void) size, (void) data, (void) add;
  return begin (loc, variables, lock);
}

void
__kmpc_end_reduce_nowait (ident_t *loc, kmp_int32 gtid,
			  kmp_critical_name *lock)
{
  (void) loc, (void) gtid;
  end (lock);
}

/* As before, and the end is a barrier, for atomic instructions, too.  */
kmp_int32
__kmpc_reduce (ident_t *loc, kmp_int32 gtid, kmp_int32 variables, size_t size,
	       void *data, void (*add) (void *, void *),
	       kmp_critical_name *lock)
{
  (void) gtid, (void) size, (void) data, (void) add;
  return begin (loc, variables, lock);
}

void
__kmpc_end_reduce (ident_t *loc, kmp_int32 gtid, kmp_critical_name *lock)
{
  (void) loc, (void) gtid;
  end (lock);
  GOMP_barrier ();
}
