/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's task.c; a worker may leave its CPU between two tasks, and a task that waits
   in a loop may do so with taskyield.  Its parts also serve task.h.  */

#include "libgomp.h"
#include "blocking.h"
#include "dispatch.h"
#include "task.h"

/* All locks there protect the team's tasks, and after releasing one none is
   held.  The barrier is told that there are tasks: who comes last has its line anyway.  */
static inline void
coop_task_unlock (gomp_mutex_t *mutex)
{
  struct gomp_team *team
      = (struct gomp_team *) ((char *) mutex
			      - offsetof (struct gomp_team, task_lock));
  if (team->task_count)
    coop_barrier (&team->barrier)->tasked = 1;
  gomp_mutex_unlock (mutex);
  coop_dispatch_point ();
}

/* Upstream's omp_fulfill_event in a thread outside of the team wakes one that
   waits in the barrier; if no task is left, that one would wait again, as it
   only looks for the end of the barrier when there are tasks to run.  The other
   caller is about to end the barrier, which clears the mark.  */
static inline bool
coop_task_barrier_waits (gomp_barrier_t *bar)
{
  struct gomp_team *team
      = (struct gomp_team *) ((char *) bar
			      - offsetof (struct gomp_team, barrier));
  if (!gomp_team_barrier_waiting_for_tasks (bar))
    return false;
  if (team->task_count == 0)
    gomp_team_barrier_set_task_pending (bar);
  return true;
}

#define gomp_mutex_unlock(mutex) coop_task_unlock (mutex)
#define gomp_team_barrier_waiting_for_tasks(bar) coop_task_barrier_waits (bar)
#define GOMP_taskyield upstream_taskyield
static void upstream_taskyield (void);
#include "../../task.c"
#undef GOMP_taskyield

void
GOMP_taskyield (void)
{
  coop_poll ();
  upstream_taskyield ();
}

static void
init_task (struct gomp_task *task, struct gomp_task *parent,
	   const struct coop_task_kind *kind)
{
  gomp_init_task (task, parent, gomp_icv (false));
  task->kind = GOMP_TASK_UNDEFERRED;
  task->priority = kind->priority;
  task->final_task = kind->final;
  if (parent)
    {
      task->in_tied_task = parent->in_tied_task;
      task->taskgroup = parent->taskgroup;
      task->final_task |= parent->final_task;
    }
}

void
coop_task_enter (struct gomp_task *task, const struct coop_task_kind *kind)
{
  struct gomp_thread *thr = gomp_thread ();

  init_task (task, thr->task, kind);
  thr->task = task;
}

void
coop_task_leave (void)
{
  struct gomp_thread *thr = gomp_thread ();
  struct gomp_task *task = thr->task;
  struct gomp_team *team = thr->ts.team;

  if (!priority_queue_empty_p (&task->children_queue, MEMMODEL_RELAXED))
    {
      gomp_mutex_lock (&team->task_lock);
      gomp_clear_parent (&task->children_queue);
      gomp_mutex_unlock (&team->task_lock);
    }
  gomp_end_task ();
}

/* The queues in which TASK is found by who waits for it.  */
static void
insert_task (struct gomp_task *task, enum priority_insert_type where)
{
  struct gomp_taskgroup *taskgroup = task->taskgroup;

  priority_queue_insert (PQ_CHILDREN, &task->parent->children_queue, task,
			 task->priority, where, false,
			 task->parent_depends_on);
  if (taskgroup)
    priority_queue_insert (PQ_TASKGROUP, &taskgroup->taskgroup_queue, task,
			   task->priority, where, false,
			   task->parent_depends_on);
}

/* It then is as a deferred task that has been run.  */
void
coop_task_leave_detached (void)
{
  struct gomp_thread *thr = gomp_thread ();
  struct gomp_team *team = thr->ts.team;
  struct gomp_task *task = thr->task;

  task->kind = GOMP_TASK_DETACHED;
  task->deferred_p = true;
  task->detach_team = team;
  thr->task = task->parent;
  gomp_mutex_lock (&team->task_lock);
  insert_task (task, PRIORITY_INSERT_END);
  if (task->taskgroup)
    task->taskgroup->num_children++;
  team->task_count++;
  team->task_detach_count++;
  gomp_mutex_unlock (&team->task_lock);
}

void
coop_task_prepare (struct gomp_task *task, const struct coop_task_kind *kind,
		   void (*fn) (void *), void *data)
{
  struct gomp_thread *thr = gomp_thread ();

  init_task (task, thr->task, kind);
  task->kind = GOMP_TASK_WAITING;
  task->deferred_p = true;
  /* FN is called also if the task is cancelled, and does not do it then.  */
  task->copy_ctors_done = true;
  task->fn = fn;
  task->fn_data = data;
  if (kind->detach)
    task->detach_team = thr->ts.team;
}

