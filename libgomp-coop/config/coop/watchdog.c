/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Watchdog (watchdog.h).  */

#include "watchdog.h"

#include "dispatch.h"
#include "runq.h"
#include "section.h"
#include "worker.h"

/* A task may keep a worker so long while others wait before it is suspected.
   Shorter in sections where spares were needed before.  */
#define PATIENCE_NS 60000000ull
#define PATIENCE_KNOWN_NS 5000000ull

/* After so long without a tick the whole process was stopped: that its tasks
   made no progress then means nothing.  */
#define STOPPED_NS 200000000ull

#define CALM_TICKS 20 /* without queued tasks, until idle spares retire */

static unsigned spares;			     /* that may run now */
static unsigned calm;			     /* ticks */
static uint16_t needed[COSCHED_MAX_SECTIONS]; /* spares, by section */

/* Has W been busy with one task for PATIENCE ns?  */
static bool
is_stalled (struct coop_worker *w, uint64_t now, uint64_t patience)
{
  unsigned long switches = coop_peek (&w->switches);
  if (coop_peek (&w->running) == NULL || switches != w->seen
      || w->seen_ns == 0)
    {
      w->seen = switches;
      w->seen_ns = now;
      return false;
    }
  return now - w->seen_ns >= patience;
}


static unsigned
count_stalled (uint64_t now, uint64_t patience)
{
  static uint64_t last;
  unsigned stalled = 0;

  if (now - last > STOPPED_NS)
    {
      for (unsigned i = 0; i < coop_nworkers; i++)
	coop_workers[i].seen_ns = 0;
      for (unsigned i = 0; i < coop_nspares; i++)
	coop_workers[COOP_SPARE_FIRST + i].seen_ns = 0;
    }
  last = now;
  for (unsigned i = 0; i < coop_nworkers; i++)
    stalled += is_stalled (&coop_workers[i], now, patience);
  for (unsigned i = 0; i < coop_nspares; i++)
    stalled += is_stalled (&coop_workers[COOP_SPARE_FIRST + i], now, patience);
  return stalled;
}

/* Retires spares that sleep, from the last one down.  */
static void
retire (void)
{
  unsigned keep = spares;
  while (keep > 0
	 && coop_load (&coop_workers[COOP_SPARE_FIRST + keep - 1].sleeping))
    keep--;
  if (keep != spares)
    coop_worker_spares (keep);
  spares = keep;
  calm = 0;
}

static void
add (unsigned queued, unsigned known)
{
  unsigned more = spares > known ? spares : known > 0 ? known : 1;
  if (more > queued)
    more = queued;
  if (spares + more > COOP_MAX_SPARES)
    more = COOP_MAX_SPARES - spares;
  if (more == 0)
    return;
  spares += more;
  coop_worker_spares (spares);
  coop_section_extra_workers (more);
  coop_dispatch_ready (more);
}

bool
coop_watchdog_tick (uint64_t now)
{
  unsigned section = coop_section_current ();
  unsigned known = section < COSCHED_MAX_SECTIONS ? needed[section] : 0;
  unsigned queued = coop_runq_total ();
  unsigned stalled
      = count_stalled (now, known ? PATIENCE_KNOWN_NS : PATIENCE_NS);

  if (queued == 0)
    {
      if (spares && ++calm >= CALM_TICKS)
	retire ();
      return spares > 0;
    }
  calm = 0;
  if (stalled)
    {
      add (queued, known);
      if (section < COSCHED_MAX_SECTIONS && needed[section] < spares)
	needed[section] = (uint16_t) spares;
    }
  return true;
}

void
coop_watchdog_reset (void)
{
  spares = calm = 0;
}
