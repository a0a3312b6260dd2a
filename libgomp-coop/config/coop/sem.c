/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's sem.c, waiting as wait.h says.  */

#include "wait.h"
#include "../linux/sem.c"
