/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Dispatching: which context a worker runs next.

   A task that blocks, yields or ends switches straight to the next task of its
   worker's queue; only when there is none, or when the worker must leave its
   CPU, to the worker's scheduler context.  What remains to be done for the
   context that was left (unlocking what protects its saved state, reclaiming
   it, sending it home) is done by the one that runs next.  */

#ifndef COOP_DISPATCH_H
#define COOP_DISPATCH_H 1

#include "coop.h"
#include "runq.h"
#include "stack.h"
#include "switch.h"

#pragma GCC visibility push(hidden)

/* Blocks the current task U, which is registered with whoever will make it
   ready again; releases LOCK when its context is saved.  */
extern void coop_dispatch_block (struct coop_ult *u, int *lock);

/* Lets other ready tasks run first; also the place where a task leaves a
   worker that may not run any longer.  */
extern void coop_dispatch_yield (void);

/* A scheduling point: yields if the worker has to leave its CPU.  Tells the
   watchdog that the task does not spin on a variable of the program.  */
static inline void
coop_dispatch_point (void)
{
  struct coop_worker *w = coop_tls_worker ();
  if (!w)
    return;
  __atomic_store_n (&w->switches, w->switches + 1, __ATOMIC_RELAXED);
  if (__builtin_expect (coop_must_leave (w), 0))
    coop_dispatch_yield ();
}

/* Ends the current task.  */
extern void coop_dispatch_exit (struct coop_ult *u)
    __attribute__ ((noreturn));

/* If the initial thread runs elsewhere, continues it on its own kernel
   thread.  */
extern void coop_dispatch_return_home (void);

/* The task that W should run after the current one; NULL: its scheduler
   decides.  The caller has to run it.  */
static inline struct coop_ult *
coop_dispatch_next (struct coop_worker *w)
{
  return coop_must_leave (w) || coop_is_spare (w) ? NULL : coop_runq_take (w);
}

/* Switches from the current task U, whose context is saved, to NEXT, or to the
   scheduler if NULL; then releases LOCK, unless NULL.  */
extern void coop_dispatch_switch (struct coop_ult *u, struct coop_ult *next,
				  int *lock);

/* Makes U the task that W runs; returns its thread pointer.  */
static inline void *
coop_dispatch_enter (struct coop_worker *w, struct coop_ult *u)
{
  w->running = u;
  w->switches++;
  if (__builtin_expect (u->tls != NULL, 1))
    {
      u->tls->worker = w;
      return u->tp;
    }
  w->sched_tls->thread = u->thread;
  w->sched_tls->ult = u;
  w->sched_tls->kmp = u->kmp;
  return w->sched_tp;
}

/* Does what the previous context of the caller's worker left to do.  */
extern void coop_dispatch_finish (struct coop_worker *w);

/* The rest of coop_dispatch_pass, where the stack of NEXT is being trimmed.  */
extern void coop_dispatch_pass_trimmed (struct coop_worker *w, struct coop_ult *u,
					struct coop_ult *next, void *sp);

/* As coop_dispatch_switch, on worker W, without a lock and with a NEXT; not
   for fibers (fiber.h).  */
static inline void
coop_dispatch_pass (struct coop_worker *w, struct coop_ult *u,
		    struct coop_ult *next)
{
  void *sp = coop_stack_take (next);
  if (__builtin_expect (coop_stack_is_trimmed (next), 0))
    {
      coop_dispatch_pass_trimmed (w, u, next, sp);
      return;
    }
  coop_switch (&u->sp, sp, coop_dispatch_enter (w, next));
  w = coop_tls_worker ();
  if (__builtin_expect (w->post != COOP_POST_NOTHING, 0))
    coop_dispatch_finish (w);
}

/* Appends the COUNT tasks from HEAD to TAIL to the queue of W and wakes W if
   it sleeps.  Returns how many of them W will not begin with at once, so that
   others should look for them (coop_dispatch_ready).  */
extern unsigned coop_dispatch_hand (struct coop_worker *w,
				    struct coop_ult *head,
				    struct coop_ult *tail, unsigned count);

/* Tells the workers that COUNT tasks have become ready which no worker that
   is awake is about to take.  */
extern void coop_dispatch_ready (unsigned count);

/* U, a new task, is ready to begin.  */
extern void coop_dispatch_first (struct coop_ult *u);

/* First duty of a new context.  */
extern void coop_dispatch_begin (void);

/* Runs tasks on W for ever.  */
extern void coop_dispatch_loop (struct coop_worker *w)
    __attribute__ ((noreturn));

#pragma GCC visibility pop

#endif /* COOP_DISPATCH_H */
