/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's proc.c; the process's CPUs are those it had when it began, since
   workers are bound to one each, and a team may have more tasks than CPUs.  */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "libgomp.h"
#include <string.h>
#include "cpuset.h"
#include "inherit.h"
#include "interleave.h"
#include "near.h"
#include "settings.h"
#include "start.h"
#include "worker.h"

/* As pthread_getaffinity_np.  */
static int
initial_affinity (pthread_t thread, size_t size, cpu_set_t *cpus)
{
  if (!coop_managed)
    return pthread_getaffinity_np (thread, size, cpus);
  memset (cpus, 0, size);
  for (size_t cpu = 0; cpu < size * 8 && cpu < COOP_MAX_CPUS; cpu++)
    if (cpuset_has (&coop_initial_cpus, (int) cpu))
      CPU_SET_S (cpu, size, cpus);
  return 0;
}

/* env.c takes the default team size for gomp_available_cpus.  */
static unsigned long cpus_at_start;

#define pthread_getaffinity_np initial_affinity
#define gomp_available_cpus cpus_at_start
#define gomp_init_num_threads upstream_init_num_threads
static void upstream_init_num_threads (void);
#include "../linux/proc.c"
#undef gomp_init_num_threads
#undef gomp_available_cpus

void
gomp_init_num_threads (void)
{
  coop_settings_read ();
  coop_start_watch_forks ();
  if (coop_managed
      && sched_getaffinity (0, sizeof coop_initial_cpus,
			    (cpu_set_t *) &coop_initial_cpus)
	     < 0)
    coop_managed = false; /* more CPUs than the page has room for */
  if (coop_managed)
    {
      coop_inherit_cpus (&coop_initial_cpus);
      coop_near_begin ();
      coop_interleave_begin (&coop_initial_cpus);
    }
  upstream_init_num_threads ();
  cpus_at_start = gomp_global_icv.nthreads_var;
  gomp_global_icv.nthreads_var
      *= coop_settings_ults ((unsigned) cpus_at_start);
}
