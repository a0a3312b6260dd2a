/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's lock.c; nested locks of OpenMP 2.5 are owned by a kernel thread,
   which here is a task.  A task that waits by asking again and again makes room.  */

#include "wait.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ult.h"

static inline bool
poll_unless (bool got)
{
  if (!got && __builtin_expect (coop_managed, 0))
    coop_poll ();
  return got;
}

/* The only system call there is gettid.  */
#define syscall(number) coop_ult_id ()
#define __atomic_compare_exchange_n(...)                                      \
  poll_unless (__atomic_compare_exchange_n (__VA_ARGS__))
#include "../linux/lock.c"
