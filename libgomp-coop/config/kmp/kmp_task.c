/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Explicit tasks (kmp_task.h).  */

#include "coop.h" /* first, for secure_getenv */

#include "kmp_task.h"

#include <stdlib.h>
#include <string.h>

#include "blocking.h"
#include "task.h"

ialias_redirect (omp_fulfill_event)

/* ---- Events.  ---- */

enum
{
  EVENT_NEW,	   /* the task has not been submitted */
  EVENT_SUBMITTED, /* libgomp waits for it */
  EVENT_FULFILLED,
  EVENT_DEAD /* nobody waits for it */
};

struct kmp_event
{
  const void *mark;	  /* tells it from a gomp_task, GCC's event */
  struct gomp_task *gomp; /* once submitted */
  int state;
  int uses; /* by the task and by who will fulfil it */
};

/* There has been one.  */
static bool events;

static const char event_mark;

static struct kmp_event *
event_of (struct kmp_block *b)
{
  if (!b->event)
    {
      b->event = gomp_malloc_cleared (sizeof *b->event);
      b->event->mark = &event_mark;
      b->event->uses = 2;
      __atomic_store_n (&events, true, MEMMODEL_RELAXED);
    }
  return b->event;
}

static void
event_release (struct kmp_event *event)
{
  if (__atomic_sub_fetch (&event->uses, 1, MEMMODEL_ACQ_REL) == 0)
    free (event);
}

/* Tells libgomp, if it waits.  */
static void
event_end (struct kmp_event *event, int state)
{
  int before = __atomic_exchange_n (&event->state, state, MEMMODEL_ACQ_REL);

  if (before == state)
    gomp_fatal ("omp_fulfill_event: %p event already fulfilled", event);
  if (before == EVENT_SUBMITTED)
    omp_fulfill_event ((omp_event_handle_t) (uintptr_t) event->gomp);
  event_release (event);
}

/* The task of EVENT is in the hands of libgomp.  */
static void
event_submit (struct kmp_event *event, struct gomp_task *gomp)
{
  int state = EVENT_NEW;

  event->gomp = gomp;
  if (!__atomic_compare_exchange_n (&event->state, &state, EVENT_SUBMITTED,
				    false, MEMMODEL_ACQ_REL, MEMMODEL_ACQUIRE))
    omp_fulfill_event ((omp_event_handle_t) (uintptr_t) gomp);
}

struct kmp_event *
__kmpc_task_allow_completion_event (ident_t *loc, kmp_int32 gtid,
				    struct kmp_task *task)
{
  (void) loc, (void) gtid;
  return event_of (kmp_block (task));
}

/* What libomp's programs call omp_fulfill_event.  */
__asm__ (".symver kmpv_omp_fulfill_event, omp_fulfill_event@VERSION");
__asm__ (".symver kmpv_omp_fulfill_event_, omp_fulfill_event_@VERSION");

void
kmpv_omp_fulfill_event (omp_event_handle_t handle)
{
  struct kmp_event *event = (struct kmp_event *) (uintptr_t) handle;

  if (event->mark == &event_mark)
    event_end (event, EVENT_FULFILLED);
  else
    omp_fulfill_event (handle);
}

/* The same for Fortran.  */
void
kmpv_omp_fulfill_event_ (intptr_t handle)
{
  kmpv_omp_fulfill_event ((omp_event_handle_t) handle);
}

/* ---- Blocks.  ---- */

/* What compiled code may expect of a kmp_task.  */
#define ALIGNMENT 64

#define BEFORE_TASK                                                           \
  (sizeof (struct gomp_task)                                                  \
   + KMP_BLOCK_DEPENDS * sizeof (struct gomp_task_depend_entry)               \
   + sizeof (struct kmp_block) + ALIGNMENT - 1)

/* Allocations of this size are kept, so many by each thread.  */
#define COMMON_SIZE 576
#define KEEP 64

static void *
take_common (void)
{
  struct kmp_thread *t = kmp_thread ();
  void **block = t->blocks;

  if (!block)
    return gomp_malloc (COMMON_SIZE);
  t->blocks = *block;
  t->blocks_count--;
  return block;
}

static void
free_block (struct kmp_block *b)
{
  struct kmp_thread *t = kmp_thread ();
  void **block = (void **) b->gomp;

  if (!b->common || t->blocks_count == KEEP)
    {
      free (block);
      return;
    }
  *block = t->blocks;
  t->blocks = block;
  t->blocks_count++;
}

void
kmp_task_thread_end (struct kmp_thread *t)
{
  void **block, **next;

  for (block = t->blocks; block; block = next)
    {
      next = *block;
      free (block);
    }
}

