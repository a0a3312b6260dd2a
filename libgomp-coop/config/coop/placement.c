/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Placement of tasks on workers (placement.h).  */

#include "placement.h"

#include <string.h>

#include "domain.h"
#include "worker.h"

/* LLC domains of which the numbers differ by this count as one.  */
#define DOMAINS 64

static unsigned
domain_of (unsigned node)
{
  return node % DOMAINS;
}

/* Task or rank N's among WORKERS that are dealt to in turn: there and back, so that
   neighbours are on neighbours where a round ends, too.  */
static unsigned
turn (unsigned n, unsigned workers)
{
  unsigned place = n % workers;

  return n / workers % 2 ? workers - 1 - place : place;
}

/* Workers that tasks may begin on; stores the number of LLC domains that have them.  */
static unsigned
count_usable (unsigned *domains)
{
  unsigned usable = 0;
  uint64_t seen = 0;

  for (unsigned i = 0; i < coop_peek (&coop_nworkers); i++)
    if (coop_may_run (&coop_workers[i]))
      {
	usable++;
	seen |= UINT64_C (1) << domain_of (coop_peek (&coop_workers[i].node));
      }
  *domains = (unsigned) __builtin_popcountll (seen);
  return usable;
}

void
coop_placement_first (struct coop_ult *u, unsigned id, unsigned size)
{
  unsigned n = coop_peek (&coop_nworkers), last = 0;
  unsigned domains, usable = count_usable (&domains);
  unsigned row = usable <= domains && size >= 2 * usable ? 2 : 1;
  /* Not more workers than there are tasks: the others are not started.  */
  if (usable > size)
    usable = size;
  unsigned wanted = usable ? turn (id / row, usable) : 0;
  for (unsigned i = 0; i < n; i++)
    if (coop_may_run (&coop_workers[i]))
      {
	last = i;
	if (wanted-- == 0)
	  break;
      }
  u->home = last;
  u->node = coop_peek (&coop_workers[last].node);
}

/* Usable workers of an LLC domain, and the tasks that begin there.  */
struct domain
{
  unsigned first, workers; /* in the array of all of them */
  unsigned room;	   /* tasks that it may have */
  unsigned tasks, placed;  /* that it has, and that have their worker */
  unsigned before;	   /* that it has of lower numbers than the one looked at */
};

/* Is W as good as others for tasks that begin?  */
static bool
is_usable (struct coop_worker *w)
{
  return w->started && coop_may_run (w) && !coop_peek (&w->lost)
	 && !coop_peek (&w->shared);
}

/* Stores the usable workers by domain; returns their number.  */
static unsigned
sort_workers (uint16_t *worker, struct domain *domain)
{
  unsigned n = coop_peek (&coop_nworkers), total = 0;
  uint16_t node[COOP_MAX_CPUS];

  for (unsigned i = 0; i < n; i++)
    {
      node[i] = is_usable (&coop_workers[i])
		    ? domain_of (coop_peek (&coop_workers[i].node))
		    : DOMAINS;
      if (node[i] < DOMAINS)
	domain[node[i]].workers++;
    }
  for (unsigned d = 0; d < DOMAINS; d++)
    {
      domain[d].first = total;
      total += domain[d].workers;
    }
  unsigned next[DOMAINS];
  for (unsigned d = 0; d < DOMAINS; d++)
    next[d] = domain[d].first;
  for (unsigned i = 0; i < n; i++)
    if (node[i] < DOMAINS)
      worker[next[node[i]]++] = i;
  return total;
}

/* The domain with room that has the fewest tasks of lower number for each worker: these
   have what work there is in a loop of few iterations.  The rooms of all domains together
   are enough for the team, so there is one.  */
static unsigned
emptiest (const struct domain *domain)
{
  unsigned best = DOMAINS;

  for (unsigned d = 0; d < DOMAINS; d++)
    if (domain[d].tasks < domain[d].room
	&& (best == DOMAINS
	    || domain[d].before * domain[best].workers
		   < domain[best].before * domain[d].workers))
      best = d;
  return best;
}

/* Chooses a domain for each task: its own, if that has room, else that of the worker
   that it has, else the emptiest.  Those of low number come first, so what has work stays
   with its data.  The place of the initial thread counts as worker 0's.  */
static void
choose_domains (struct coop_ult *const *task, unsigned size,
		struct domain *domain, unsigned char *chosen)
{
  unsigned node = coop_peek (&coop_workers[0].node);

  for (unsigned i = 0; i < size; i++)
    {
      if (task[i])
	node = coop_domain_of_task (task[i]);
      struct domain *d = &domain[domain_of (node)];
      chosen[i] = d->tasks < d->room ? domain_of (node) : DOMAINS;
      d->tasks += chosen[i] < DOMAINS;
    }
  for (unsigned i = 0; i < size; i++)
    {
      if (chosen[i] == DOMAINS)
	{
	  unsigned here
	      = domain_of (coop_workers[task[i] ? task[i]->home : 0].node);
	  chosen[i] = domain[here].tasks < domain[here].room ? here
							     : emptiest (domain);
	  domain[chosen[i]].tasks++;
	}
      domain[chosen[i]].before++;
    }
}

void
coop_placement_again (struct coop_ult *const *task, unsigned size,
		      unsigned char *scratch)
{
  struct domain domain[DOMAINS];
  uint16_t worker[COOP_MAX_CPUS];

  memset (domain, 0, sizeof domain);
  unsigned total = sort_workers (worker, domain);
  if (total == 0)
    return;
  for (unsigned d = 0; d < DOMAINS; d++)
    domain[d].room = ((uint64_t) size * domain[d].workers + total - 1) / total;
  choose_domains (task, size, domain, scratch);
  for (unsigned i = 0; i < size; i++)
    {
      struct domain *d = &domain[scratch[i]];
      unsigned rank = d->placed++;
      if (task[i])
	task[i]->home = worker[d->first + turn (rank, d->workers)];
    }
}
