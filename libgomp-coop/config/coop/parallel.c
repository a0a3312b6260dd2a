/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's parallel.c; tasks that wait at a cancellation point make room.  */

#include "libgomp.h"

#include "blocking.h"

#define GOMP_cancellation_point upstream_cancellation_point
static bool upstream_cancellation_point (int);
#include "../../parallel.c"
#undef GOMP_cancellation_point

bool
GOMP_cancellation_point (int which)
{
  if (__builtin_expect (coop_managed, 0))
    coop_poll ();
  return upstream_cancellation_point (which);
}
