/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Functions kmp_*, which libomp and libiomp5 have beyond OpenMP's: stack size,
   memory, affinity; and settings of their threads, which ours do not have and
   which are remembered only.  KMP_STACKSIZE counts where OMP_STACKSIZE does not
   say otherwise; other variables KMP_* do nothing.  */

#include "coop.h" /* first, for CPU_SET */

#include "kmp_control.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpuset.h"
#include "kmp_api.h"
#include "libgomp_g.h"
#include "worker.h"

/* Defines a function of C, and for Fortran one that gets its arguments by
   reference.  */
#define BOTH_0(result, name, body)                                            \
  result name (void) body                                                     \
  result name##_ (void) body
#define BOTH_1(result, name, T, body)                                         \
  result name (T a) body                                                      \
  result name##_ (T const *a_)                                                \
  {                                                                           \
    T a = *a_;                                                                \
    body                                                                      \
  }
#define BOTH_2(result, name, T, U, body)                                      \
  result name (T a, U b) body                                                 \
  result name##_ (T const *a_, U const *b_)                                   \
  {                                                                           \
    T a = *a_;                                                                \
    U b = *b_;                                                                \
    body                                                                      \
  }

/* ---- Stacks of the threads to come.  ---- */

static size_t
get_stack_size (void)
{
  size_t size = 0;
  return pthread_attr_getstacksize (&gomp_thread_attr, &size) ? 0 : size;
}

static void
set_stack_size (size_t size)
{
  pthread_attr_setstacksize (&gomp_thread_attr, size);
}

/* A number and a unit, kilobytes unless it says otherwise; 0: neither.  */
static size_t
parse_size (const char *text)
{
  char *end;
  unsigned shift = 10;

  errno = 0;
  unsigned long size = strtoul (text, &end, 10);
  if (end == text || errno)
    return 0;
  while (isspace ((unsigned char) *end))
    end++;
  switch (tolower ((unsigned char) *end))
    {
    case 'b':
      shift = 0;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    case 't':
      shift = 40;
      break;
    }
  return size > SIZE_MAX >> shift ? 0 : size << shift;
}

void
kmp_control_begin (void)
{
  const char *given = secure_getenv ("KMP_STACKSIZE");

  if (given && !secure_getenv ("OMP_STACKSIZE")
      && !secure_getenv ("GOMP_STACKSIZE"))
    set_stack_size (parse_size (given));
}

BOTH_0 (int, kmp_get_stacksize, { return (int) get_stack_size (); })
BOTH_0 (size_t, kmp_get_stacksize_s, { return get_stack_size (); })
BOTH_1 (void, kmp_set_stacksize, int, {
  if (a > 0)
    set_stack_size ((size_t) a);
})
BOTH_1 (void, kmp_set_stacksize_s, size_t, { set_stack_size (a); })

/* ---- Remembered only.  ---- */

static int blocktime = 200, library = 3;

static void
set_library (int kind)
{
  /* The serial one has no other threads.  */
  if (kind == 1)
    omp_set_num_threads (1);
  else if (library == 1)
    omp_set_num_threads (omp_get_num_procs ());
  library = kind;
}

BOTH_0 (int, kmp_get_blocktime, { return blocktime; })
BOTH_1 (void, kmp_set_blocktime, int, { blocktime = a; })
BOTH_0 (int, kmp_get_library, { return library; })
BOTH_1 (void, kmp_set_library, int, { set_library (a); })
BOTH_0 (void, kmp_set_library_serial, { set_library (1); })
BOTH_0 (void, kmp_set_library_turnaround, { set_library (2); })
BOTH_0 (void, kmp_set_library_throughput, { set_library (3); })
BOTH_0 (void, kmp_set_warnings_on, {})
BOTH_0 (void, kmp_set_warnings_off, {})
BOTH_1 (void, kmp_set_disp_num_buffers, int, { (void) a; })
BOTH_0 (int, kmp_get_num_known_threads, { return (int) gomp_managed_threads; })
BOTH_1 (int, kmp_get_cancellation_status, int, {
  return a >= 1 && a <= 4 && GOMP_cancellation_point (1 << (a - 1));
})

void
kmp_set_defaults (const char *text)
{
  (void) text;
}

void
kmp_set_defaults_ (const char *text, int length)
{
  (void) text, (void) length;
}

/* ---- Memory.  ---- */

static void *
aligned_malloc (size_t size, size_t alignment)
{
  void *p;
  if (alignment < sizeof p)
    alignment = sizeof p;
  return posix_memalign (&p, alignment, size) ? NULL : p;
}

