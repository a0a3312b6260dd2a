/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Workers and the assignment of CPUs to them (worker.h).  */

#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libgomp.h"

#include "cpuset.h"
#include "dispatch.h"
#include "domain.h"
#include "donor.h"
#include "foreign.h"
#include "hold.h"
#include "home.h"
#include "idle.h"
#include "kthread.h"
#include "overflow.h"
#include "park.h"
#include "region.h"
#include "runq.h"
#include "settings.h"
#include "share.h"
#include "stray.h"
#include "ult.h"

struct cosched_cpuset coop_initial_cpus;
sigset_t coop_worker_signals;
unsigned coop_worker_changes;

/* Protects what the monitor, the first region and new threads change: the
   CPUs of workers, their affinity, who has been started.  */
static pthread_mutex_t assign_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cosched_cpuset allotted; /* last one that was not empty */
static unsigned demand;		       /* tasks, at most */
static unsigned started;	       /* workers with a kernel thread */
static unsigned asked_spares; /* by the watchdog */
static unsigned lent_spares;  /* to kernel threads that have a lease (share.h) */

void
coop_worker_begun (struct coop_worker *w)
{
  uint64_t now = coop_now_ns ();

  if (coop_share_begun (w, now))
    coop_worker_lend (now);
}

void
coop_worker_settled (struct coop_worker *w)
{
  if (__atomic_exchange_n (&w->straggling, 0, __ATOMIC_SEQ_CST))
    __atomic_sub_fetch (&coop_crowded, 1, __ATOMIC_SEQ_CST);
}

int
coop_worker_seat (const struct coop_worker *w)
{
  bool anywhere = coop_mode == COSCHED_MODE_KTHREAD
		  && (coop_peek (&w->shared) || coop_peek (&lent_spares));
  return anywhere && w->cpu >= 0 ? COOP_CPU_ANY : w->cpu;
}

/* ---- Affinity.  All of these with assign_lock held.  ---- */

static bool cpus_missing; /* some of the allotment cannot be used */

/* The allotment names CPUs that this process cannot use: they do not exist, or
   its cpuset has shrunk.  Workers share what is left, so nobody may spin.  */
static void
note_missing (int cpu)
{
  if (cpus_missing)
    return;
  cpus_missing = true;
  __atomic_add_fetch (&coop_crowded, 1, __ATOMIC_SEQ_CST);
  coop_say ("CPU %d is allotted, but cannot be used; sharing the others", cpu);
}

static void
pin_tid (pid_t tid, int cpu)
{
  struct cosched_cpuset one;
  if (cpu >= 0 && cpu < COOP_MAX_CPUS)
    {
      memset (&one, 0, sizeof one);
      cpuset_add (&one, cpu);
      if (cpuset_apply (tid, &one) == 0 || errno != EINVAL)
	return;
      note_missing (cpu);
    }
  /* The kernel takes those of the set that can be used, if there are any.  */
  if (cpuset_first (&allotted) >= 0 && cpuset_apply (tid, &allotted)
      && errno == EINVAL)
    {
      note_missing (cpuset_first (&allotted));
      cpuset_apply (tid, &coop_initial_cpus);
    }
}

void
coop_worker_pin (struct coop_worker *w)
{
  pthread_mutex_lock (&assign_lock);
  w->tid = (pid_t) syscall (SYS_gettid);
  pin_tid (0, coop_worker_seat (w));
  pthread_mutex_unlock (&assign_lock);
}

void
coop_worker_pin_any (void)
{
  pthread_mutex_lock (&assign_lock);
  pin_tid (0, COOP_CPU_ANY);
  pthread_mutex_unlock (&assign_lock);
}

void
coop_worker_roam (void)
{
  struct coop_worker *w = coop_tls_worker ();
  if (!w || w->roaming)
    return;
  __atomic_store_n (&w->roaming, true, __ATOMIC_RELAXED);
  coop_worker_pin_any ();
}

void
coop_worker_sit_down (struct coop_worker *w)
{
  __atomic_store_n (&w->roaming, false, __ATOMIC_RELAXED);
  coop_worker_pin (w);
}

bool
coop_worker_allotted (struct cosched_cpuset *cpus)
{
  pthread_mutex_lock (&assign_lock);
  *cpus = allotted;
  pthread_mutex_unlock (&assign_lock);
  return cpuset_first (cpus) >= 0;
}

