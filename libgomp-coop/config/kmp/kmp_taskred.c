/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Taskgroups and their reductions.

   copies (struct copies)
     For each variable that tasks of a group reduce, one copy for each thread
     of the team, made when the thread first asks for it.  The end of the group
     combines them.

   reduction (struct reduction)
     What a taskgroup knows of them: which variables they are for.  It hangs
     where libgomp keeps the same for tasks of GCC, in the same list from inner
     to outer groups, and looks to libgomp like an entry without variables.

   With the task modifier, the construct begins a group in each thread, whose
   tasks reduce to the thread's own variable; the groups share the copies, and
   the one that ends last combines them, to its thread's variable.  */

#include "kmp_task.h"

#include <stdlib.h>
#include <string.h>

ialias_redirect (GOMP_taskgroup_start)
ialias_redirect (GOMP_taskgroup_end)

/* kmp_task_red_input_t and kmp_taskred_input_t, whose initializer also gets
   the address of the variable.  */
struct input
{
  void *shared;
  size_t size;
  void (*initialize) (void *);
  void (*finalize) (void *);
  void (*combine) (void *, void *);
  unsigned flags;
};

struct input_with_original
{
  void *shared;
  void *original;
  size_t size;
  void (*initialize) (void *, void *);
  void (*finalize) (void *);
  void (*combine) (void *, void *);
  unsigned flags;
};

/* The addresses of the copies are found in PRIVATE, by thread.  */
struct item
{
  size_t size;
  void *original; /* for the initializer, unless it takes none */
  void (*initialize) (void *);
  void (*initialize_with) (void *, void *);
  void (*finalize) (void *);
  void (*combine) (void *, void *);
  void **private;
};

struct copies
{
  unsigned threads, count;
  unsigned groups, begun, ended; /* groups that share them */
  struct gomp_team *team;
  int worksharing;
  struct copies *next; /* in the list of those that groups still join */
  struct item items[];
};

/* See GOMP_taskgroup_reduction_register.  */
enum
{
  GOMP_SIZE = 1,
  GOMP_MARK = 3, /* an allocator, at libgomp's */
  GOMP_OUTER,
  GOMP_TABLE,
  GOMP_WORDS = 7
};

struct reduction
{
  uintptr_t gomp[GOMP_WORDS];
  struct copies *copies;
  void *shared[];
};

static const char mark;

/* Null if DATA is one of libgomp's.  */
static struct reduction *
ours (uintptr_t *data)
{
  return data && data[GOMP_MARK] == (uintptr_t) &mark
	     ? (struct reduction *) data
	     : NULL;
}

/* The innermost taskgroup, or NULL.  */
static struct gomp_taskgroup *
taskgroup (void)
{
  struct gomp_task *task = gomp_thread ()->task;
  return task ? task->taskgroup : NULL;
}

/* ---- Beginning.  ---- */

static void
get_item (struct item *item, void **shared, const void *data, unsigned i,
	  bool with_original)
{
  if (with_original)
    {
      const struct input_with_original *in = data;
      in += i;
      *shared = in->shared;
      item->size = in->size;
      item->original = in->original ? in->original : in->shared;
      item->initialize_with = in->initialize;
      item->finalize = in->finalize;
      item->combine = in->combine;
    }
  else
    {
      const struct input *in = data;
      in += i;
      *shared = in->shared;
      item->size = in->size;
      item->initialize = in->initialize;
      item->finalize = in->finalize;
      item->combine = in->combine;
    }
}

static struct copies *
copies_new (unsigned groups, unsigned count, const void *data,
	    bool with_original)
{
  struct copies *c
      = gomp_malloc_cleared (sizeof *c + count * sizeof *c->items);
  void *ignored;

  c->team = gomp_thread ()->ts.team;
  c->threads = c->team->nthreads;
  c->count = count;
  c->groups = groups;
  for (unsigned i = 0; i < count; i++)
    {
      get_item (&c->items[i], &ignored, data, i, with_original);
      c->items[i].private = gomp_malloc_cleared (c->threads * sizeof (void *));
    }
  return c;
}

/* Begins a reduction in the innermost taskgroup.  */
static struct reduction *
reduction_new (struct copies *copies, const void *data, bool with_original)
{
  struct gomp_taskgroup *group = taskgroup ();
  struct reduction *r = gomp_malloc_cleared (
      sizeof *r + copies->count * sizeof *r->shared);
  uintptr_t *outer = group->reductions;
  struct item ignored;

  r->gomp[GOMP_SIZE] = 1;
  r->gomp[GOMP_MARK] = (uintptr_t) &mark;
  r->gomp[GOMP_OUTER] = (uintptr_t) outer;
  r->gomp[GOMP_TABLE] = outer ? outer[GOMP_TABLE] : 0;
  r->copies = copies;
  for (unsigned i = 0; i < copies->count; i++)
    get_item (&ignored, &r->shared[i], data, i, with_original);
  group->reductions = r->gomp;
  return r;
}

/* One thread needs no copies.  */
static void *
reduction_init (kmp_int32 count, const void *data, bool with_original)
{
  if (kmp_team_size () == 1 || !taskgroup ())
    return NULL;
  return reduction_new (copies_new (1, (unsigned) count, data, with_original),
			data, with_original);
}

void *
__kmpc_task_reduction_init (int gtid, int count, void *data)
{
  (void) gtid;
  return reduction_init (count, data, false);
}

