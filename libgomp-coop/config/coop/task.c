/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's task.c; a worker may leave its CPU between two tasks.  */

#include "libgomp.h"
#include "dispatch.h"

/* All locks there protect the team's tasks, and after releasing one none is
   held.  */
static inline void
coop_task_unlock (gomp_mutex_t *mutex)
{
  gomp_mutex_unlock (mutex);
  coop_dispatch_point ();
}

#define gomp_mutex_unlock(mutex) coop_task_unlock (mutex)
#include "../../task.c"
