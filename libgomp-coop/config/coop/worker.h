/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Workers: kernel threads on the CPUs of the allotment.

   coop_worker_assign gives each CPU of the allotment to one worker.  A worker
   keeps its CPU as long as possible; worker 0 always has one.  A worker that
   loses its CPU is moved at once onto the CPUs that remain, so that the other
   job finds its CPU free; it runs on as a straggler until its task reaches a
   scheduling point, then it sleeps.  While there are stragglers or spares
   nobody spins, since the one waited for may need the CPU.

   Kernel threads are created when there are tasks for them.  */

#ifndef COOP_WORKER_H
#define COOP_WORKER_H 1

#include "coop.h"

#include <signal.h>

#pragma GCC visibility push(hidden)

/* Puts CPUS into effect, with their LLC domains (domain.h).  No worker may run afterwards
   if CPUS is empty.  */
extern void coop_worker_assign (const struct cosched_cpuset *cpus);

/* Kernel threads that run tasks or look for some.  */
extern unsigned coop_worker_running (void);

/* Workers that have a CPU, spares not counted.  */
extern unsigned coop_worker_usable (void);

/* There are TASKS tasks, or will be: start workers that have a CPU and no thread yet.  */
extern void coop_worker_demand (unsigned tasks);

/* W no longer runs anything: it is no straggler any more.  */
extern void coop_worker_settled (struct coop_worker *w);

/* In kernel-thread mode: slot W, which has been given, is in use from now on.  */
extern void coop_worker_begun (struct coop_worker *w);

/* Where the kernel thread of W belongs: its CPU, or COOP_CPU_ANY.  */
extern int coop_worker_seat (const struct coop_worker *w);

/* Binds the calling kernel thread there and notes it as W's.  */
extern void coop_worker_pin (struct coop_worker *w);

/* Binds the calling kernel thread to all CPUs of the allotment.  */
extern void coop_worker_pin_any (void);

/* The calling worker may run on all CPUs of the allotment until
   coop_worker_sit: a kernel thread begins where its creator may run, and behind
   a creator that is bound to one CPU it would wait until that one's time slice
   is over.  */
extern void coop_worker_roam (void);
extern void coop_worker_sit_down (struct coop_worker *w);

static inline void
coop_worker_sit (void)
{
  struct coop_worker *w = coop_tls_worker ();
  if (w && __builtin_expect (w->roaming, 0))
    coop_worker_sit_down (w);
}

/* The last allotment that was not empty; false: there has been none.  */
extern bool coop_worker_allotted (struct cosched_cpuset *cpus);

/* Binds the initial thread, which is at home (home.h), to worker 0's CPU.  */
extern void coop_worker_pin_home (void);

/* Lets COUNT spares run; starts those that are missing.  */
extern void coop_worker_spares (unsigned count);

/* In kernel-thread mode: lets as many spares run as tasks have no slot if one had
   to wait for its CPU lately, and none otherwise (kthread.h).  */
extern void coop_worker_lend (uint64_t now);

/* Forgets all kernel threads (child of a fork) and unbinds the caller.  */
extern void coop_worker_reset (void);

/* Times that the assignment has changed.  */
extern unsigned coop_worker_changes;

/* The calling kernel thread, initial in the process, is that of worker 0.  */
extern void coop_worker_adopt (struct coop_worker *w);

/* Signals blocked in workers: those of the thread that starts the runtime, as
   threads of its team would have them.  */
extern sigset_t coop_worker_signals;

/* CPUs this process could use when it started.  */
extern struct cosched_cpuset coop_initial_cpus;

#pragma GCC visibility pop

#endif /* COOP_WORKER_H */
