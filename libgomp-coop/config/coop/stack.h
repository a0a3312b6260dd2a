/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Stacks of tasks: a list of all, and memory that idle ones give back.

   A program that once went deep keeps that memory in each of its stacks, where
   nobody uses it while the tasks sleep in a pool.  The monitor returns what
   lies below a task that has not run for a second, except for the hot end.

   A task must not run meanwhile.  Its `sp' is NULL while it runs: who continues
   it takes the stack pointer away and then looks at `trimming'; the monitor
   sets `trimming', has all processors pass a barrier (membarrier), and then
   looks at `sp'.  One of them sees the other, and a switch costs no fence.

   The list serves debuggers, too: see gdb/coschedule.py.  And it tells whose
   stack an address is in (hint.h): for this kernel threads are on it.  */

#ifndef COOP_STACK_H
#define COOP_STACK_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Bytes without access below each stack: more than a page, so that a task with
   large arrays does not jump over them into its neighbour's stack.  */
#define COOP_STACK_GUARD ((size_t) 1 << 20)

/* U is on the list from now on; its stack is that of a donor or its own.  */
extern void coop_stack_add (struct coop_ult *u);
extern void coop_stack_remove (struct coop_ult *u);

/* U's context as NULL: somebody returns memory of its stack, wait for him.  */
extern void coop_stack_await (struct coop_ult *u);

/* Takes U's context, and returns its stack pointer.  Is its stack being trimmed, which is
   to be awaited before that is used?  */
static inline void *
coop_stack_take (struct coop_ult *u)
{
  void *sp = u->sp;
  __atomic_store_n (&u->sp, NULL, __ATOMIC_RELAXED);
  __atomic_store_n (&u->ran, true, __ATOMIC_RELAXED);
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  return sp;
}

static inline bool
coop_stack_is_trimmed (struct coop_ult *u)
{
  return coop_peek (&u->trimming) != 0;
}

/* Takes U's context, to continue it or to give its stack to another task.
   Returns its stack pointer.  */
static inline void *
coop_stack_enter (struct coop_ult *u)
{
  void *sp = coop_stack_take (u);
  if (__builtin_expect (coop_stack_is_trimmed (u), 0))
    coop_stack_await (u);
  return sp;
}

/* U, whose context is not running, is given to another task while this lock is
   held: nobody looks at it.  */
extern void coop_stack_lock (void);
extern void coop_stack_unlock (void);

/* Calls SEE for each task on the list, with the lock.  */
extern void coop_stack_visit (void (*see) (struct coop_ult *u, void *arg),
			      void *arg);

/* Looks at some stacks and trims those that are idle.  By the monitor.  */
extern void coop_stack_tick (uint64_t now_ns);

/* Bounds of U's stack: the lowest address that may be used, and the end.
   Asks glibc, and so takes a while.  Returns false if they are not known.  */
extern bool coop_stack_bounds (struct coop_ult *u, char **low, char **high);

/* Forgets all (child of a fork).  */
extern void coop_stack_reset (void);

#pragma GCC visibility pop

#endif /* COOP_STACK_H */
