/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's time.c; a task that waits in a loop may look at the clock there.  */

#include "libgomp.h"

#include <time.h>

#include "blocking.h"

#define clock_gettime(clock, time) (coop_poll (), clock_gettime (clock, time))
#include "../posix/time.c"
