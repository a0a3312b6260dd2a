/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops of libgomp that are handed out by dynloop.h (looprun.h).  */

#include "looprun.h"

#include <stdlib.h>
#include <string.h>

#include "../kmp/kmp_dispatch.h"
#include "dispatch.h"
#include "worker.h"

static struct dynloop_clock clocks[COOP_MAX_WORKERS];

#define NODES_AGE 64 /* loops until `nodes' is looked at again */

static int nodes_lock;
static unsigned nodes_at;  /* count of changes that `nodes' is of, */
static unsigned nodes_age; /* for so many loops */
static struct dynloop_nodes nodes;

/* Ranges are the LLC domains of workers that have a CPU.  */
static void
look_at_workers (void)
{
  unsigned n = coop_peek (&coop_nworkers);

  memset (&nodes, 0, sizeof nodes);
  memset (nodes.range_of, DYNLOOP_RANGES, sizeof nodes.range_of);
  for (unsigned i = 0; i < n; i++)
    if (coop_may_run (&coop_workers[i]))
      {
	uint8_t *range
	    = &nodes.range_of[coop_workers[i].node % DYNLOOP_RANGES];
	if (*range == DYNLOOP_RANGES)
	  *range = (uint8_t) nodes.ranges++;
	nodes.workers[*range]++;
	nodes.total++;
      }
  if (nodes.total == 0)
    nodes.workers[0] = nodes.total = nodes.ranges = 1;
  /* A node that gets its first worker later begins with another's range.  */
  for (unsigned i = 0; i < DYNLOOP_RANGES; i++)
    if (nodes.range_of[i] == DYNLOOP_RANGES)
      nodes.range_of[i] = (uint8_t) (i % nodes.ranges);
}

/* An assignment that was just being made is seen whole a few loops later.  */
static void
look_if_changed (void)
{
  unsigned changes = coop_peek (&coop_worker_changes);
  if (nodes_at == changes && nodes_age++ < NODES_AGE && nodes.total)
    return;
  look_at_workers ();
  nodes_at = changes;
  nodes_age = 0;
}

void
coop_loop_prepare (struct gomp_work_share *ws, bool ull,
		   struct dynloop_request *q)
{
  struct dynloop_nodes here;
  const void *site = kmp_dispatch_site ();

  if (site)
    q->site = site;
  if (ull)
    {
      q->first = ws->next_ull;
      q->stop = ws->end_ull;
      q->incr = ws->incr_ull;
      q->down = (ws->mode & 2) != 0;
    }
  else
    {
      q->first = (uint64_t) ws->next;
      q->stop = (uint64_t) ws->end;
      q->incr = (uint64_t) ws->incr;
      q->down = ws->incr < 0;
    }
  if (!dynloop_possible (q))
    return;

  coop_lock (&nodes_lock);
  look_if_changed ();
  here = nodes;
  coop_unlock (&nodes_lock);
  void *block = malloc (dynloop_bytes (&here));
  if (!block)
    return;
  dynloop_begin (dynloop_in (block), q, &here);
  ws->ordered_team_ids = block;
  ws->mode = (ull ? ws->mode : 0) | COOP_LOOP_MODE;
  ws->sched = GFS_DYNAMIC;
}

bool
coop_loop_claim (uint64_t *start, uint64_t *end)
{
  struct gomp_work_share *ws = gomp_thread ()->ts.work_share;
  struct coop_worker *w = coop_tls_worker ();
  struct dynloop_claimant who = { NULL, coop_tls_ult (), false, 0 };

  if (__builtin_expect (w != NULL, 1))
    {
      struct coop_worker *before = w;
      unsigned long switches = coop_peek (&w->switches);
      who.alone = clocks[w->index].switches == switches;
      coop_dispatch_point (); /* counts as one switch */
      w = coop_tls_worker ();
      who.clock = &clocks[w->index];
      if (w != before || coop_peek (&w->switches) != switches + 1)
	who.alone = false;
      who.clock->switches = coop_peek (&w->switches);
      who.node = coop_peek (&w->node);
    }
  return dynloop_claim (dynloop_in (ws->ordered_team_ids), &who, coop_now_ns,
			start, end);
}