struct kmp_task *
kmp_task_new (kmp_uint32 flags, size_t size, kmp_routine routine)
{
  bool common = BEFORE_TASK + size <= COMMON_SIZE;
  char *gomp = common ? take_common () : gomp_malloc (BEFORE_TASK + size);
  struct kmp_task *task
      = (struct kmp_task *) ((uintptr_t) (gomp + BEFORE_TASK)
			     & -(uintptr_t) ALIGNMENT);
  struct kmp_block *b = kmp_block (task);

  memset (b, 0, sizeof *b);
  b->gomp = (struct gomp_task *) gomp;
  b->size = size;
  b->flags = flags;
  b->common = common;
  task->shareds = NULL;
  task->routine = routine;
  task->part = 0;
  if (flags & KMP_TASK_PROXY)
    event_of (b);
  return task;
}

struct kmp_task *
kmp_task_copy (struct kmp_task *from)
{
  struct kmp_block *b = kmp_block (from);
  struct kmp_task *to = kmp_task_new (b->flags, b->size, from->routine);

  memcpy (to, from, b->size);
  if (from->shareds)
    to->shareds
	= (char *) to + ((char *) from->shareds - (char *) from);
  return to;
}

static void
release_block (struct kmp_block *b)
{
  if (__atomic_sub_fetch (&b->uses, 1, MEMMODEL_ACQ_REL) == 0)
    free_block (b);
}

/* ---- Running them.  ---- */

static struct coop_task_kind
kind_of (struct kmp_task *task)
{
  struct kmp_block *b = kmp_block (task);
  struct coop_task_kind kind
      = { (b->flags & KMP_TASK_FINAL) != 0, b->event != NULL, 0 };

  if (b->flags & KMP_TASK_PRIORITY)
    kind.priority = task->data2.priority;
  if (kind.priority > gomp_max_task_priority_var)
    kind.priority = gomp_max_task_priority_var;
  return kind;
}

static bool
cancelled (struct gomp_thread *thr)
{
  return __builtin_expect (gomp_cancel_var, 0) && thr->ts.team
	 && GOMP_cancellation_point (GOMP_CANCEL_TASKGROUP);
}

static void
destroy_privates (struct kmp_task *task, kmp_int32 gtid)
{
  if (kmp_block (task)->flags & KMP_TASK_DESTRUCTORS)
    task->data1.destructors (gtid, task);
}

static void
run_parts (struct kmp_task *task, kmp_int32 gtid)
{
  struct kmp_block *b = kmp_block (task);

  b->begun = true;
  do
    {
      b->again = false;
      if (task->routine)
	task->routine (gtid, task);
    }
  while (b->again);
}

/* What libgomp is given to run for a deferred task.  */
static void
run_deferred (void *data)
{
  struct kmp_task *task = data;
  struct kmp_block *b = kmp_block (task);
  struct gomp_thread *thr = gomp_thread ();
  kmp_int32 gtid = kmp_thread ()->gtid;

  if (!cancelled (thr))
    {
      run_parts (task, gtid);
      if (b->event)
	event_release (b->event);
    }
  else if (b->event)
    event_end (b->event, EVENT_DEAD);
  destroy_privates (task, gtid);
  if (thr->task != b->gomp)
    release_block (b);
}

static void
enter (struct kmp_task *task)
{
  struct kmp_block *b = kmp_block (task);
  struct coop_task_kind kind = kind_of (task);

  if (kind.detach)
    coop_task_team ();
  b->begun = true;
  coop_task_enter (b->gomp, &kind);
}

/* The current task has been run, at once.  */
static void
leave (struct kmp_task *task)
{
  struct kmp_block *b = kmp_block (task);
  struct gomp_task *gomp = b->gomp;
  struct kmp_event *event = b->event;
  gomp_sem_t fulfilled;

  destroy_privates (task, kmp_thread ()->gtid);
  if (event && gomp_thread ()->ts.team)
    {
      coop_task_leave_detached ();
      event_submit (event, gomp);
      event_release (event);
      return;
    }
  if (event)
    {
      gomp_sem_init (&fulfilled, 0);
      gomp->completion_sem = &fulfilled;
      event_submit (event, gomp);
      event_release (event);
      gomp_sem_wait (&fulfilled);
      gomp_sem_destroy (&fulfilled);
    }
  coop_task_leave ();
  free_block (b);
}

void
kmp_task_discard (struct kmp_task *task)
{
  struct kmp_block *b = kmp_block (task);

  if (b->event)
    event_end (b->event, EVENT_DEAD);
  destroy_privates (task, kmp_thread ()->gtid);
  free_block (b);
}

static void
defer (struct kmp_task *task, void **depend)
{
  struct kmp_block *b = kmp_block (task);
  struct coop_task_kind kind = kind_of (task);
  struct gomp_task *gomp = b->gomp;
  size_t count = depend ? (uintptr_t) depend[1] : 0;

  if (count > KMP_BLOCK_DEPENDS)
    {
      gomp = gomp_malloc (sizeof *gomp
			  + count * sizeof (struct gomp_task_depend_entry));
      b->uses = 1 + ((b->flags & KMP_TASK_PROXY) != 0);
    }
  coop_task_prepare (gomp, &kind, run_deferred, task);
  if (b->event)
    event_submit (b->event, gomp);
  coop_task_defer (gomp, depend);
}

