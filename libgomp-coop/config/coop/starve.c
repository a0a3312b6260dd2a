/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Workers that starve (starve.h).  */

#include "starve.h"

#include <string.h>

#include "cpuset.h"
#include "settings.h"
#include "share.h"
#include "threadstat.h"

/* CPU time is compared over so long: several time slices of neighbours of equal
   priority.  Longer where a task computes for long and all is well.  */
#define WINDOW_MIN_NS 15000000ull
#define WINDOW_MAX_NS 240000000ull

/* Who has less than one part of so many of a CPU starves.  */
#define SHARE_LEAST 8

/* Of a worker, since its task began or was continued.  */
struct look
{
  unsigned long switches;
  uint64_t since_ns, used_ns; /* begin of the window, 0: none; CPU time then */
  uint64_t window_ns;
  unsigned long slept; /* times, at the end of the last window, if */
  bool little;	       /* it had little of its CPU in that */
};

static struct look looks[COOP_MAX_CPUS];
static struct cosched_cpuset left_out;
static struct coop_lease lease; /* until its end */

static void
begin (struct look *l, uint64_t now, uint64_t used, uint64_t window)
{
  l->since_ns = now;
  l->used_ns = used;
  l->window_ns = window < WINDOW_MAX_NS ? window : WINDOW_MAX_NS;
}

/* Two windows in a row, as in the first the whole process may have been stopped,
   and only then does it show that W did not sleep.  */
static bool
starves (struct coop_worker *w, struct look *l, uint64_t now)
{
  unsigned long switches = coop_peek (&w->switches), slept = 0;

  if (coop_peek (&w->running) == NULL || !coop_may_run (w) || w->tid == 0
      || l->switches != switches)
    {
      *l = (struct look){ .switches = switches };
      return false;
    }
  if (now - l->since_ns < l->window_ns)
    return false;
  uint64_t used = coop_threadstat_used (w->tid);
  if (l->since_ns == 0)
    {
      begin (l, now, used, WINDOW_MIN_NS);
      return false;
    }
  bool little = (used - l->used_ns) * SHARE_LEAST < now - l->since_ns
		&& coop_threadstat_state (w->tid, &slept) == 'R';
  bool starved = little && l->little && slept == l->slept;
  l->little = little;
  l->slept = slept;
  begin (l, now, used, little ? WINDOW_MIN_NS : 2 * l->window_ns);
  return starved;
}

bool
coop_starve_tick (uint64_t now)
{
  bool changed = false;

  if (coop_mode == COSCHED_MODE_KTHREAD
      || coop_settings.test & COOP_TEST_NO_LEASE)
    return false;
  if (cpuset_first (&left_out) >= 0 && now >= lease.until_ns)
    {
      memset (&left_out, 0, sizeof left_out);
      changed = true;
    }
  for (unsigned i = 0; i < coop_nworkers; i++)
    {
      int cpu = coop_workers[i].cpu;
      if (!starves (&coop_workers[i], &looks[i], now)
	  || cpuset_has (&left_out, cpu))
	continue;
      cpuset_add (&left_out, cpu);
      coop_lease_extend (&lease, now);
      coop_say ("CPU %d is kept busy by something else, left out for %.2f s",
		cpu, (double) (lease.until_ns - now) / 1e9);
      changed = true;
    }
  return changed;
}

void
coop_starve_leave_out (struct cosched_cpuset *cpus)
{
  struct cosched_cpuset rest;

  for (int i = 0; i < COOP_CPUSET_WORDS; i++)
    rest.word[i] = cpus->word[i] & ~left_out.word[i];
  if (cpuset_first (&rest) >= 0)
    *cpus = rest;
}

void
coop_starve_reset (void)
{
  memset (looks, 0, sizeof looks);
  memset (&left_out, 0, sizeof left_out);
  memset (&lease, 0, sizeof lease);
}
