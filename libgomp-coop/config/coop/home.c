/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The initial thread at home (home.h).  */

#include "home.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libgomp.h"

#include "worker.h"

#define LOOK_TURNS 16	/* pauses between two looks at worker 0, */
#define CLOCK_TURNS 256 /* and at the clock */
#define SPIN_NS 1000000 /* as idle workers do */

pid_t coop_home_tid;
int coop_home_asleep;

static struct coop_ult home;

void
coop_home_begin (void)
{
  memset (&home, 0, sizeof home);
  home.kind = COOP_FOREIGN;
  home.thread = coop_tls.thread;
  coop_tls.ult = &home;
  coop_home_tid = (pid_t) syscall (SYS_gettid);
  coop_worker_pin_home ();
}

bool
coop_home_is_here (void)
{
  return coop_tls_ult () == &home;
}

int
coop_home_spin (const int *addr, int value)
{
  const struct coop_worker *w = &coop_workers[0];
  unsigned long limit = gomp_spin_count_var;
  uint64_t end = 0;

  for (unsigned long i = 0; i < limit; i++)
    {
      if (coop_load (addr) != value)
	return 0;
      if (i % LOOK_TURNS == 0
	  && (coop_peek (&coop_crowded)
	      || (w->started && !coop_peek (&w->sleeping))))
	return 1;
      if (i % CLOCK_TURNS == CLOCK_TURNS - 1)
	{
	  uint64_t now = coop_now_ns ();
	  if (end == 0)
	    end = now + SPIN_NS;
	  else if (now > end)
	    return 1;
	}
      coop_pause ();
    }
  return 1;
}

void
coop_home_reset (void)
{
  coop_home_tid = 0;
  coop_home_asleep = 0;
}
