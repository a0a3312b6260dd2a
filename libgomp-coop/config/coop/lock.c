/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's lock.c; nested locks of OpenMP 2.5 are owned by a kernel thread,
   which here is a task.  A task that waits in a loop may ask for a lock in it.  */

#include "wait.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ult.h"

/* The only system call there is gettid.  */
#define syscall(number) coop_ult_id ()
#define gomp_mutex_lock(mutex) (coop_poll (), gomp_mutex_lock (mutex))
#define __atomic_compare_exchange_n(...)                                      \
  (coop_poll (), __atomic_compare_exchange_n (__VA_ARGS__))
#include "../linux/lock.c"