void *
__kmpc_taskred_init (int gtid, int count, void *data)
{
  (void) gtid;
  return reduction_init (count, data, true);
}

/* ---- The task modifier.  ---- */

static gomp_mutex_t joining_lock; /* zero is unlocked */
static struct copies *joining;

/* Those of the construct that the team has begun; each thread joins once, and
   a barrier follows before the next such construct.  */
static struct copies *
join (int worksharing, unsigned count, const void *data, bool with_original)
{
  struct gomp_team *team = gomp_thread ()->ts.team;
  struct copies **link = &joining, *c;

  gomp_mutex_lock (&joining_lock);
  while ((c = *link) && (c->team != team || c->worksharing != worksharing))
    link = &c->next;
  if (!c)
    {
      c = copies_new (team->nthreads, count, data, with_original);
      c->worksharing = worksharing;
      *link = c;
    }
  if (++c->begun == c->groups)
    *link = c->next;
  gomp_mutex_unlock (&joining_lock);
  return c;
}

static void *
modifier_init (int worksharing, int count, const void *data,
	       bool with_original)
{
  GOMP_taskgroup_start ();
  if (kmp_team_size () == 1 || !taskgroup ())
    return NULL;
  return reduction_new (
      join (worksharing, (unsigned) count, data, with_original), data,
      with_original);
}

void *
__kmpc_task_reduction_modifier_init (ident_t *loc, int gtid, int worksharing,
				     int count, void *data)
{
  (void) loc, (void) gtid;
  return modifier_init (worksharing, count, data, false);
}

void *
__kmpc_taskred_modifier_init (ident_t *loc, int gtid, int worksharing,
			      int count, void *data)
{
  (void) loc, (void) gtid;
  return modifier_init (worksharing, count, data, true);
}

void
__kmpc_task_reduction_modifier_fini (ident_t *loc, int gtid, int worksharing)
{
  (void) worksharing;
  __kmpc_end_taskgroup (loc, gtid);
}

/* ---- Copies.  ---- */

static void *
copy_of (struct item *item, unsigned thread)
{
  void *copy = item->private[thread];

  if (copy)
    return copy;
  copy = gomp_aligned_alloc (COOP_LINE,
			     (item->size + COOP_LINE - 1)
				 & ~(size_t) (COOP_LINE - 1));
  memset (copy, 0, item->size);
  if (item->initialize_with)
    item->initialize_with (copy, item->original);
  else if (item->initialize)
    item->initialize (copy);
  __atomic_store_n (&item->private[thread], copy, MEMMODEL_RELEASE);
  return copy;
}

/* Whether ADDRESS is in a copy of ITEM, which a task may hand to others.  */
static bool
is_copy (struct item *item, unsigned threads, void *address)
{
  for (unsigned i = 0; i < threads; i++)
    {
      char *copy = __atomic_load_n (&item->private[i], MEMMODEL_ACQUIRE);
      if (copy && (char *) address >= copy
	  && (char *) address < copy + item->size)
	return true;
    }
  return false;
}

/* The copy of the current thread of what is at ADDRESS, in GROUP, which is
   what the beginning of the reduction has returned, or NULL.  */
void *
__kmpc_task_reduction_get_th_data (int gtid, void *group, void *address)
{
  unsigned thread = gomp_thread ()->ts.team_id;
  uintptr_t *data = group;
  struct reduction *r;

  (void) gtid;
  if (kmp_team_size () == 1)
    return address;
  if (!data && taskgroup ())
    data = taskgroup ()->reductions;
  for (; data; data = (uintptr_t *) data[GOMP_OUTER])
    if ((r = ours (data)))
      for (unsigned i = 0; i < r->copies->count; i++)
	{
	  struct item *item = &r->copies->items[i];
	  if (address == r->shared[i]
	      || is_copy (item, r->copies->threads, address))
	    return copy_of (item, thread);
	}
  gomp_fatal ("couldn't find matching task_reduction or reduction with "
	      "task modifier for %p", address);
}

/* ---- Ending.  ---- */

static void
combine (struct reduction *r)
{
  struct copies *c = r->copies;

  for (unsigned i = 0; i < c->count; i++)
    {
      struct item *item = &c->items[i];
      for (unsigned thread = 0; thread < c->threads; thread++)
	{
	  void *copy = item->private[thread];
	  if (!copy)
	    continue;
	  item->combine (r->shared[i], copy);
	  if (item->finalize)
	    item->finalize (copy);
	  gomp_aligned_free (copy);
	}
      free (item->private);
    }
  free (c);
}

void
__kmpc_taskgroup (ident_t *loc, int gtid)
{
  (void) loc, (void) gtid;
  GOMP_taskgroup_start ();
}

void
__kmpc_end_taskgroup (ident_t *loc, int gtid)
{
  struct gomp_team *team = gomp_thread ()->ts.team;
  struct gomp_taskgroup *group = taskgroup ();
  struct reduction *r = NULL;

  (void) loc, (void) gtid;
  if (group)
    r = ours (group->reductions);
  /* Inner groups inherit it.  */
  if (r && group->prev && group->prev->reductions == group->reductions)
    r = NULL;
  /* It began in serial code, which has got a team since (coop_task_team).  */
  if (team && !group)
    gomp_team_barrier_wait (&team->barrier);
  else
    GOMP_taskgroup_end ();
  if (!r)
    return;
  if (__atomic_add_fetch (&r->copies->ended, 1, MEMMODEL_ACQ_REL)
      == r->copies->groups)
    combine (r);
  free (r);
}
