/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Unchanged semaphores; the first file of ours that libgomp.h reaches.  */

#include "thread.h"

/* After config.h, before gomp_thread is defined; see thread.h.  */
#undef HAVE_TLS
#undef USE_EMUTLS
#undef USING_INITIAL_EXEC_TLS

#include_next "sem.h"
