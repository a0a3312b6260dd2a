/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The taskloop construct: compiled code makes one task for the whole loop, the
   pattern, of which each task for a part is a copy.  */

#include "kmp_task.h"

/* Makes the private variables of the task TO, a copy of FROM; LAST: it has the
   last iteration.  */
typedef void (*duplicate) (struct kmp_task *to, struct kmp_task *from,
			   kmp_int32 last);

/* What libomp takes if the program does not say how many tasks there are.  */
#define TASKS_PER_THREAD 10

struct taskloop
{
  struct kmp_task *pattern;
  size_t lower, upper; /* offsets of the inclusive bounds in the task */
  kmp_uint64 first, last, step;
  duplicate duplicate;
  bool now; /* undeferred */
  kmp_uint64 trips;
  kmp_uint64 tasks, size; /* iterations of each task, */
  kmp_uint64 longer;	  /* and one more of so many first ones */
};

static kmp_uint64 *
bound (struct kmp_task *task, size_t offset)
{
  return (kmp_uint64 *) ((char *) task + offset);
}

static kmp_uint64
count_trips (const struct taskloop *l)
{
  if ((kmp_int64) l->step < 0)
    return (l->first - l->last) / -l->step + 1;
  return (l->last - l->first) / (l->step ? l->step : 1) + 1;
}

/* The last task gets what is left, if the size is STRICT.  */
static void
divide (struct taskloop *l, kmp_int32 schedule, kmp_uint64 value, bool strict)
{
  bool is_size = schedule == 1;

  if (schedule == 0)
    value = (kmp_uint64) kmp_team_size () * TASKS_PER_THREAD;
  if (value == 0)
    value = 1;
  if (value > l->trips)
    value = l->trips;
  l->tasks = is_size ? l->trips / value : value;
  if (is_size && strict)
    {
      l->tasks += l->trips % value != 0;
      l->size = value;
      l->longer = 0;
    }
  else
    {
      l->size = l->trips / l->tasks;
      l->longer = l->trips % l->tasks;
    }
}

static void
create_tasks (const struct taskloop *l)
{
  kmp_uint64 lower = l->first, left = l->trips;

  for (kmp_uint64 i = 0; i < l->tasks; i++)
    {
      kmp_uint64 size = l->size + (i < l->longer);
      struct kmp_task *task = kmp_task_copy (l->pattern);

      if (size > left)
	size = left;
      left -= size;
      *bound (task, l->lower) = lower;
      *bound (task, l->upper) = lower + (size - 1) * l->step;
      lower += size * l->step;
      if (l->duplicate)
	l->duplicate (task, l->pattern, left == 0);
      kmp_task_submit (task, NULL, l->now);
    }
}

void
__kmpc_taskloop_5 (ident_t *loc, kmp_int32 gtid, struct kmp_task *task,
		   kmp_int32 if_value, kmp_uint64 *lower, kmp_uint64 *upper,
		   kmp_int64 step, kmp_int32 nogroup, kmp_int32 schedule,
		   kmp_uint64 value, kmp_int32 modifier, void *task_duplicate)
{
  struct taskloop l = { .pattern = task,
			.lower = (size_t) ((char *) lower - (char *) task),
			.upper = (size_t) ((char *) upper - (char *) task),
			.first = *lower,
			.last = *upper,
			.step = (kmp_uint64) step,
			.duplicate = (duplicate) task_duplicate,
			.now = !if_value };

  (void) loc, (void) gtid;
  if (!nogroup)
    __kmpc_taskgroup (loc, gtid);
  l.trips = count_trips (&l);
  if (l.trips)
    {
      divide (&l, schedule, value, modifier != 0);
      create_tasks (&l);
    }
  kmp_task_discard (task);
  if (!nogroup)
    __kmpc_end_taskgroup (loc, gtid);
}

void
__kmpc_taskloop (ident_t *loc, kmp_int32 gtid, struct kmp_task *task,
		 kmp_int32 if_value, kmp_uint64 *lower, kmp_uint64 *upper,
		 kmp_int64 step, kmp_int32 nogroup, kmp_int32 schedule,
		 kmp_uint64 value, void *task_duplicate)
{
  __kmpc_taskloop_5 (loc, gtid, task, if_value, lower, upper, step, nogroup,
		     schedule, value, 0, task_duplicate);
}
