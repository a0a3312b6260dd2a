/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Donors of thread-local storage (donor.h).  */

#include "donor.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fiber.h"
#include "foreign.h"
#include "runq.h"
#include "settings.h"
#include "stack.h"
#include "switch.h"
#include "ult.h"
#include "worker.h"

/* Bytes between the donor's frames and the task's: signals that a parked donor
   may still get (those of glibc) have their frames here, each up to 12 KB with
   all registers that there are.  */
#define GAP 32768

#define COLOR_BITS 6 /* cache lines of a page */

#define RSEQ_SIGNATURE 0x53053053
#define RSEQ_AREA_UNIT 32 /* bytes; areas are a multiple of it */
#define RSEQ_AREA_MAX 256
#define RSEQ_UNREGISTER 1
#define RSEQ_CPU_ID 4 /* offset in the area: negative when not registered */

/* Only in glibc 2.35 and later.  */
extern const ptrdiff_t __rseq_offset __attribute__ ((weak));
extern const unsigned int __rseq_size __attribute__ ((weak));

bool
coop_donor_leave_rseq (void)
{
  if (!&__rseq_size || !&__rseq_offset || __rseq_size == 0)
    return true;
  char *area = (char *) __builtin_thread_pointer () + __rseq_offset;
  int32_t cpu;
  /* A thread whose creator has left does not enter, with glibc.  */
  memcpy (&cpu, area + RSEQ_CPU_ID, sizeof cpu);
  if (cpu < 0)
    return true;
  /* Later releases of glibc say how much of the area is in use; the kernel
     wants the length it was registered with.  */
  unsigned size = (__rseq_size + RSEQ_AREA_UNIT - 1) & -RSEQ_AREA_UNIT;
  while (syscall (SYS_rseq, area, size, RSEQ_UNREGISTER, RSEQ_SIGNATURE)
	 && size < RSEQ_AREA_MAX)
    size += RSEQ_AREA_UNIT;
  memcpy (&cpu, area + RSEQ_CPU_ID, sizeof cpu);
  return cpu < 0;
}

/* Where a task's first frame goes: below the caller's, that is.  */
static inline __attribute__ ((always_inline)) uintptr_t
below_here (void)
{
  return (uintptr_t) __builtin_frame_address (0) - GAP;
}

/* Where U's goes.  Stacks are alike in the lower bits of their addresses, and
   caches tell lines apart by these: the same frames of a worker's tasks would
   drive each other out.  */
static inline __attribute__ ((always_inline)) char *
top_of (const struct coop_ult *u)
{
  uint32_t color = (u->id * 0x9e3779b1u) >> (32 - COLOR_BITS);
  return (char *) (below_here () - color * COOP_LINE);
}

/* The donor of a task.  */
static void *
donor_main (void *arg)
{
  struct coop_ult *u = arg;

  coop_donor_leave_rseq ();
  coop_tls.owner = syscall (SYS_gettid);
  coop_foreign_except_me ();
  coop_tls.ult = u;
  u->tls = &coop_tls;
  u->tp = __builtin_thread_pointer ();
  u->stack_top = top_of (u);
  u->sp = coop_first_frame ((uintptr_t) u->stack_top, coop_ult_main);
  coop_fiber_create (u);
  coop_worker_pin_any (); /* as its creator may be bound */
  coop_store (&u->ready, 1);
  coop_futex_wake (&u->ready, 1);
  while (!coop_load (&u->finish))
    coop_syscall (SYS_futex, (long) &u->finish, FUTEX_WAIT_PRIVATE, 0, 0);
  coop_stack_remove (u);
  coop_fiber_destroy (u);
  coop_tls.ult = NULL;
  coop_tls.thread = NULL;
  coop_tls.worker = NULL;
  coop_worker_pin_any ();
  coop_foreign_include_me ();
  if (u->detached)
    free (u);
  return NULL;
}

/* The donor of a scheduler: never ends.  */
static struct scheduler_start
{
  struct coop_worker *worker;
  void (*entry) (void);
  int ready;
} scheduler;

