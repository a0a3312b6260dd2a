/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Tasks that have strayed (stray.h).  */

#include "stray.h"

#include <stdlib.h>

#include "libgomp.h"

#include "dispatch.h"
#include "placement.h"
#include "runq.h"

/* They are placed anew so often, and not before PLACE_SHARE times as long has passed
   as it took: each task is some cache lines of other CPUs.  */
#define PLACE_NS 500000
#define PLACE_SHARE 64

int coop_strayed;

static uint64_t place_ns; /* when next, at the earliest */

bool
coop_stray_are_due (void)
{
  if (!coop_peek (&coop_strayed) || coop_now_ns () < coop_peek (&place_ns))
    return false;
  __atomic_store_n (&coop_strayed, 0, __ATOMIC_RELAXED);
  return true;
}

/* Stores in TASK, by its number in a team of SIZE, each task of BATCH; there are
   COUNT places.  */
static void
sort_by_number (struct coop_ult *batch, unsigned size, struct coop_ult **task,
		unsigned count)
{
  for (; batch; batch = batch->batch_next)
    {
      struct coop_ult *u = batch;
      for (unsigned left = batch->batch_count; left > 0; left--, u = u->next)
	{
	  unsigned i = u->thread->ts.team_id % size;
	  while (task[i])
	    i = (i + 1) % count;
	  task[i] = u;
	}
    }
}

/* Hands out the COUNT places of TASK, some of which are empty, neighbours that
   begin on the same worker together; returns how many are for others.  */
static unsigned
hand_out (struct coop_ult *const *task, unsigned count)
{
  unsigned others = 0, chained = 0;
  struct coop_ult *head = NULL, *tail = NULL;

  for (unsigned i = 0; i <= count; i++)
    {
      struct coop_ult *u = i < count ? task[i] : NULL;
      if (!u && i < count)
	continue;
      if (u && head && u->home == head->home)
	{
	  tail->next = u;
	  chained++;
	}
      else
	{
	  if (head)
	    others += coop_dispatch_hand (&coop_workers[head->home], head,
					  tail, chained);
	  head = u;
	  chained = 1;
	}
      tail = u;
      if (u)
	u->next = NULL;
    }
  return others;
}

bool
coop_stray_hand_out (struct coop_ult *batch, unsigned size)
{
  uint64_t begin_ns = coop_now_ns ();
  unsigned count = 0;
  for (struct coop_ult *u = batch; u; u = u->batch_next)
    count += u->batch_count;
  if (count < size)
    count = size;
  struct coop_ult **task = calloc (count, sizeof *task + 1);
  if (!task)
    return false;
  sort_by_number (batch, size, task, count);
  coop_placement_again (task, count, (unsigned char *) (task + count));
  coop_runq_hand_out (1);
  unsigned others = hand_out (task, count);
  coop_runq_hand_out (-1);
  free (task);
  uint64_t now = coop_now_ns (), pause = (now - begin_ns) * PLACE_SHARE;
  __atomic_store_n (&place_ns, now + (pause < PLACE_NS ? PLACE_NS : pause),
		    __ATOMIC_RELAXED);
  if (others)
    coop_dispatch_ready (others);
  return true;
}
