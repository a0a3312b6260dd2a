/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Hints of the agent (hint.h).  */

#include "hint.h"

#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "stack.h"
#include "stray.h"

#define NO_SET 0 /* sets of homes have numbers from 1 */

unsigned coop_hint_known;
int coop_hint_stale;

/* Of the monitor alone.  */
static struct cosched_home *homes;
static unsigned home_count;

static unsigned char set_of[COSCHED_MAX_REGIONS]; /* NO_SET: see set_of_any */
static unsigned char set_of_any;
static unsigned chosen; /* set of the last region that has one */

/* A task, by where its stack ends.  */
struct top
{
  uintptr_t address;
  struct coop_ult *ult;
};

/* The tasks that there are, while they are on the list of stacks.  */
struct tops
{
  struct top *top; /* [count] by address */
  unsigned count, room;
};

static void
see (struct coop_ult *u, void *arg)
{
  struct tops *t = arg;
  uintptr_t end = (uintptr_t) (u->stack ? u->stack + u->stack_size
					: u->stack_top);
  for (int set = 0; set < COOP_HINT_SETS; set++)
    __atomic_store_n (&u->home_in[set], 0, __ATOMIC_RELAXED);
  if (t->count < t->room && end)
    t->top[t->count++] = (struct top) { end, u };
}

static int
compare (const void *a, const void *b)
{
  const struct top *x = a, *y = b;
  return (x->address > y->address) - (x->address < y->address);
}

/* The task with ADDRESS in its stack, or NULL.  */
static struct coop_ult *
task_at (const struct tops *t, uint64_t address)
{
  unsigned low = 0, high = t->count;
  while (low < high)
    {
      unsigned middle = (low + high) / 2;
      if (t->top[middle].address > address)
	high = middle;
      else
	low = middle + 1;
    }
  if (low == t->count
      || t->top[low].address - address > t->top[low].ult->stack_size)
    return NULL;
  return t->top[low].ult;
}

/* The number of REGION's set, which it gets if there is one; else NO_SET.  */
static unsigned
set_for (unsigned region, unsigned *sets)
{
  unsigned char *set
      = region == COSCHED_HOME_ANY ? &set_of_any : &set_of[region];
  if (*set == NO_SET && *sets < COOP_HINT_SETS)
    __atomic_store_n (set, (unsigned char) ++*sets, __ATOMIC_RELAXED);
  return *set;
}

static void
forget_sets (void)
{
  memset (set_of, NO_SET, sizeof set_of);
  set_of_any = NO_SET;
  __atomic_store_n (&chosen, NO_SET, __ATOMIC_RELAXED);
}

static bool
are_equal (const struct tops *t, unsigned a, unsigned b)
{
  for (unsigned i = 0; i < t->count; i++)
    if (t->top[i].ult->home_in[a - 1] != t->top[i].ult->home_in[b - 1])
      return false;
  return true;
}

/* Of sets that are equal the first stands for all: from one to the other no task
   moves.  Returns how many of SETS are left.  */
static unsigned
join_equal (const struct tops *t, unsigned sets)
{
  unsigned char first[COOP_HINT_SETS + 1] = { NO_SET };
  unsigned different = 0;

  for (unsigned set = 1; set <= sets; set++)
    {
      first[set] = 1;
      while (!are_equal (t, first[set], set))
	first[set]++;
      different += first[set] == set;
    }
  for (unsigned i = 0; i < COSCHED_MAX_REGIONS; i++)
    __atomic_store_n (&set_of[i], first[set_of[i]], __ATOMIC_RELAXED);
  __atomic_store_n (&set_of_any, first[set_of_any], __ATOMIC_RELAXED);
  return different;
}

/* Notes in the tasks what HOMES say; returns how many different sets there are.
   With the lock of stacks.  */
static unsigned
note (struct tops *t)
{
  unsigned sets = 0;

  coop_stack_visit (see, t);
  qsort (t->top, t->count, sizeof *t->top, compare);
  forget_sets ();
  for (unsigned i = 0; i < home_count; i++)
    {
      const struct cosched_home *h = &homes[i];
      struct coop_ult *u = task_at (t, h->stack);
      if (h->region >= COSCHED_MAX_REGIONS && h->region != COSCHED_HOME_ANY)
	continue;
      unsigned set = set_for (h->region, &sets);
      if (u && set != NO_SET && h->domain < COSCHED_MAX_CPUS)
	__atomic_store_n (&u->home_in[set - 1], h->domain + 1,
			  __ATOMIC_RELAXED);
    }
  return join_equal (t, sets);
}

static void
find_tasks (void)
{
  struct tops t = { .room = COSCHED_MAX_HOMES };

  __atomic_store_n (&coop_hint_stale, 0, __ATOMIC_RELAXED);
  t.top = malloc (t.room * sizeof *t.top);
  if (!t.top)
    return;
  coop_stack_lock ();
  unsigned sets = note (&t);
  coop_stack_unlock ();
  free (t.top);
  __atomic_store_n (&coop_hint_known, sets, __ATOMIC_RELAXED);
}

void
coop_hint_take (const struct cosched_homes *from, const uint32_t *generation,
		uint32_t now)
{
  if (!from || from->magic != COSCHED_HOMES_MAGIC
      || from->version != COSCHED_LAYOUT_VERSION || from->size != sizeof *from)
    return;
  unsigned count = coop_peek (&from->count);
  if (count > COSCHED_MAX_HOMES)
    return;
  struct cosched_home *copy = malloc ((count ? count : 1) * sizeof *copy);
  if (!copy)
    return;
  memcpy (copy, from->home, count * sizeof *copy);
  __atomic_thread_fence (__ATOMIC_ACQUIRE);
  if (coop_peek (generation) != now)
    {
      free (copy); /* there will be another look */
      return;
    }
  bool same = homes && count == home_count
	      && !memcmp (copy, homes, count * sizeof *copy);
  free (homes);
  homes = copy;
  home_count = count;
  if (!same)
    find_tasks ();
}

void
coop_hint_tick (void)
{
  if (coop_peek (&coop_hint_known) && coop_peek (&coop_hint_stale))
    find_tasks ();
}

void
coop_hint_choose (unsigned index)
{
  unsigned set = index < COSCHED_MAX_REGIONS ? coop_peek (&set_of[index])
					     : NO_SET;
  if (set == NO_SET)
    set = coop_peek (&set_of_any);
  if (set == NO_SET || set == coop_peek (&chosen))
    return; /* tasks stay in the homes that they have */
  __atomic_store_n (&chosen, set, __ATOMIC_RELAXED);
  coop_stray_note ();
}

void
coop_hint_apply (struct coop_ult *const *task, unsigned count)
{
  unsigned set = coop_peek (&chosen);

  for (unsigned i = 0; set != NO_SET && i < count; i++)
    if (task[i] && coop_peek (&task[i]->home_in[set - 1]))
      {
	task[i]->node = coop_peek (&task[i]->home_in[set - 1]) - 1u;
	if (task[i]->settled)
	  task[i]->settled = COOP_DOMAINS_AGENT;
      }
}

void
coop_hint_reset (void)
{
  homes = NULL; /* not freed: the monitor may have been at it */
  home_count = 0;
  coop_hint_known = coop_hint_stale = 0;
  forget_sets ();
}