void
coop_worker_pin_home (void)
{
  pthread_mutex_lock (&assign_lock);
  pin_tid (coop_home_tid, coop_workers[0].cpu);
  pthread_mutex_unlock (&assign_lock);
}

/* ---- Kernel threads.  ---- */

static void *
worker_main (void *arg)
{
  struct coop_worker *w = arg;
  coop_tls.worker = w;
  coop_tls.owner = syscall (SYS_gettid);
  coop_foreign_except_me ();
  w->sched_tls = &coop_tls;
  w->sched_tp = w->own_tp = __builtin_thread_pointer ();
  coop_donor_leave_rseq ();
  coop_overflow_watch ();
  /* The monitor, which may have started this thread, blocks all.  */
  pthread_sigmask (SIG_SETMASK, &coop_worker_signals, NULL);
  coop_worker_pin (w);
  coop_dispatch_loop (w);
}

/* With assign_lock held.  A worker that cannot be started stays asleep, and
   what is queued for it is stolen.  */
static bool
start_thread (struct coop_worker *w)
{
  pthread_t thread;
  if (coop_mode == COSCHED_MODE_KTHREAD)
    {
      w->started = true;
      return true;
    }
  w->sleeping = 0;
  w->started = true;
  if (pthread_create (&thread, NULL, worker_main, w))
    {
      w->sleeping = 1;
      w->started = false;
      return false;
    }
  pthread_detach (thread);
  return true;
}

static void
start_wanted (void)
{
  for (unsigned i = 0; i < coop_nworkers && started < demand; i++)
    {
      struct coop_worker *w = &coop_workers[i];
      if (!w->started && w->cpu >= 0)
	{
	  if (!start_thread (w))
	    return;
	  started++;
	}
    }
}

void
coop_worker_adopt (struct coop_worker *w)
{
  pthread_mutex_lock (&assign_lock);
  w->started = true;
  w->sleeping = 0;
  w->own_tp = __builtin_thread_pointer ();
  started++;
  pthread_mutex_unlock (&assign_lock);
  coop_worker_pin (w);
}

void
coop_worker_demand (unsigned tasks)
{
  if (tasks <= coop_peek (&demand))
    return;
  if (coop_mode != COSCHED_MODE_KTHREAD
      && coop_peek (&started) < coop_peek (&coop_nworkers))
    coop_worker_roam ();
  pthread_mutex_lock (&assign_lock);
  if (tasks > demand)
    {
      __atomic_store_n (&demand, tasks, __ATOMIC_RELAXED);
      start_wanted ();
    }
  pthread_mutex_unlock (&assign_lock);
}

/* Has as many spares run as the watchdog and kernel threads want.  With
   assign_lock held.  */
static void
set_spares (void)
{
  unsigned count = asked_spares > lent_spares ? asked_spares : lent_spares;
  unsigned more = 0;

  while (coop_nspares < count)
    {
      struct coop_worker *w = &coop_workers[COOP_SPARE_FIRST + coop_nspares];
      w->index = COOP_SPARE_FIRST + coop_nspares;
      w->cpu = COOP_CPU_NONE;
      w->sleeping = 1;
      if (!start_thread (w))
	break;
      __atomic_store_n (&coop_nspares, coop_nspares + 1, __ATOMIC_RELEASE);
    }
  for (unsigned i = 0; i < coop_nspares; i++)
    {
      struct coop_worker *w = &coop_workers[COOP_SPARE_FIRST + i];
      int cpu = i < count ? COOP_CPU_ANY : COOP_CPU_NONE;
      if (w->cpu == cpu)
	continue;
      __atomic_add_fetch (&coop_crowded, cpu == COOP_CPU_ANY ? 1 : -1,
			  __ATOMIC_SEQ_CST);
      __atomic_store_n (&w->cpu, cpu, __ATOMIC_SEQ_CST);
      more += cpu == COOP_CPU_ANY;
    }
  if (more)
    coop_region_extra_workers (more);
}

void
coop_worker_spares (unsigned count)
{
  pthread_mutex_lock (&assign_lock);
  asked_spares = count < COOP_MAX_SPARES ? count : COOP_MAX_SPARES;
  set_spares ();
  pthread_mutex_unlock (&assign_lock);
}

