/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Explicit tasks of compiled code.

   task (struct kmp_task)
     What compiled code asks for, fills with firstprivate variables and then
     submits, or runs itself if it must not be deferred.  Its routine is called
     again as long as it submits its own task: so continue the parts of untied
     tasks, which we run one after the other.

   block (struct kmp_block)
     Lies before each task; all is one allocation, that begins with the
     gomp_task by which libgomp knows it, and that libgomp frees.  A task with
     many dependences gets another gomp_task, which has room for them; then the
     block is freed when the task has been run.  A thread keeps some blocks that
     it frees, for its next tasks.

   event (struct kmp_event)
     For a task with a detach clause, which is complete when the event has been
     fulfilled and the task has been run.  It can be fulfilled before the task
     is submitted, and after a cancelled one is gone; so it is an allocation of
     its own, freed by who comes last.  */

#ifndef KMP_TASK_H
#define KMP_TASK_H 1

#include "kmp.h"

struct kmp_task;

typedef kmp_int32 (*kmp_routine) (kmp_int32 gtid, struct kmp_task *task);

/* kmp_task_t; private and shared variables follow.  */
struct kmp_task
{
  void *shareds;
  kmp_routine routine;
  kmp_int32 part; /* of an untied task: the next one */
  union
  {
    kmp_int32 priority;
    kmp_routine destructors;
  } data1, data2;
};

/* Flags of kmp_tasking_flags_t that compiled code sets.  */
#define KMP_TASK_FINAL 0x2
#define KMP_TASK_DESTRUCTORS 0x8 /* in data1 */
#define KMP_TASK_PROXY 0x10	 /* complete when someone says so */
#define KMP_TASK_PRIORITY 0x20	 /* in data2 */
#define KMP_TASK_DETACHABLE 0x40

/* kmp_depend_info */
struct kmp_depend_info
{
  void *address;
  size_t length;
  unsigned char flags;
};

/* Dependences for which a block has room.  */
#define KMP_BLOCK_DEPENDS 2

#pragma GCC visibility push(hidden)

struct kmp_event;

struct kmp_block
{
  struct gomp_task *gomp; /* begin of the allocation */
  struct kmp_event *event;
  size_t size; /* from the kmp_task to the end */
  kmp_uint32 flags;
  int uses;    /* with a gomp_task of its own: by how many */
  bool begun;
  bool again;  /* the routine wants to be called once more */
  bool common; /* an allocation of the size that threads keep */
};

static inline struct kmp_block *
kmp_block (struct kmp_task *task)
{
  return (struct kmp_block *) task - 1;
}

extern struct kmp_task *kmp_task_new (kmp_uint32 flags, size_t size,
				      kmp_routine routine);

/* A copy, not yet submitted; private variables are copied bit by bit.  */
extern struct kmp_task *kmp_task_copy (struct kmp_task *task);

/* Frees the blocks that the thread T keeps.  */
extern void kmp_task_thread_end (struct kmp_thread *t);

/* Ends a task that is not to be run.  */
extern void kmp_task_discard (struct kmp_task *task);

/* Defers or runs a task that depends on DEPEND (as in GOMP_task, but the number
   of dependences is in DEPEND[1] always), or that is NULL; NOW: runs it.  */
extern void kmp_task_submit (struct kmp_task *task, void **depend, bool now);

#pragma GCC visibility pop

extern void __kmpc_taskgroup (ident_t *loc, int gtid);
extern void __kmpc_end_taskgroup (ident_t *loc, int gtid);

#endif /* KMP_TASK_H */
