/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Start of the runtime (start.h).  */

#include "start.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libgomp.h"

#include "batch.h"
#include "dispatch.h"
#include "donor.h"
#include "fiber.h"
#include "foreign.h"
#include "home.h"
#include "host.h"
#include "kthread.h"
#include "membarrier.h"
#include "monitor.h"
#include "overflow.h"
#include "park.h"
#include "preempt.h"
#include "region.h"
#include "settings.h"
#include "stack.h"
#include "starve.h"
#include "ult.h"
#include "watchdog.h"
#include "worker.h"

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static struct coop_ult root;

static void
home_scheduler (void)
{
  coop_dispatch_begin ();
  coop_dispatch_loop (&coop_workers[0]);
}

/* The initial thread becomes the root.  */
static int
adopt_root (void)
{
  struct coop_worker *w = &coop_workers[0];

  memset (&root, 0, sizeof root);
  root.root = true;
  root.thread = coop_tls.thread;
  if (coop_mode == COSCHED_MODE_KTHREAD)
    {
      root.kind = COOP_KTHREAD;
      root.pinned = COOP_CPU_NONE;
      coop_worker_adopt (w);
      coop_kthread_adopt (&root, w);
      return 0;
    }
  root.kind = COOP_ULT;
  root.tp = __builtin_thread_pointer ();
  root.tls = &coop_tls;
  w->running = &root;
  coop_tls.owner = syscall (SYS_gettid);
  coop_tls.worker = w;
  coop_tls.ult = &root;
  coop_worker_adopt (w);
  coop_stack_add (&root);
  return 0;
}

static void *
end_at_once (void *unused)
{
  return unused;
}

/* glibc prepares for more threads than one when the second is created.  */
static void
create_second_thread (void)
{
  pthread_t thread;
  if (pthread_create (&thread, NULL, end_at_once, NULL) == 0)
    pthread_join (thread, NULL);
}

/* What donors rely on can be seen when there is one.  A program loaded since
   main began may need something else.  */
static int
settle_mode (bool initial)
{
  const char *lacks;

  if (coop_settings_stale ())
    coop_settings_look ();
  if (coop_mode == COSCHED_MODE_KTHREAD)
    return 0;
  if (coop_settings.stay_home)
    create_second_thread ();
  else if (initial
	   && coop_donor_create_scheduler (&coop_workers[0], home_scheduler))
    return -1;
  lacks = coop_host_lacks_at_start ();
  if (lacks)
    coop_settings_need_kernel_threads (lacks);
  return 0;
}

/* The child of a process whose runtime has started.  */
static void
reset (void)
{
  started = false;
  coop_tls.ult = NULL;
  coop_tls.worker = NULL;
  coop_tls.owner = 0;
  coop_ult_live = 0;
  coop_donor_reset ();
  coop_home_reset ();
  coop_foreign_reset ();
  coop_park_reset ();
  coop_worker_reset ();
  coop_monitor_reset ();
  coop_preempt_reset ();
  coop_stack_reset ();
  coop_membarrier_reset ();
  coop_region_reset ();
  coop_watchdog_reset ();
  coop_starve_reset ();
}

/* Upstream's libgomp waits in the child's first region for the threads of the
   parent's pool, which do not exist there.  LLVM's and Intel's have a team of
   their own then, and so have we, managed or not.  */
static void
after_fork (void)
{
  struct gomp_thread *thread = coop_tls.thread;

  pthread_mutex_init (&start_lock, NULL);
  if (started)
    reset ();
  if (thread && thread->ts.level == 0)
    thread->thread_pool = NULL;
  gomp_managed_threads = 1;
}

void
coop_start_watch_forks (void)
{
  pthread_atfork (NULL, NULL, after_fork);
}

static void
start (void)
{
  bool initial = syscall (SYS_gettid) == getpid ();

  coop_fiber_start ();
  coop_ult_live = 1;
  pthread_sigmask (SIG_SETMASK, NULL, &coop_worker_signals);
  coop_membarrier_start ();
  if (coop_park_table (0) || settle_mode (initial))
    goto fail;
  coop_region_start ();
  coop_worker_assign (&coop_initial_cpus);
  if (coop_nworkers == 0)
    goto fail;
  if (initial)
    {
      coop_foreign_except_me ();
      coop_batch_leader = gomp_thread ();
    }
  if (initial && coop_settings.stay_home && coop_mode != COSCHED_MODE_KTHREAD)
    coop_home_begin ();
  else if (initial && adopt_root ())
    goto fail;
  coop_overflow_start ();
  coop_worker_roam ();
  if (coop_monitor_start ())
    coop_say ("the monitor thread cannot be created");
  coop_worker_sit ();
  coop_donor_await_scheduler ();
  coop_monitor_await ();
  return;

fail:
  coop_managed = false;
  coop_mode = COSCHED_MODE_NONE;
}

void
coop_start (void)
{
  if (__atomic_load_n (&started, __ATOMIC_ACQUIRE))
    return;
  pthread_mutex_lock (&start_lock);
  if (!started)
    {
      start ();
      __atomic_store_n (&started, true, __ATOMIC_RELEASE);
    }
  pthread_mutex_unlock (&start_lock);
}