unsigned
coop_worker_usable (void)
{
  unsigned n = coop_peek (&coop_nworkers), usable = 0;
  for (unsigned i = 0; i < n; i++)
    usable += coop_may_run (&coop_workers[i]);
  return usable;
}

void
coop_worker_lend (uint64_t now)
{
  unsigned count = 0;

  if (!coop_share_leased (now) && coop_peek (&lent_spares) == 0)
    return;
  pthread_mutex_lock (&assign_lock);
  unsigned tasks = coop_peek (&coop_ult_live), usable = coop_worker_usable ();
  if (coop_share_leased (now) && usable > 0 && tasks > usable)
    count = tasks - usable;
  if (count > COOP_MAX_SPARES)
    count = COOP_MAX_SPARES;
  __atomic_store_n (&lent_spares, count, __ATOMIC_RELAXED);
  set_spares ();
  pthread_mutex_unlock (&assign_lock);
  if (count)
    coop_kthread_fill ();
}

static bool
is_busy (struct coop_worker *w)
{
  return w->started && !coop_load (&w->sleeping);
}

unsigned
coop_worker_running (void)
{
  unsigned n = coop_peek (&coop_nworkers), running = 0;
  for (unsigned i = 0; i < n; i++)
    running += is_busy (&coop_workers[i]);
  n = coop_peek (&coop_nspares);
  for (unsigned i = 0; i < n; i++)
    running += is_busy (&coop_workers[COOP_SPARE_FIRST + i]);
  return running;
}

/* ---- Assignment.  ---- */

/* Decides in CPU[0..n) who gets which of CPUS.  */
static void
distribute (const struct cosched_cpuset *cpus, int *cpu, unsigned n)
{
  struct cosched_cpuset left = *cpus;

  for (unsigned i = 0; i < n; i++)
    {
      cpu[i] = COOP_CPU_NONE;
      if (cpuset_has (&left, coop_workers[i].cpu))
	{
	  cpu[i] = coop_workers[i].cpu;
	  cpuset_remove (&left, cpu[i]);
	}
    }
  /* The initial thread stays on worker 0: it may take another's CPU.  */
  if (cpu[0] < 0 && cpuset_first (&left) < 0)
    for (unsigned i = n; i-- > 1 && cpu[0] < 0;)
      if (cpu[i] >= 0)
	{
	  cpu[0] = cpu[i];
	  cpu[i] = COOP_CPU_NONE;
	}
  /* Then those that run, as displaced ones or stragglers; then the others.  */
  for (int pass = 0; pass < 3; pass++)
    for (unsigned i = 0; i < n; i++)
      {
	int free = cpuset_first (&left);
	if (free < 0)
	  return;
	if (cpu[i] >= 0 || (pass == 0 && i != 0)
	    || (pass == 1 && !is_busy (&coop_workers[i])))
	  continue;
	cpu[i] = free;
	cpuset_remove (&left, free);
      }
}

/* W loses its CPU.  It or this sees that it has gone to sleep meanwhile.  */
static void
take_cpu (struct coop_worker *w)
{
  __atomic_store_n (&w->cpu, COOP_CPU_NONE, __ATOMIC_SEQ_CST);
  coop_share_forget (w);
  if (!w->started)
    return;
  if (!__atomic_exchange_n (&w->straggling, 1, __ATOMIC_SEQ_CST))
    __atomic_add_fetch (&coop_crowded, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n (&w->sleeping, __ATOMIC_SEQ_CST))
    coop_worker_settled (w);
  if (w->tid)
    pin_tid (w->tid, COOP_CPU_NONE);
}

static void
give_cpu (struct coop_worker *w, int cpu)
{
  __atomic_store_n (&w->cpu, cpu, __ATOMIC_SEQ_CST);
  if (!w->started)
    return;
  /* Who creates kernel threads binds itself when it has: they begin where it may run.  */
  if (w->tid && !coop_peek (&w->roaming))
    pin_tid (w->tid, cpu);
  coop_worker_settled (w);
  if (coop_mode != COSCHED_MODE_KTHREAD)
    coop_idle_wake (w);
}

