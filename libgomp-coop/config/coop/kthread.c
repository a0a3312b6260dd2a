/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Kernel-thread mode (kthread.h).  */

#include "kthread.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libgomp.h"

#include "foreign.h"
#include "overflow.h"
#include "park.h"
#include "runq.h"
#include "stack.h"
#include "ult.h"
#include "worker.h"

/* U may run in slot W from now on.  */
static void
give (struct coop_ult *u, struct coop_worker *w)
{
  coop_runq_found (w);
  w->running = u;
  w->switches++;
  u->slot = w;
  w->given_ns = coop_now_ns ();
  coop_store (&u->ready, 1);
  coop_futex_wake (&u->ready, 1);
}

/* The next task for slot W, its own first.  */
static struct coop_ult *
next_for (struct coop_worker *w)
{
  struct coop_ult *u = coop_is_spare (w) ? NULL : coop_runq_take (w);
  return u ? u : coop_runq_steal (w);
}

static void
release (struct coop_worker *w)
{
  w->running = NULL;
  w->switches++;
  w->tid = 0;
  if (coop_may_run (w))
    {
      struct coop_ult *u = next_for (w);
      if (u)
	{
	  give (u, w);
	  return;
	}
    }
  __atomic_store_n (&w->sleeping, 1, __ATOMIC_SEQ_CST);
  coop_worker_settled (w);
  coop_kthread_fill ();
}

static void
fill (struct coop_worker *w)
{
  while (w->started && coop_may_run (w) && coop_load (&w->sleeping)
	 && coop_runq_any ())
    {
      if (!__atomic_exchange_n (&w->sleeping, 0, __ATOMIC_SEQ_CST))
	return;
      struct coop_ult *u = next_for (w);
      if (u)
	{
	  give (u, w);
	  return;
	}
      __atomic_store_n (&w->sleeping, 1, __ATOMIC_SEQ_CST);
    }
}

void
coop_kthread_fill (void)
{
  coop_fence ();
  unsigned n = coop_peek (&coop_nworkers);
  for (unsigned i = 0; i < n; i++)
    fill (&coop_workers[i]);
  n = coop_peek (&coop_nspares);
  for (unsigned i = 0; i < n; i++)
    fill (&coop_workers[COOP_SPARE_FIRST + i]);
}

/* Waits for a slot and goes where it is.  */
static void
wait_for_slot (struct coop_ult *u)
{
  while (!coop_load (&u->ready))
    coop_futex_sleep (&u->ready, 0);
  struct coop_worker *w = u->slot;
  coop_tls.worker = w;
  coop_ult_settle (u);
  /* Either the monitor, which changes the CPU first, finds this thread here
     and moves it, or the change is seen below.  */
  w->tid = u->tid;
  coop_fence ();
  unsigned change = coop_load (&coop_worker_changes);
  coop_worker_begun (w);
  int seat = coop_worker_seat (w);
  if (u->pinned != seat || u->pinned_at != change)
    {
      u->pinned = seat;
      u->pinned_at = change;
      coop_worker_pin (w);
    }
}

void
coop_kthread_adopt (struct coop_ult *u, struct coop_worker *w)
{
  u->tid = (pid_t) syscall (SYS_gettid);
  u->slot = w;
  w->given_ns = coop_now_ns ();
  u->ready = 1;
  w->sleeping = 0;
  w->running = u;
  coop_tls.ult = u;
  wait_for_slot (u);
}

void
coop_kthread_block (struct coop_ult *u, int *lock)
{
  struct coop_worker *w = u->slot;
  /* Once the bucket is unlocked a waker may give U another slot.  */
  coop_tls.worker = NULL;
  coop_unlock (lock);
  release (w);
  wait_for_slot (u);
}

void
coop_kthread_yield (struct coop_ult *u)
{
  struct coop_worker *w = u->slot;
  if (!coop_runq_any () && coop_may_run (w))
    return;
  u->ready = 0;
  u->next = NULL;
  coop_tls.worker = NULL;
  coop_runq_append (&coop_workers[coop_ult_settle (u)], u, u, 1);
  release (w);
  wait_for_slot (u);
}

void
coop_kthread_exit (struct coop_ult *u)
{
  struct coop_worker *w = u->slot;
  bool detached = u->detached;
  coop_stack_remove (u);
  coop_overflow_leave (u->alternate);
  coop_tls.ult = NULL;
  coop_tls.thread = NULL;
  coop_tls.worker = NULL;
  coop_foreign_include_me ();
  if (detached)
    pthread_detach (pthread_self ());
  else
    {
      coop_store (&u->done, 1);
      coop_unpark (&u->done, INT_MAX);
    }
  release (w);
  if (detached)
    free (u);
  pthread_exit (NULL);
}

static void *
kthread_main (void *arg)
{
  struct coop_ult *u = arg;
  struct gomp_task implicit;
  u->implicit = &implicit;
  u->tid = (pid_t) syscall (SYS_gettid);
  coop_foreign_except_me ();
  coop_tls.ult = u;
  u->alternate = coop_overflow_watch ();
  u->stack_top = __builtin_frame_address (0);
  u->next = NULL;
  coop_runq_append (&coop_workers[u->home], u, u, 1);
  coop_kthread_fill ();
  wait_for_slot (u);
  u->fn (u->arg);
  coop_ult_exit ();
}

int
coop_kthread_create (struct coop_ult *u, const pthread_attr_t *attr)
{
  coop_stack_add (u);
  int err = pthread_create (&u->pthread, attr, kthread_main, u);
  if (err)
    coop_stack_remove (u);
  return err;
}
