/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's mutex.c, waiting as wait.h says, with one difference.  */

#include "wait.h"
#include "spinlock.h"
#define do_spin coop_lock_spin
#include "../linux/mutex.c"