/* Kernel threads that wait for a slot do not look again later: nothing is far.  */
static bool
has_far (void)
{
  if (coop_mode == COSCHED_MODE_KTHREAD)
    return false;
  for (unsigned i = 1; i < coop_nworkers; i++)
    if (coop_may_run (&coop_workers[i])
	&& coop_workers[i].node != coop_workers[0].node)
      return true;
  return false;
}

/* Has workers up to N, asleep and without CPUs.  */
static unsigned
grow (unsigned n)
{
  for (unsigned i = coop_nworkers; i < n; i++)
    {
      struct coop_worker *w = &coop_workers[i];
      w->index = i;
      w->cpu = COOP_CPU_NONE;
      w->sleeping = 1;
      if (coop_park_table (i))
	return i;
      __atomic_store_n (&coop_nworkers, i + 1, __ATOMIC_RELEASE);
    }
  return coop_nworkers;
}

/* What kernel threads were lent was for the CPUs that they had.  */
static void
end_lease (void)
{
  coop_share_end_lease ();
  __atomic_store_n (&lent_spares, 0, __ATOMIC_RELAXED);
  set_spares ();
}

/* The first N workers have CPU[0..N) now: where spares may run.  Kernel threads
   that were lent one move to slots that are free at once; the kernel would leave
   them where they are for milliseconds.  */
static void
move_spares (const int *cpu, unsigned n)
{
  unsigned next = coop_mode == COSCHED_MODE_KTHREAD ? 0 : n;

  for (unsigned i = 0; i < coop_nspares; i++)
    {
      struct coop_worker *w = &coop_workers[COOP_SPARE_FIRST + i];
      int to = COOP_CPU_ANY;
      if (w->tid == 0)
	continue;
      while (next < n && (cpu[next] < 0 || !coop_peek (&coop_workers[next].sleeping)))
	next++;
      if (!coop_may_run (w) && next < n)
	to = cpu[next++];
      pin_tid (w->tid, to);
    }
}

void
coop_worker_assign (const struct cosched_cpuset *cpus)
{
  int cpu[COOP_MAX_CPUS];

  pthread_mutex_lock (&assign_lock);
  __atomic_add_fetch (&coop_worker_changes, 1, __ATOMIC_SEQ_CST);
  end_lease ();
  unsigned n = grow (cpuset_count (cpus));
  distribute (cpus, cpu, n);
  if (cpuset_first (cpus) >= 0)
    allotted = *cpus;
  for (unsigned i = 0; i < n; i++)
    if (cpu[i] < 0 && coop_workers[i].cpu >= 0)
      take_cpu (&coop_workers[i]);
    else if (coop_workers[i].tid && cpuset_first (cpus) >= 0
	     && (cpu[i] < 0 /* straggler or asleep */
		 || coop_worker_seat (&coop_workers[i]) == COOP_CPU_ANY))
      pin_tid (coop_workers[i].tid, COOP_CPU_ANY);
  for (unsigned i = 0; i < n; i++)
    if (cpu[i] >= 0)
      {
	coop_workers[i].node = coop_domains[cpu[i]];
	if (cpu[i] != coop_workers[i].cpu)
	  give_cpu (&coop_workers[i], cpu[i]);
      }
  coop_domain_in_effect ();
  __atomic_store_n (&coop_has_far, has_far (), __ATOMIC_RELAXED);
  coop_stray_note ();
  move_spares (cpu, n);
  if (coop_home_tid)
    pin_tid (coop_home_tid, coop_workers[0].cpu);
  start_wanted ();
  pthread_mutex_unlock (&assign_lock);
  if (coop_mode == COSCHED_MODE_KTHREAD)
    coop_kthread_fill ();
}

void
coop_worker_reset (void)
{
  pthread_mutex_init (&assign_lock, NULL);
  memset (coop_workers, 0, sizeof coop_workers);
  memset (&allotted, 0, sizeof allotted);
  coop_share_reset ();
  coop_nworkers = coop_nspares = 0;
  asked_spares = lent_spares = started = demand = 0;
  coop_crowded = coop_runq_lost = coop_hold_seized = 0;
  coop_idle_reset ();
  coop_runq_handing = coop_runq_touched = 0;
  cpus_missing = false;
  if (cpuset_first (&coop_initial_cpus) >= 0)
    cpuset_apply (0, &coop_initial_cpus);
}
