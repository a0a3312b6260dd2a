/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's critical.c; a task that waits in a loop may look in a critical section.  */

#include "libgomp.h"

#include "blocking.h"

#define gomp_mutex_lock(mutex) (coop_poll (), gomp_mutex_lock (mutex))
#include "../../critical.c"
