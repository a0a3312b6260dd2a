/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The words of the runtime: tasks, workers, and what all modules share.

   task (struct coop_ult)
     One OpenMP thread.  Three kinds: a user-level task, which any worker can
     run; a kernel thread that runs only while it holds a slot; a foreign
     thread, created by the program itself, that the runtime does not manage.

   worker (struct coop_worker)
     The right to run on one CPU, or, with a negative cpu, on none.  Workers
     come first (coop_workers[0..coop_nworkers)); worker 0 belongs to the
     initial thread and keeps a CPU as long as the process has one.  Spares
     follow at COOP_SPARE_FIRST; they run on any CPU of the allotment and only
     when the watchdog wants them.  With user-level tasks a worker is a kernel
     thread with a scheduler context of its own; in kernel-thread mode it is a
     slot that one kernel thread holds at a time.

   A program without an agent, in the mode auto, uses none of this: all hooks
   are behind coop_managed and leave upstream's code as it is.  */

#ifndef COOP_COOP_H
#define COOP_COOP_H 1

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/layout.h"
#include "thread.h"

#pragma GCC visibility push(hidden)

#define COOP_MAX_CPUS COSCHED_MAX_CPUS
#define COOP_MAX_SPARES 256
#define COOP_SPARE_FIRST COOP_MAX_CPUS
#define COOP_MAX_WORKERS (COOP_MAX_CPUS + COOP_MAX_SPARES)

/* Values of struct coop_worker.cpu besides CPU numbers.  */
#define COOP_CPU_NONE (-1)	      /* may not run */
#define COOP_CPU_ANY COOP_MAX_CPUS    /* spare: any CPU of the allotment */

#define COOP_PLACES 32 /* barriers after which tasks have an order */
#define COOP_HINT_SETS 8 /* regions for which tasks have homes (hint.h) */
#define COOP_LINE 64 /* bytes in a cache line */

enum coop_kind
{
  COOP_ULT,
  COOP_KTHREAD,
  COOP_FOREIGN
};

struct coop_ult
{
  /* What other workers see of a batch is in one cache line.  */
  struct coop_ult *next;      /* in a queue, a bucket or a batch */
  /* First task of a batch (batch.h): its last, its size, the next batch.  */
  struct coop_ult *batch_tail, *batch_next;
  unsigned batch_count;
  unsigned home;	      /* worker whose queue and table it uses */
  enum coop_kind kind;
  bool root;	 /* the initial thread */
  bool early;	 /* continued although its barrier may not be over, */
  bool elected;	 /* and is to act as the last one there */
  bool docked;	 /* waits beyond the barrier, in the dock */
  bool pooled;	 /* has been in a pool's dock before */
  unsigned char settled; /* domain.h: whose number node is, where it was at its first
			    barrier under it; 0: has been at none */
  struct gomp_thread *thread; /* for a task without TLS of its own */
  void *sp;		      /* stack pointer while not running, else NULL */
  struct coop_tls *tls;	      /* that of tp, NULL: worker's */