static void *
scheduler_main (void *arg)
{
  struct scheduler_start *start = arg;
  struct coop_worker *w = start->worker;
  int never = 0;

  coop_donor_leave_rseq ();
  coop_tls.owner = syscall (SYS_gettid);
  coop_foreign_except_me ();
  coop_tls.worker = w;
  w->sched_tls = &coop_tls;
  w->sched_tp = __builtin_thread_pointer ();
  w->sched_sp = coop_first_frame (below_here (), start->entry);
  coop_store (&start->ready, 1);
  coop_futex_wake (&start->ready, 1);
  for (;;)
    coop_syscall (SYS_futex, (long) &never, FUTEX_WAIT_PRIVATE, 0, 0);
  return NULL;
}

/* Donors whose tasks have ended, for tasks with stacks of the same size.  */
static struct coop_ult *pool;
static int pool_lock;

static struct coop_ult *
take_from_pool (size_t stack_size)
{
  struct coop_ult *u;

  if (!coop_peek (&pool))
    return NULL;
  coop_lock (&pool_lock);
  struct coop_ult **link = &pool;
  while ((u = *link) && u->stack_size != stack_size)
    link = &u->next;
  if (u)
    *link = u->next;
  coop_unlock (&pool_lock);
  return u;
}

struct coop_ult *
coop_donor_reuse (size_t stack_size)
{
  struct coop_ult *u = take_from_pool (stack_size);
  if (!u)
    return NULL;
  coop_stack_lock ();
  struct coop_ult old = *u;
  memset (u, 0, sizeof *u);
  u->tp = old.tp;
  u->tls = old.tls;
  u->stack_top = old.stack_top;
  u->stack_size = old.stack_size;
  u->sp = coop_first_frame ((uintptr_t) u->stack_top, coop_ult_main);
  u->pthread = old.pthread;
  u->listed = old.listed;
  u->fiber = old.fiber;
  coop_stack_unlock ();
  return u;
}

int
coop_donor_create (struct coop_ult *u)
{
  static unsigned turn;
  pthread_attr_t attr;
  int err;

  if (__builtin_expect (coop_settings.test & COOP_TEST_NO_DONORS, 0)
      && __atomic_add_fetch (&turn, 1, __ATOMIC_RELAXED) % 2)
    return EAGAIN;
  if ((err = pthread_attr_init (&attr)))
    return err;
  if (u->stack_size)
    pthread_attr_setstacksize (&attr, u->stack_size + 2 * GAP);
  pthread_attr_setguardsize (&attr, COOP_STACK_GUARD);
  err = coop_create_masked (&u->pthread, &attr, donor_main, u);
  pthread_attr_destroy (&attr);
  while (!err && !coop_load (&u->ready))
    coop_futex_sleep (&u->ready, 0);
  return err;
}

int
coop_donor_create_scheduler (struct coop_worker *w, void (*entry) (void))
{
  pthread_t thread;
  scheduler = (struct scheduler_start){ w, entry, 0 };
  int err = coop_create_masked (&thread, NULL, scheduler_main, &scheduler);
  if (err)
    return err;
  pthread_detach (thread);
  return 0;
}

void
coop_donor_await_scheduler (void)
{
  while (scheduler.worker && !coop_load (&scheduler.ready))
    coop_futex_sleep (&scheduler.ready, 0);
}

static void
finish (struct coop_ult *u)
{
  coop_store (&u->finish, 1);
  coop_futex_wake (&u->finish, 1);
}

void
coop_donor_return (struct coop_ult *u, bool detached)
{
  if (detached && !coop_settings_fresh_storage ())
    {
      u->tls->thread = NULL;
      coop_store (&u->sp, u->stack_top); /* nothing of it is needed */
      coop_lock (&pool_lock);
      u->next = pool;
      coop_store (&pool, u);
      coop_unlock (&pool_lock);
      return;
    }
  if (detached)
    pthread_detach (u->pthread);
  finish (u);
}

void
coop_donor_reset (void)
{
  pool = NULL;
  pool_lock = 0;
  scheduler.worker = NULL;
}