BOTH_1 (void *, kmp_malloc, size_t, { return malloc (a); })
BOTH_2 (void *, kmp_calloc, size_t, size_t, { return calloc (a, b); })
BOTH_2 (void *, kmp_realloc, void *, size_t, { return realloc (a, b); })
BOTH_2 (void *, kmp_aligned_malloc, size_t, size_t,
	{ return aligned_malloc (a, b); })

void
kmp_free (void *p)
{
  free (p);
}

void
kmp_free_ (void **p)
{
  free (*p);
}

/* ---- Affinity: a mask is a cpu_set_t.  Under an agent, the runtime's threads
   are where CPUs are allotted; what is set is taken and does nothing.  ---- */

typedef cpu_set_t *mask;

BOTH_0 (int, kmp_get_affinity_max_proc, {
  return (int) sysconf (_SC_NPROCESSORS_CONF);
})

static int
valid (int cpu, mask *m)
{
  return m && *m && cpu >= 0 && cpu < CPU_SETSIZE;
}

static int
set_affinity (mask *m)
{
  if (!m || !*m)
    return -1;
  return coop_managed ? 0 : sched_setaffinity (0, sizeof **m, *m);
}

static int
get_affinity (mask *m)
{
  if (!m || !*m)
    return -1;
  if (!coop_managed)
    return sched_getaffinity (0, sizeof **m, *m);
  CPU_ZERO (*m);
  for (int i = 0; i < CPU_SETSIZE && i < COSCHED_MAX_CPUS; i++)
    if (cpuset_has (&coop_initial_cpus, i))
      CPU_SET (i, *m);
  return 0;
}

#define ON_MASK(result, name, body)                                           \
  result name (mask *m) body                                                  \
  result name##_ (mask *m) body
#define ON_BIT(name, body)                                                    \
  int name (int cpu, mask *m) body                                            \
  int name##_ (const int *where, mask *m)                                     \
  {                                                                           \
    int cpu = *where;                                                         \
    body                                                                      \
  }

ON_MASK (void, kmp_create_affinity_mask, { *m = calloc (1, sizeof **m); })
ON_MASK (void, kmp_destroy_affinity_mask, {
  free (*m);
  *m = NULL;
})
ON_MASK (int, kmp_set_affinity, { return set_affinity (m); })
ON_MASK (int, kmp_get_affinity, { return get_affinity (m); })
ON_BIT (kmp_set_affinity_mask_proc, {
  if (!valid (cpu, m))
    return -1;
  CPU_SET (cpu, *m);
  return 0;
})
ON_BIT (kmp_unset_affinity_mask_proc, {
  if (!valid (cpu, m))
    return -1;
  CPU_CLR (cpu, *m);
  return 0;
})
ON_BIT (kmp_get_affinity_mask_proc, {
  return valid (cpu, m) ? CPU_ISSET (cpu, *m) != 0 : -1;
})

int
kmp_set_thread_affinity_mask_initial (void)
{
  return 0;
}

/* ---- Calls of compilers.  ---- */

void
__kmpc_error (ident_t *loc, int severity, const char *message)
{
  (void) loc;
  if (severity == 2)
    gomp_fatal ("error directive: %s", message ? message : "");
  gomp_error ("error directive: %s", message ? message : "");
}

/* 0: no target regions, 1: on the host if need be, 2: never on the host.  */
int
__kmpc_get_target_offload (void)
{
  return gomp_target_offload_var == GOMP_TARGET_OFFLOAD_DISABLED    ? 0
	 : gomp_target_offload_var == GOMP_TARGET_OFFLOAD_MANDATORY ? 2
								     : 1;
}

/* Objects of libomp with the handles of allocators and memory spaces.  */
#define HANDLE(name, value)                                                   \
  extern const uintptr_t kmpv_##name;                                         \
  const uintptr_t kmpv_##name = value;                                        \
  __asm__ (".symver kmpv_" #name ", " #name "@@VERSION");

HANDLE (omp_null_allocator, 0)
HANDLE (omp_default_mem_alloc, 1)
HANDLE (omp_large_cap_mem_alloc, 2)
HANDLE (omp_const_mem_alloc, 3)
HANDLE (omp_high_bw_mem_alloc, 4)
HANDLE (omp_low_lat_mem_alloc, 5)
HANDLE (omp_cgroup_mem_alloc, 6)
HANDLE (omp_pteam_mem_alloc, 7)
HANDLE (omp_thread_mem_alloc, 8)
HANDLE (omp_default_mem_space, 0)
HANDLE (omp_large_cap_mem_space, 1)
HANDLE (omp_const_mem_space, 2)
HANDLE (omp_high_bw_mem_space, 3)
HANDLE (omp_low_lat_mem_space, 4)
