/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Donors of thread-local storage (donor.h).  */

#include "donor.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dispatch.h"
#include "runq.h"
#include "switch.h"
#include "ult.h"
#include "worker.h"

/* Bytes between the donor's frames and the task's: signals that a parked donor
   may still get (those of glibc) have their frames here.  */
#define GAP 16384

#define SIGSETXID_NR 33	 /* glibc's, below the first real-time signal */
#define RSEQ_SIGNATURE 0x53053053
#define RSEQ_AREA_MIN 32 /* bytes; smallest length the kernel takes */
#define RSEQ_UNREGISTER 1

/* Only in glibc 2.35 and later.  */
extern const ptrdiff_t __rseq_offset __attribute__ ((weak));
extern const unsigned int __rseq_size __attribute__ ((weak));

void
coop_donor_leave_rseq (void)
{
  if (!&__rseq_size || !&__rseq_offset || __rseq_size == 0)
    return;
  char *area = (char *) __builtin_thread_pointer () + __rseq_offset;
  unsigned size = __rseq_size < RSEQ_AREA_MIN ? RSEQ_AREA_MIN : __rseq_size;
  syscall (SYS_rseq, area, size, RSEQ_UNREGISTER, RSEQ_SIGNATURE);
}

/* Where the task's first frame goes: below the caller's, that is.  */
static inline __attribute__ ((always_inline)) uintptr_t
below_here (void)
{
  return (uintptr_t) __builtin_frame_address (0) - GAP;
}

/* The donor of a task.  */
static void *
donor_main (void *arg)
{
  struct coop_ult *u = arg;

  coop_donor_leave_rseq ();
  coop_tls.ult = u;
  u->tls = &coop_tls;
  u->tp = __builtin_thread_pointer ();
  u->sp = coop_first_frame (below_here (), coop_ult_main);
  coop_runq_append (&coop_workers[u->home], u, u, 1);
  coop_dispatch_ready (1);
  while (!coop_load (&u->finish))
    coop_futex_sleep (&u->finish, 0);
  coop_tls.ult = NULL;
  coop_tls.thread = NULL;
  coop_tls.worker = NULL;
  coop_worker_pin_any ();
  if (u->detached)
    free (u);
  return NULL;
}

/* The donor of a scheduler: never ends.  */
struct scheduler_start
{
  struct coop_worker *worker;
  void (*entry) (void);
  int ready;
};

static void *
scheduler_main (void *arg)
{
  struct scheduler_start *start = arg;
  struct coop_worker *w = start->worker;
  int never = 0;

  coop_donor_leave_rseq ();
  coop_tls.worker = w;
  w->sched_tls = &coop_tls;
  w->sched_tp = __builtin_thread_pointer ();
  w->sched_sp = coop_first_frame (below_here (), start->entry);
  coop_store (&start->ready, 1);
  coop_futex_wake (&start->ready, 1);
  for (;;)
    coop_futex_sleep (&never, 0);
  return NULL;
}

/* Creates a pthread with all signals blocked: what is sent to the process must
   not wake a donor while its storage is in use.  */
static int
create_masked (pthread_t *thread, const pthread_attr_t *attr,
	       void *(*fn) (void *), void *arg)
{
  sigset_t all, old;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  int err = pthread_create (thread, attr, fn, arg);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  return err;
}

int
coop_donor_create (struct coop_ult *u, const pthread_attr_t *given)
{
  pthread_attr_t attr;
  size_t size = 0;
  int err;

  if ((err = pthread_attr_init (&attr)))
    return err;
  if (pthread_attr_getstacksize (given, &size) == 0 && size)
    pthread_attr_setstacksize (&attr, size + 2 * GAP);
  err = create_masked (&u->pthread, &attr, donor_main, u);
  pthread_attr_destroy (&attr);
  return err;
}

int
coop_donor_create_scheduler (struct coop_worker *w, void (*entry) (void))
{
  struct scheduler_start start = { w, entry, 0 };
  pthread_t thread;
  int err = create_masked (&thread, NULL, scheduler_main, &start);
  if (err)
    return err;
  pthread_detach (thread);
  while (!coop_load (&start.ready))
    coop_futex_sleep (&start.ready, 0);
  return 0;
}

void
coop_donor_finish (struct coop_ult *u, bool detached)
{
  if (detached)
    pthread_detach (u->pthread);
  coop_store (&u->finish, 1);
  coop_futex_wake (&u->finish, 1);
}

/* The kernel's struct sigaction: glibc refuses to hand out this signal.  */
struct kernel_sigaction
{
  void (*handler) (int, siginfo_t *, void *);
  unsigned long flags;
  void (*restorer) (void);
  uint64_t mask;
};

static struct kernel_sigaction glibc_setxid;

/* glibc counts this thread off in the control block it finds by the thread
   pointer.  On a worker that must be the worker's, not the task's.  */
static __attribute__ ((noinline)) void
handle_setxid (int signo, siginfo_t *info, void *context)
{
  void *tp = __builtin_thread_pointer ();
  struct coop_worker *w = coop_tls_worker ();
  if (w && w->own_tp && w->own_tp != tp && w->tid == syscall (SYS_gettid))
    {
      coop_set_thread_pointer (w->own_tp);
      glibc_setxid.handler (signo, info, context);
      coop_set_thread_pointer (tp);
    }
  else
    glibc_setxid.handler (signo, info, context);
}

void
coop_donor_wrap_setxid (void)
{
  struct kernel_sigaction action;
  if (syscall (SYS_rt_sigaction, SIGSETXID_NR, NULL, &action, 8)
      || !(action.flags & SA_SIGINFO) || !action.handler
      || action.handler == handle_setxid)
    return;
  glibc_setxid = action;
  action.handler = handle_setxid;
  syscall (SYS_rt_sigaction, SIGSETXID_NR, &action, NULL, 8);
}
