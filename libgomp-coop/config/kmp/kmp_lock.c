/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Locks.  Libomp's have the size of a pointer.  Libgomp's simple ones are
   smaller and lie in its place; the nested ones are larger and allocated.  */

#include "kmp.h"

#include <stdlib.h>

#include "kmp_api.h"

_Static_assert (sizeof (omp_lock_t) <= sizeof (void *),
		"a simple lock is larger than libomp's");

#define SIMPLE(lock) ((omp_lock_t *) (lock))
#define NESTED(lock) (*(omp_nest_lock_t **) (lock))

static void
init_nest (void **lock)
{
  *lock = gomp_malloc (sizeof (omp_nest_lock_t));
  gomp_init_nest_lock_30 (NESTED (lock));
}

static void
destroy_nest (void **lock)
{
  gomp_destroy_nest_lock_30 (NESTED (lock));
  free (*lock);
  *lock = NULL;
}

/* OPERATION on a lock as function of C, of Fortran, and of the compiler.  */
#define LOCK(result, operation, ...)                                          \
  KMP_EXPORT (result, omp_##operation, (void **lock), { __VA_ARGS__; })       \
  KMP_EXPORT (result, omp_##operation##_, (void **lock), { __VA_ARGS__; })    \
  result __kmpc_##operation (ident_t *loc, kmp_int32 gtid, void **lock)       \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
    __VA_ARGS__;                                                              \
  }

LOCK (void, init_lock, gomp_init_lock_30 (SIMPLE (lock)))
LOCK (void, destroy_lock, gomp_destroy_lock_30 (SIMPLE (lock)))
LOCK (void, set_lock, gomp_set_lock_30 (SIMPLE (lock)))
LOCK (void, unset_lock, gomp_unset_lock_30 (SIMPLE (lock)))
LOCK (int, test_lock, return gomp_test_lock_30 (SIMPLE (lock)))
LOCK (void, init_nest_lock, init_nest (lock))
LOCK (void, destroy_nest_lock, destroy_nest (lock))
LOCK (void, set_nest_lock, gomp_set_nest_lock_30 (NESTED (lock)))
LOCK (void, unset_nest_lock, gomp_unset_nest_lock_30 (NESTED (lock)))
LOCK (int, test_nest_lock, return gomp_test_nest_lock_30 (NESTED (lock)))

/* Hints are not needed.  */
KMP_EXPORT (void, omp_init_lock_with_hint, (void **lock, int hint), {
  (void) hint;
  gomp_init_lock_30 (SIMPLE (lock));
})
KMP_EXPORT (void, omp_init_lock_with_hint_, (void **lock, int *hint), {
  (void) hint;
  gomp_init_lock_30 (SIMPLE (lock));
})
KMP_EXPORT (void, omp_init_nest_lock_with_hint, (void **lock, int hint), {
  (void) hint;
  init_nest (lock);
})
KMP_EXPORT (void, omp_init_nest_lock_with_hint_, (void **lock, int *hint), {
  (void) hint;
  init_nest (lock);
})

void
__kmpc_init_lock_with_hint (ident_t *loc, kmp_int32 gtid, void **lock,
			    uintptr_t hint)
{
  (void) loc, (void) gtid, (void) hint;
  gomp_init_lock_30 (SIMPLE (lock));
}

void
__kmpc_init_nest_lock_with_hint (ident_t *loc, kmp_int32 gtid, void **lock,
				 uintptr_t hint)
{
  (void) loc, (void) gtid, (void) hint;
  init_nest (lock);
}