/* The program wants any number of tasks to be deferred.  */
static bool unlimited;

static void __attribute__ ((constructor))
read_environment (void)
{
  const char *value = secure_getenv ("KMP_ENABLE_TASK_THROTTLING");

  unlimited = value && *value && strchr ("0fFnN", *value);
}

/* Whether a task had better be run at once: so many are waiting, or no other
   thread could run it.  Not if that might wait for an event that the creating
   task fulfils later.  */
static bool
at_once (struct gomp_team *team, struct kmp_block *b, void **depend)
{
  if (team->nthreads > 1
      && (unlimited || team->task_count <= 64 * team->nthreads))
    return false;
  return !b->event
	 && !(depend && __atomic_load_n (&events, MEMMODEL_RELAXED));
}

void
kmp_task_submit (struct kmp_task *task, void **depend, bool now)
{
  struct kmp_block *b = kmp_block (task);
  struct gomp_thread *thr = gomp_thread ();
  struct gomp_team *team;

  if (b->begun)
    {
      b->again = true;
      return;
    }
  if (cancelled (thr))
    {
      kmp_task_discard (task);
      return;
    }
  if (b->event)
    coop_task_team ();
  team = thr->ts.team;
  if (!now && team && !thr->task->final_task && !at_once (team, b, depend))
    {
      defer (task, depend);
      return;
    }
  if (depend && thr->task && thr->task->depend_hash)
    gomp_task_maybe_wait_for_dependencies (depend);
  enter (task);
  run_parts (task, kmp_thread ()->gtid);
  leave (task);
}

/* ---- What compiled code calls.  ---- */

struct kmp_task *
__kmpc_omp_task_alloc (ident_t *loc, kmp_int32 gtid, kmp_int32 flags,
		       size_t size, size_t shareds, kmp_routine routine)
{
  struct kmp_task *task;

  (void) loc, (void) gtid;
  size = (size + sizeof (void *) - 1) & -sizeof (void *);
  task = kmp_task_new ((kmp_uint32) flags, size + shareds, routine);
  if (shareds)
    task->shareds = (char *) task + size;
  return task;
}

struct kmp_task *
__kmpc_omp_target_task_alloc (ident_t *loc, kmp_int32 gtid, kmp_int32 flags,
			      size_t size, size_t shareds, kmp_routine routine,
			      kmp_int64 device)
{
  (void) device;
  return __kmpc_omp_task_alloc (loc, gtid, flags, size, shareds, routine);
}

/* Returns 0: the current task goes on.  */
kmp_int32
__kmpc_omp_task (ident_t *loc, kmp_int32 gtid, struct kmp_task *task)
{
  (void) loc, (void) gtid;
  kmp_task_submit (task, NULL, false);
  return 0;
}

kmp_int32
__kmpc_omp_task_parts (ident_t *loc, kmp_int32 gtid, struct kmp_task *task)
{
  return __kmpc_omp_task (loc, gtid, task);
}

void
__kmpc_omp_task_begin_if0 (ident_t *loc, kmp_int32 gtid, struct kmp_task *task)
{
  (void) loc, (void) gtid;
  enter (task);
}

void
__kmpc_omp_task_complete_if0 (ident_t *loc, kmp_int32 gtid,
			      struct kmp_task *task)
{
  (void) loc;
  if (kmp_block (task)->again)
    run_parts (task, gtid);
  leave (task);
}

kmp_int32
__kmpc_omp_taskwait (ident_t *loc, kmp_int32 gtid)
{
  (void) loc, (void) gtid;
  GOMP_taskwait ();
  return 0;
}

kmp_int32
__kmpc_omp_taskyield (ident_t *loc, kmp_int32 gtid, int end_part)
{
  (void) loc, (void) gtid, (void) end_part;
  if (!coop_task_run_one () && coop_managed)
    coop_relax ();
  return 0;
}

void
__kmpc_proxy_task_completed_ooo (struct kmp_task *task)
{
  struct kmp_block *b = kmp_block (task);
  bool separate = __atomic_load_n (&b->uses, MEMMODEL_RELAXED) != 0;

  event_end (b->event, EVENT_FULFILLED);
  if (separate)
    release_block (b);
}

void
__kmpc_proxy_task_completed (kmp_int32 gtid, struct kmp_task *task)
{
  (void) gtid;
  __kmpc_proxy_task_completed_ooo (task);
}

kmp_int32
__kmpc_omp_reg_task_with_affinity (ident_t *loc, kmp_int32 gtid,
				   struct kmp_task *task, kmp_int32 count,
				   void *affinities)
{
  (void) loc, (void) gtid, (void) task, (void) count, (void) affinities;
  return 0;
}

/* Numbers for tools.  */
kmp_uint64
__kmpc_get_taskid (void)
{
  return (uintptr_t) gomp_thread ()->task;
}

kmp_uint64
__kmpc_get_parent_taskid (void)
{
  struct gomp_task *task = gomp_thread ()->task;
  return task ? (uintptr_t) task->parent : 0;
}