  void *tp;		      /* thread pointer of its own, NULL: worker's */
  struct kmp_thread *kmp;     /* as thread */
  int *addr;		      /* word it is parked on */
  unsigned node;	      /* LLC domain of its first region, or its home (domain.h) */
  /* Its home in some regions, LLC domain and one, or 0.  */
  uint16_t home_in[COOP_HINT_SETS];
  int trimming;		      /* futex, 1: its stack is being trimmed */
  bool ran;		      /* since its stack was looked at last (stack.h) */
  unsigned arrived;	      /* generation of the barrier where it was last (follow.h) */
  unsigned id;		      /* never reused; stands for the kernel's tid */
  bool detached; /* nobody joins it */
  int ready;	 /* futex, 1: KTHREAD, FOREIGN: may run; donor: lends its storage */
  int done;	 /* futex, 1: it has ended */
  int finish;	 /* futex, 1: the donor may end */
  struct coop_worker *slot; /* KTHREAD: held, NULL: none */
  pid_t tid;		    /* KTHREAD */
  int pinned;		    /* KTHREAD: CPU it was last bound to, */
  unsigned pinned_at;	    /* at this count of changes */
  void *(*fn) (void *);
  void *arg;
  char *stack; /* mapping of a task without donor, NULL: none */
  size_t stack_size;
  char *stack_top; /* where its first frame goes, or is */
  /* Its implicit task in launched regions (launch.h).  On its stack: in memory that
     neighbours use, processors would fetch it ahead of time for those.  */
  struct gomp_task *implicit;
  /* The pool that it is in and coop_batch_leader leads, or NULL; what launches
     regions there (launch.h), NULL: not known yet.  */
  struct gomp_thread_pool *pool;
  struct coop_launch *launch;
  struct coop_ult *led; /* the initial thread: batch that it has left at its dock (hold.h) */
  void *alternate; /* KTHREAD: stack for signals, see overflow.h */
  unsigned stint_ns; /* it worked so long before it spun (preempt.c) */
  bool in_vain;	     /* it was continued while it still had to wait */
  /* How many tasks it lets go first after each barrier (order.h); where it spun
     last, and how often.  */
  unsigned char patience[COOP_PLACES];
  unsigned spun_at, spins;
  unsigned polls; /* calls of coop_poll; the last one that looked at the clock */
  uint64_t polled_ns;
  unsigned listed; /* place in the list of stacks and one */
  struct coop_fiber *fiber; /* for debugging tools, mostly NULL */
  pthread_t pthread; /* donor or kernel thread */
  /* Who created it, until it is born (birth.h); how many tasks it has created that
     are not, futex; why one of them cannot be, or 0.  */
  struct coop_ult *mother;
  int unborn;
  int birth_error;
};

/* What a context leaves to the one that runs next on its worker.  */
enum coop_post
{
  COOP_POST_NOTHING,
  COOP_POST_UNLOCK,  /* a lock that protects the context's saved state */
  COOP_POST_RECLAIM, /* the task, which has ended */
  COOP_POST_HOME     /* the initial thread, which is wanted there */
};

struct coop_runq
{
  int lock; /* maybe biased towards its worker, which then does without it (runq.h): */
  int entered;
  unsigned rest, last_rest; /* so often it will be unlocked without a bias, and was, */
  unsigned grants;	    /* and with one since then */
  unsigned length; /* read without the lock as a hint */
  struct coop_ult *head, *tail;
  struct coop_ult *unborn; /* first of them (birth.h), */
  struct coop_ult *last_unborn;
  uint64_t since_ns; /* when it was empty last; only with several LLC domains */
};

/* Tasks that have arrived at a barrier and are not counted yet (batch.h).  */
struct coop_batch
{
  struct coop_barrier *bar;
  unsigned *awaited; /* the counter of BAR that is meant */
  struct coop_ult *head, *tail;
  unsigned count;
  bool docking; /* goes on to the dock; the initial thread, if there, is the first */
};

/* What a worker counts for the region that runs (region.h).  */
enum coop_counter
{
  COOP_BARRIERS, /* that it completed */
  COOP_ITERATIONS,
  COOP_ULTS,
  COOP_COUNTERS
};

struct coop_worker
{
  struct coop_runq queue __attribute__ ((aligned (COOP_LINE)));

  /* Written by the monitor and by those who wake it.  */
  int cpu __attribute__ ((aligned (COOP_LINE)));
  unsigned index;
  unsigned node;    /* LLC domain of cpu */
  int sleeping;	    /* futex, 1: asleep (thread) or free (slot) */
  int straggling;   /* lost its CPU, but still runs */
  int lost;	    /* something else seems to run on its CPU (runq.h), */
  int shared;	    /* now and then (share.h) */
  bool started;	    /* has a kernel thread or may be used as a slot */
  pid_t tid;	    /* kernel thread that runs here */
  struct coop_ult *home_ready; /* worker 0: root that must continue here */

