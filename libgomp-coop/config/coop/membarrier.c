/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* A fence on all CPUs (membarrier.h).  */

#include "membarrier.h"

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "wait.h"

bool coop_membarrier_ready;

static bool asked;

static bool
call (int command)
{
  return coop_syscall (SYS_membarrier, command, 0, 0, 0) == 0;
}

void
coop_membarrier_start (void)
{
  /* Of glibc since 2.32.  */
  const char *single = dlsym (RTLD_DEFAULT, "__libc_single_threaded");
  if (single && *single)
    coop_membarrier_prepare ();
}

bool
coop_membarrier_prepare (void)
{
  if (!asked)
    __atomic_store_n (&coop_membarrier_ready,
		      call (MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED),
		      __ATOMIC_RELAXED);
  asked = true;
  return coop_membarrier_ready;
}

bool
coop_membarrier (void)
{
  return call (MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void
coop_membarrier_reset (void)
{
  asked = coop_membarrier_ready = false;
}
