/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Functions of OpenMP's specification that are not quite libgomp's; aliases.S
   has the others.  */

#include "kmp_api.h"

#include <stdlib.h>
#include <string.h>

#include "kmp.h"

/* ---- Those that older libgomps lack.  ---- */

#define SINCE_GCC_12 __attribute__ ((weak))

extern int omp_get_max_teams (void) SINCE_GCC_12;
extern int omp_get_teams_thread_limit (void) SINCE_GCC_12;
extern void omp_set_num_teams (int) SINCE_GCC_12;
extern void omp_set_teams_thread_limit (int) SINCE_GCC_12;
extern void omp_display_env (int) SINCE_GCC_12;
extern void *omp_aligned_alloc (size_t, size_t,
				omp_allocator_handle_t) SINCE_GCC_12;
extern void *omp_calloc (size_t, size_t, omp_allocator_handle_t) SINCE_GCC_12;
extern void *omp_aligned_calloc (size_t, size_t, size_t,
				 omp_allocator_handle_t) SINCE_GCC_12;
extern void *omp_realloc (void *, size_t, omp_allocator_handle_t,
			  omp_allocator_handle_t) SINCE_GCC_12;

/* ---- Without arguments: the same for C and Fortran.  ---- */

#define GET(name, value)                                                      \
  KMP_EXPORT (int, omp_##name, (void), { return value; })                     \
  KMP_EXPORT (int, omp_##name##_, (void), { return value; })

GET (get_device_num, omp_get_initial_device ())
GET (get_max_teams, omp_get_max_teams ? omp_get_max_teams () : 0)
GET (get_teams_thread_limit,
     omp_get_teams_thread_limit ? omp_get_teams_thread_limit () : 0)

/* Not the initial task and not that of a parallel region.  */
GET (in_explicit_task, gomp_thread ()->task
			   && gomp_thread ()->task->kind != GOMP_TASK_IMPLICIT)

/* ---- With one number: by value, and for Fortran by reference.  ---- */

#define SET(name, ...)                                                        \
  KMP_EXPORT (void, omp_##name, (int value), { __VA_ARGS__; })                \
  KMP_EXPORT (void, omp_##name##_, (const int *where), {                      \
    int value = *where;                                                       \
    __VA_ARGS__;                                                              \
  })

SET (set_num_teams, if (omp_set_num_teams) omp_set_num_teams (value))
SET (set_teams_thread_limit,
     if (omp_set_teams_thread_limit) omp_set_teams_thread_limit (value))
SET (display_env, if (omp_display_env) omp_display_env (value))

#define GET_BY(name, ...)                                                     \
  KMP_EXPORT (int, omp_##name, (int value), { return __VA_ARGS__; })          \
  KMP_EXPORT (int, omp_##name##_, (const int *where), {                       \
    int value = *where;                                                       \
    return __VA_ARGS__;                                                       \
  })

/* Libomp has a kind 0, which resumes and has nothing to do.  */
static int
pause_host (int kind)
{
  return kind ? omp_pause_resource_all ((omp_pause_resource_t) kind) : 0;
}

GET_BY (pause_resource_all, pause_host (value))
KMP_EXPORT (int, omp_pause_resource, (int kind, int device), {
  return device == omp_get_initial_device () ? pause_host (kind) : -1;
})
KMP_EXPORT (int, omp_pause_resource_, (const int *kind, const int *device), {
  return *device == omp_get_initial_device () ? pause_host (*kind) : -1;
})

int
__kmpc_pause_resource (int kind)
{
  return pause_host (kind);
}

/* ---- The schedule of loops that leave it open, which a thread's begin sets
   to what libomp has.  ---- */

KMP_EXPORT (void, omp_get_schedule, (omp_sched_t * kind, int *chunk), {
  kmp_thread ();
  omp_get_schedule (kind, chunk);
})
KMP_EXPORT (void, omp_get_schedule_, (omp_sched_t * kind, int *chunk), {
  kmp_thread ();
  omp_get_schedule (kind, chunk);
})
KMP_EXPORT (void, omp_set_schedule, (omp_sched_t kind, int chunk), {
  kmp_thread ();
  omp_set_schedule (kind, chunk);
})
KMP_EXPORT (void, omp_set_schedule_,
	    (const omp_sched_t *kind, const int *chunk), {
	      kmp_thread ();
	      omp_set_schedule (*kind, *chunk);
	    })

/* ---- Memory.  Handles of predefined allocators and memory spaces have the
   same values in both libraries; libomp has some more, for devices.  ---- */

#define FIRST_DEVICE 100
#define LAST_DEVICE 102

static omp_allocator_handle_t
allocator (uintptr_t handle)
{
  return (omp_allocator_handle_t) (handle >= FIRST_DEVICE
					   && handle <= LAST_DEVICE
				       ? (uintptr_t) omp_default_mem_alloc
				       : handle);
}

static void *
alloc_zero (size_t count, size_t size, uintptr_t a)
{
  size_t bytes;

  if (omp_calloc)
    return omp_calloc (count, size, allocator (a));
  if (__builtin_mul_overflow (count, size, &bytes))
    return NULL;
  void *p = omp_alloc (bytes, allocator (a));
  return p ? memset (p, 0, bytes) : NULL;
}

static uintptr_t
init_allocator (uintptr_t space, int ntraits, const omp_alloctrait_t *traits)
{
  if (space >= FIRST_DEVICE && space <= LAST_DEVICE)
    space = (uintptr_t) omp_default_mem_space;
  return (uintptr_t) omp_init_allocator ((omp_memspace_handle_t) space,
					 ntraits, traits);
}

KMP_EXPORT (void *, omp_alloc, (size_t size, uintptr_t a), {
  return omp_alloc (size, allocator (a));
})
KMP_EXPORT (void *, omp_aligned_alloc,
	    (size_t align, size_t size, uintptr_t a), {
	      return omp_aligned_alloc
			 ? omp_aligned_alloc (align, size, allocator (a))
			 : NULL;
	    })
KMP_EXPORT (void *, omp_calloc, (size_t count, size_t size, uintptr_t a), {
  return alloc_zero (count, size, a);
})
KMP_EXPORT (void *, omp_aligned_calloc,
	    (size_t align, size_t count, size_t size, uintptr_t a), {
	      return omp_aligned_calloc
			 ? omp_aligned_calloc (align, count, size,
					       allocator (a))
			 : NULL;
	    })
KMP_EXPORT (void *, omp_realloc,
	    (void *p, size_t size, uintptr_t a, uintptr_t old), {
	      return omp_realloc ? omp_realloc (p, size, allocator (a),
						allocator (old))
				 : NULL;
	    })
KMP_EXPORT (void, omp_free, (void *p, uintptr_t a), {
  omp_free (p, allocator (a));
})
KMP_EXPORT (uintptr_t, omp_init_allocator,
	    (uintptr_t space, int ntraits, const omp_alloctrait_t *traits), {
	      return init_allocator (space, ntraits, traits);
	    })
KMP_EXPORT (uintptr_t, omp_init_allocator_,
	    (const uintptr_t *space, const int *ntraits,
	     const omp_alloctrait_t *traits), {
	      return init_allocator (*space, *ntraits, traits);
	    })
KMP_EXPORT (void, omp_destroy_allocator, (uintptr_t a), {
  omp_destroy_allocator (allocator (a));
})
KMP_EXPORT (void, omp_destroy_allocator_, (const uintptr_t *a), {
  omp_destroy_allocator (allocator (*a));
})
KMP_EXPORT (void, omp_set_default_allocator, (uintptr_t a), {
  omp_set_default_allocator (allocator (a));
})
KMP_EXPORT (void, omp_set_default_allocator_, (const uintptr_t *a), {
  omp_set_default_allocator (allocator (*a));
})
KMP_EXPORT (uintptr_t, omp_get_default_allocator, (void), {
  return (uintptr_t) omp_get_default_allocator ();
})
KMP_EXPORT (uintptr_t, omp_get_default_allocator_, (void), {
  return (uintptr_t) omp_get_default_allocator ();
})

/* The same for the allocate directive, with the thread's number.  */
void *
__kmpc_alloc (int gtid, size_t size, uintptr_t a)
{
  (void) gtid;
  return omp_alloc (size, allocator (a));
}

void *
__kmpc_aligned_alloc (int gtid, size_t align, size_t size, uintptr_t a)
{
  (void) gtid;
  return kmpv_omp_aligned_alloc (align, size, a);
}

void *
__kmpc_calloc (int gtid, size_t count, size_t size, uintptr_t a)
{
  (void) gtid;
  return alloc_zero (count, size, a);
}

void *
__kmpc_realloc (int gtid, void *p, size_t size, uintptr_t a, uintptr_t old)
{
  (void) gtid;
  return kmpv_omp_realloc (p, size, a, old);
}

void
__kmpc_free (int gtid, void *p, uintptr_t a)
{
  (void) gtid;
  omp_free (p, allocator (a));
}

uintptr_t
__kmpc_init_allocator (int gtid, uintptr_t space, int ntraits,
		       const omp_alloctrait_t *traits)
{
  (void) gtid;
  return init_allocator (space, ntraits, traits);
}

void
__kmpc_destroy_allocator (int gtid, uintptr_t a)
{
  (void) gtid;
  omp_destroy_allocator (allocator (a));
}

void
__kmpc_set_default_allocator (int gtid, uintptr_t a)
{
  (void) gtid;
  omp_set_default_allocator (allocator (a));
}

uintptr_t
__kmpc_get_default_allocator (int gtid)
{
  (void) gtid;
  return (uintptr_t) omp_get_default_allocator ();
}

/* ---- Tools and other languages' objects: there are none.  ---- */

KMP_EXPORT (int, omp_control_tool, (int command, int modifier, void *arg), {
  (void) command;
  (void) modifier;
  (void) arg;
  return -2; /* no tool */
})
KMP_EXPORT (int, omp_control_tool_,
	    (const int *command, const int *modifier, void *arg), {
	      return kmpv_omp_control_tool (*command, *modifier, arg);
	    })

#define INTEROP(result, name)                                                 \
  KMP_EXPORT (result, omp_get_interop_##name,                                 \
	      (void *interop, intptr_t property, int *error), {               \
		(void) interop;                                               \
		(void) property;                                              \
		if (error)                                                    \
		  *error = -2; /* no such object */                           \
		return 0;                                                     \
	      })
#define INTEROP_NAME(name)                                                    \
  KMP_EXPORT (const char *, omp_get_interop_##name,                           \
	      (void *interop, intptr_t which), {                              \
		(void) interop;                                               \
		(void) which;                                                 \
		return NULL;                                                  \
	      })
#define INTEROP_ALL(_)                                                        \
  INTEROP (intptr_t, int##_)                                                  \
  INTEROP (void *, ptr##_)                                                    \
  INTEROP (const char *, str##_)                                              \
  INTEROP_NAME (name##_)                                                      \
  INTEROP_NAME (type_desc##_)                                                 \
  INTEROP_NAME (rc_desc##_)                                                   \
  KMP_EXPORT (int, omp_get_num_interop_properties##_, (const void *interop), { \
    (void) interop;                                                           \
    return 0;                                                                 \
  })
/* Fortran's give all by reference, which does not matter here.  */
INTEROP_ALL ()
INTEROP_ALL (_)