  /* Written by the worker itself.  */
  struct coop_ult *running __attribute__ ((aligned (COOP_LINE)));
  unsigned long switches; /* tasks begun or continued */
  void *sched_sp;	  /* its scheduler's context */
  void *sched_tp;
  struct coop_tls *sched_tls;
  void *own_tp;		  /* what the kernel created the thread with */
  struct coop_batch batch;
  struct coop_batch held; /* counted; only in the scheduler's context */
  struct coop_batch closing; /* the last one of its team completes a barrier */
  unsigned held_state;
  int held_lock;	  /* of both once they are offered to others, */
  int held_offered;	  /* who may take the batch when its barrier is over */
  struct coop_barrier *watched; /* by its scheduler, NULL: none */
  unsigned *passing;	  /* counter whose batch any member may join (batch.c) */
  enum coop_post post;	  /* duty of the context that runs next, and for whom */
  void *post_for;
  unsigned long adopted; /* switches when it looked after other queues */
  uint64_t idle_since_ns; /* 0: not idle */
  uint64_t idle_told_ns;  /* until when that has been counted (region.h) */
  bool bearing;		  /* is about to make a task's kernel thread (birth.h) */
  uint64_t spun_ns;	  /* when it looked last in this turn of spinning */
  uint64_t shared_until_ns; /* its CPU seems not to be its own until then, */
  uint64_t shared_ns;	    /* for so long the last time */
  uint64_t given_ns;	    /* slot: when it was given to who has it */
  unsigned suspect;	  /* worker that may have lost its CPU, */
  unsigned long suspect_switches; /* its count, */
  uint64_t suspect_ns;	  /* at this time; 0: no suspect */
  unsigned long seen;	  /* watchdog: switches at a look, */
  uint64_t seen_ns;	  /* the first one that saw this many */

  /* Progress, which only grows, and how much of it has been credited to a region
     (region.c).  */
  unsigned region __attribute__ ((aligned (COOP_LINE)));
  bool roaming; /* may run on all CPUs, while it creates kernel threads */
  uint64_t counted[COOP_COUNTERS], credited[COOP_COUNTERS];
  uint64_t steals;
};

extern struct coop_worker coop_workers[COOP_MAX_WORKERS];
extern unsigned coop_nworkers; /* regular ones, only grows */
extern unsigned coop_nspares;  /* spares that have been started, only grows */

/* Workers are on CPUs of several LLC domains.  */
extern bool coop_has_far;

/* Kernel threads that share CPUs with others of ours: nobody spins then.  */
extern int coop_crowded;

/* This process lets the runtime manage its threads.  Known before main;
   cleared if the runtime cannot start.  */
extern bool coop_managed;

#define coop_load(p) __atomic_load_n (p, __ATOMIC_ACQUIRE)
#define coop_peek(p) __atomic_load_n (p, __ATOMIC_RELAXED)
#define coop_store(p, v) __atomic_store_n (p, v, __ATOMIC_RELEASE)
#define coop_fence() __atomic_thread_fence (__ATOMIC_SEQ_CST)

extern uint64_t coop_now_ns (void); /* CLOCK_MONOTONIC */

/* The kernel's futex, on words of this process only.  */
extern void coop_futex_sleep (int *word, int value);
extern void coop_futex_wake (int *word, int count);

/* What the file at PATH begins with, into TEXT[SIZE]; false, and "", if it cannot be opened.  */
extern bool coop_read_text (const char *path, char *text, size_t size);

/* As pthread_create, with all signals blocked in the new thread: what is sent to the process is for
   the program's own.  */
extern int coop_create_masked (pthread_t *thread, const pthread_attr_t *attr,
			       void *(*fn) (void *), void *arg);

/* Spin lock for sections of a few instructions; yields the CPU when its holder
   must have lost it.  */
enum coop_lock
{
  COOP_LOCK_FREE,
  COOP_LOCK_HELD,
  COOP_LOCK_BIASED /* free; of run queues only (runq.h) */
};

/* Between two looks at what another thread does for a few instructions only; *SPINS looks
   so far.  Yields the CPU when it must have lost its own.  */
extern void coop_lock_pause (unsigned *spins);

/* Returns what the lock was before the caller got it.  */
extern int coop_lock_slow (int *lock);

static inline void
coop_lock (int *lock)
{
  if (__atomic_exchange_n (lock, COOP_LOCK_HELD, __ATOMIC_ACQUIRE))
    coop_lock_slow (lock);
}

static inline void
coop_unlock (int *lock)
{
  coop_store (lock, COOP_LOCK_FREE);
}

/* May W run now, and has it nothing more urgent to do than its task?  */
static inline bool
coop_may_run (struct coop_worker *w)
{
  return coop_peek (&w->cpu) >= 0;
}

static inline bool
coop_must_leave (struct coop_worker *w)
{
  return coop_peek (&w->cpu) < 0 || coop_peek (&w->home_ready) != NULL;
}

static inline bool
coop_is_spare (const struct coop_worker *w)
{
  return w->index >= COOP_SPARE_FIRST;
}

#pragma GCC visibility pop

#endif /* COOP_COOP_H */
