/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's affinity.c; where workers own the CPUs, places are only kept as
   what omp_get_place_num and others say.  */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "libgomp.h"
#include <sched.h>
#include "coop.h"

#define pthread_setaffinity_np(thread, size, cpus)                            \
  (coop_managed ? 0 : (pthread_setaffinity_np) (thread, size, cpus))
#define pthread_attr_setaffinity_np(attr, size, cpus)                         \
  (coop_managed ? 0 : (pthread_attr_setaffinity_np) (attr, size, cpus))
#include "../linux/affinity.c"
