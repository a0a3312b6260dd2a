/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's parallel.c; a task that waits in a loop may do so at a
   cancellation point.  */

#include "libgomp.h"

#include "blocking.h"

#define GOMP_cancellation_point upstream_cancellation_point
static bool upstream_cancellation_point (int);
#include "../../parallel.c"
#undef GOMP_cancellation_point

bool
GOMP_cancellation_point (int which)
{
  coop_poll ();
  return upstream_cancellation_point (which);
}
