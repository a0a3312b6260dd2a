/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Interleaved pages follow the CPUs (near.h).  */

#include "coop.h"
#include "near.h"

#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpuset.h"
#include "domain.h"
#include "pages.h"
#include "protocol/near_share.h"
#include "settings.h"

#define LOOK_NS 100000000ull
#define WORD_BITS (8 * sizeof (unsigned long))
#define GROWN 1.1 /* so many times as much memory is not where the rest is */
#define STATM "/proc/self/statm"
#define POLICIES "/proc/self/numa_maps"

/* All the monitor's, but for what is set once, as the program is loaded.  */
static struct
{
  struct coop_nodes nodes; /* of the policy; fewer than two: there is none */
  uint16_t node_of[COSCHED_MAX_CPUS];
  double cpus[COOP_PAGES_NODES]; /* parts of the CPUs, */
  double mean[COOP_PAGES_NODES]; /* the same in the mean of the last second */
  double at[COOP_PAGES_NODES];   /* parts of the pages */
  double goal[COOP_PAGES_NODES]; /* and where they go, if they are moved */
  unsigned count;		 /* CPUs */
  uint64_t look_ns;		 /* the last look; 0: none */
  uint64_t begun_ns;		 /* of the last move */
  unsigned long resident; /* pages then */
  bool moving;
  bool refused; /* it cannot be done, or is not wanted any more: once is enough */
} near;

/* ---- Whose pages.  ---- */

/* The policy's nodes; false: it is none that interleaves on several of those that we know.  */
static bool
find_nodes (struct coop_nodes *nodes)
{
  int mode;

  memset (nodes, 0, sizeof *nodes);
  if (syscall (SYS_get_mempolicy, &mode, nodes->mask, 8 * sizeof nodes->mask, NULL, 0)
      || (mode & ~MPOL_F_RELATIVE_NODES) != MPOL_INTERLEAVE)
    return false;
  for (unsigned n = 0; n < 8 * sizeof nodes->mask; n++)
    if (nodes->mask[n / WORD_BITS] >> n % WORD_BITS & 1)
      {
	if (nodes->count == COOP_PAGES_NODES)
	  return false;
	nodes->number[nodes->count++] = (uint16_t) n;
      }
  return nodes->count > 1;
}

void
coop_near_begin (void)
{
  if (!find_nodes (&near.nodes) || !coop_domain_read_nodes (COOP_DOMAIN_NODES, near.node_of))
    near.nodes.count = 0;
  for (unsigned k = 0; k < near.nodes.count; k++)
    near.at[k] = near.mean[k] = 1. / near.nodes.count;
}

bool
coop_near_is_possible (void)
{
  return near.nodes.count > 0;
}

void
coop_near_reset (void)
{
  near.moving = false;
  near.look_ns = 0;
  coop_pages_reset ();
}

/* ---- When, and where to.  ---- */

void
coop_near_follow (const struct cosched_cpuset *cpus)
{
  struct coop_nodes *n = &near.nodes;

  if (!coop_near_is_possible ())
    return;
  unsigned here[COOP_PAGES_NODES] = { 0 }, all = 0;
  for (int cpu = 0; cpu < COSCHED_MAX_CPUS; cpu++)
    for (unsigned k = 0; k < n->count && cpuset_has (cpus, cpu); k++)
      if (n->number[k] == near.node_of[cpu])
	{
	  here[k]++;
	  all++;
	}
  near.count = cpuset_count (cpus);
  for (unsigned k = 0; k < n->count && all; k++)
    near.cpus[k] = (double) here[k] / all;
  if (!all) /* all CPUs are on nodes that are not the policy's: none is near */
    memcpy (near.cpus, near.at, sizeof near.cpus);
}

/* Resident pages of the process, 0 if that cannot be read.  */
static unsigned long
resident (void)
{
  char text[128], *end;

  coop_read_text (STATM, text, sizeof text);
  strtoul (text, &end, 10);
  return strtoul (end, NULL, 10);
}

/* Has the initial thread still the policy that it began with?  The first mapping is the program's
   code, which has none of its own.  So little is read that the kernel looks at no other.  */
static bool
is_still_interleaved (void)
{
  char text[64];

  coop_read_text (POLICIES, text, sizeof text);
  return strstr (text, " interleave:") != NULL;
}

/* What has been touched since the last move lies on all nodes.  */
static void
add_growth (void)
{
  unsigned long now = resident ();

  if (now <= GROWN * near.resident)
    return;
  double old = (double) near.resident / now;
  for (unsigned k = 0; k < near.nodes.count; k++)
    near.at[k] = old * near.at[k] + (1 - old) / near.nodes.count;
  near.resident = now;
}

/* The threads have done what they could: what did not move will not do so now, either.  */
static void
note_end (uint64_t now)
{
  double done = coop_pages_done ();

  near.moving = false;
  for (unsigned k = 0; k < near.nodes.count; k++)
    near.at[k] += done * (near.goal[k] - near.at[k]);
  coop_say ("interleaved pages moved to where its CPUs are, %.0f %% of them in %lu ms",
	    100 * done, (unsigned long) ((now - near.begun_ns) / 1000000));
}

static void
begin (uint64_t now)
{
  unsigned threads = (near.count + COSCHED_NEAR_CPUS - 1) / COSCHED_NEAR_CPUS;

  near.begun_ns = now;
  near.moving = is_still_interleaved ()
		&& coop_pages_move (&near.nodes, near.goal, threads);
  near.refused = !near.moving;
}

/* Where pages should be, as the allotment SAID, into near.goal; false: they are there or on their
   way, nearly.  On their way elsewhere they are stopped first.  */
static bool
find_goal (uint32_t said)
{
  const unsigned n = near.nodes.count;
  double goal[COOP_PAGES_NODES];

  cosched_near_goal (near.mean, n, said, goal);
  if (cosched_near_off (near.moving ? near.goal : near.at, goal, n) <= COSCHED_NEAR_OFF)
    return false;
  if (near.moving)
    {
      coop_pages_stop ();
      return false;
    }
  memcpy (near.goal, goal, n * sizeof *goal);
  return true;
}

void
coop_near_tick (uint32_t said, uint64_t now)
{
  if (!coop_near_is_possible () || now - near.look_ns < LOOK_NS)
    return;
  double seconds = near.look_ns ? (now - near.look_ns) * 1e-9 : 0;
  near.look_ns = now;
  cosched_near_average (near.mean, near.cpus, near.nodes.count, seconds);
  if (near.moving && !coop_pages_moving ())
    note_end (now);
  if (coop_settings.test & COOP_TEST_NEAR)
    said = 1 + COSCHED_NEAR_WHOLE;
  if (near.refused || !said || said > COSCHED_NEAR_WHOLE + 1)
    return;
  if (!near.moving)
    add_growth ();
  if (find_goal (said))
    begin (now);
}