void
coop_task_defer (struct gomp_task *task, void **depend)
{
  struct gomp_team *team = gomp_thread ()->ts.team;
  struct gomp_task *parent = task->parent;

  gomp_mutex_lock (&team->task_lock);
  if (task->taskgroup)
    task->taskgroup->num_children++;
  if (depend)
    {
      gomp_task_handle_depend (task, parent, depend);
      if (task->num_dependees)
	{
	  gomp_mutex_unlock (&team->task_lock);
	  return;
	}
    }
  insert_task (task, PRIORITY_INSERT_BEGIN);
  priority_queue_insert (PQ_TEAM, &team->task_queue, task, task->priority,
			 PRIORITY_INSERT_END, false, task->parent_depends_on);
  ++team->task_count;
  ++team->task_queued_count;
  gomp_team_barrier_set_task_pending (&team->barrier);
  bool wake = team->task_running_count + !parent->in_tied_task
	      < team->nthreads;
  gomp_mutex_unlock (&team->task_lock);
  if (wake)
    gomp_team_barrier_wake (&team->barrier, 1);
}

/* The next waiting task that may run inside CURRENT: there, a tied task must
   descend from it, unless it is the implicit task.  */
static struct gomp_task *
next_task (struct gomp_team *team, struct gomp_task *current)
{
  struct gomp_task *task, *ancestor;
  bool ignored;

  if (priority_queue_empty_p (&team->task_queue, MEMMODEL_RELAXED))
    return NULL;
  task = priority_queue_next_task (PQ_TEAM, &team->task_queue, PQ_IGNORED,
				   NULL, &ignored);
  for (ancestor = task; ancestor && ancestor != current;)
    ancestor = ancestor->parent;
  if (!ancestor && current->kind != GOMP_TASK_IMPLICIT)
    {
      if (priority_queue_empty_p (&current->children_queue, MEMMODEL_RELAXED))
	return NULL;
      task = priority_queue_next_task (PQ_CHILDREN, &current->children_queue,
				       PQ_IGNORED, NULL, &ignored);
    }
  return task->kind == GOMP_TASK_WAITING && task->fn ? task : NULL;
}

/* TASK has been run, with the lock held; returns how many threads have
   something to do now.  */
static size_t
complete_task (struct gomp_team *team, struct gomp_task *task)
{
  size_t ready = gomp_task_run_post_handle_depend (task, team);

  gomp_task_run_post_remove_parent (task);
  gomp_clear_parent (&task->children_queue);
  gomp_task_run_post_remove_taskgroup (task);
  team->task_count--;
  return ready;
}

bool
coop_task_run_one (void)
{
  struct gomp_thread *thr = gomp_thread ();
  struct gomp_team *team = thr->ts.team;
  struct gomp_task *current = thr->task, *task;
  bool cancelled;
  size_t ready;

  if (!team || priority_queue_empty_p (&team->task_queue, MEMMODEL_RELAXED))
    return false;
  gomp_mutex_lock (&team->task_lock);
  task = next_task (team, current);
  if (!task)
    {
      gomp_mutex_unlock (&team->task_lock);
      return false;
    }
  cancelled = gomp_task_run_pre (task, task->parent, team);
  if (!cancelled)
    {
      gomp_mutex_unlock (&team->task_lock);
      thr->task = task;
      task->fn (task->fn_data);
      thr->task = current;
      gomp_mutex_lock (&team->task_lock);
      if (task->detach_team)
	{
	  task->kind = GOMP_TASK_DETACHED;
	  ++team->task_detach_count;
	  gomp_mutex_unlock (&team->task_lock);
	  return true;
	}
    }
  ready = complete_task (team, task);
  if (ready > team->nthreads - team->task_running_count)
    ready = team->nthreads - team->task_running_count;
  gomp_mutex_unlock (&team->task_lock);
  if (ready > 1)
    gomp_team_barrier_wake (&team->barrier, (int) ready);
  gomp_finish_task (task);
  free (task);
  return true;
}

size_t
coop_task_addresses (void **to, size_t room)
{
  struct gomp_thread *thr = gomp_thread ();
  struct gomp_team *team = thr->ts.team;
  struct gomp_task *task = thr->task;
  size_t count = 0;

  if (!team || !task->depend_hash)
    return 0;
  gomp_mutex_lock (&team->task_lock);
  for (size_t i = 0; i < htab_size (task->depend_hash); i++)
    {
      hash_entry_type entry = task->depend_hash->entries[i];
      if (entry == HTAB_EMPTY_ENTRY || entry == HTAB_DELETED_ENTRY)
	continue;
      if (count < room)
	to[count] = entry->addr;
      count++;
    }
  gomp_mutex_unlock (&team->task_lock);
  return count;
}

bool
coop_task_team (void)
{
  struct gomp_thread *thr = gomp_thread ();

  /* Libgomp frees the task that it replaces, which must be its own.  */
  if (!thr->ts.team && (!thr->task || thr->task->kind == GOMP_TASK_IMPLICIT))
    gomp_create_artificial_team ();
  return thr->ts.team != NULL;
}
