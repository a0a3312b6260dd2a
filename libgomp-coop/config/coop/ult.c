/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Life of a task (ult.h).  */

#include "ult.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libgomp.h"
#include "../kmp/kmp.h"

#include "birth.h"
#include "dispatch.h"
#include "domain.h"
#include "donor.h"
#include "fiber.h"
#include "hint.h"
#include "interleave.h"
#include "kthread.h"
#include "park.h"
#include "placement.h"
#include "settings.h"
#include "stack.h"
#include "start.h"
#include "worker.h"

#undef pthread_setspecific

#define PAGE ((size_t) 65536) /* no processor has larger ones */
#define DEFAULT_STACK ((size_t) 8 << 20) /* where the attribute says nothing */
#define FIRST_ID 0x40000000		 /* above all kernel tids */

unsigned coop_ult_live;

static unsigned next_id;
static __thread struct gomp_thread foreign_thread;
static __thread struct coop_ult foreign_ult;

struct gomp_thread *
coop_thread_foreign (void)
{
  coop_tls.thread = &foreign_thread;
  return &foreign_thread;
}

void
coop_thread_set (void *data)
{
  struct coop_ult *u = coop_tls_ult ();
  struct gomp_thread *thread = data;
  /* gomp_thread_start has its data on the stack here and fills in all but
     these, which it reads when a team shrinks: in TLS they would be zero.  */
  thread->fn = NULL;
  thread->data = NULL;
  coop_tls.thread = thread;
  if (u)
    u->thread = thread;
}

int
coop_thread_set_destructor (void *thread)
{
  struct coop_ult *u = coop_tls_ult ();
  /* What libgomp frees at the end of a thread, only initial threads have.  */
  if (u && u->kind == COOP_ULT && !u->root)
    return 0;
  return pthread_setspecific (gomp_thread_destructor, thread);
}

struct coop_ult *
coop_ult_self (void)
{
  struct coop_ult *u = coop_tls_ult ();
  if (__builtin_expect (u != NULL, 1))
    return u;
  coop_interleave_end ();
  coop_start ();
  u = coop_tls_ult ();
  if (u)
    return u;
  foreign_ult.kind = COOP_FOREIGN;
  foreign_ult.thread = coop_tls.thread;
  coop_tls.ult = &foreign_ult;
  return &foreign_ult;
}

/* Is U's home in its LLC domain, and W is not?  Not before that is settled.  */
static bool
is_visitor (struct coop_ult *u, struct coop_worker *w)
{
  struct coop_worker *home = &coop_workers[u->home];
  return u->kind == COOP_ULT && coop_domain_is_settled (u) && w->node != u->node
	 && home->node == u->node && coop_may_run (home);
}

unsigned
coop_ult_settle (struct coop_ult *u)
{
  struct coop_worker *w
      = u->kind == COOP_KTHREAD ? u->slot : coop_tls_worker ();
  if (u->root)
    u->home = 0;
  else if (w && !coop_is_spare (w) && !is_visitor (u, w))
    u->home = w->index;
  return u->home;
}

int
coop_ult_id (void)
{
  struct coop_ult *u = coop_tls_ult ();
  if (u && u->kind == COOP_ULT)
    return FIRST_ID + (int) u->id;
  return (int) syscall (SYS_gettid);
}

/* A thread of an unmanaged process: as upstream's, but its data, which lie on
   the stack, are forgotten before destructors of thread-local objects run.  */
struct pthread_start
{
  void *(*fn) (void *);
  void *arg;
};

static void *
pthread_main (void *arg)
{
  struct pthread_start start = *(struct pthread_start *) arg;
  free (arg);
  void *result = start.fn (start.arg);
  coop_tls.thread = NULL;
  return result;
}

static int
create_pthread (pthread_t *handle, const pthread_attr_t *attr,
		void *(*fn) (void *), void *arg)
{
  struct pthread_start *start = malloc (sizeof *start);
  if (!start)
    return EAGAIN;
  start->fn = fn;
  start->arg = arg;
  int err = pthread_create (handle, attr, pthread_main, start);
  if (err)
    free (start);
  return err;
}

void
coop_ult_main (void)
{
  coop_dispatch_begin ();
  struct coop_ult *u = coop_tls_ult ();
  struct gomp_task implicit;
  u->implicit = &implicit;
  if (u->tp)
    errno = 0; /* its donor may have had a task before */
  u->fn (u->arg);
  coop_ult_exit ();
}

/* A task on a stack of its own, with the thread-local storage of whatever
   worker runs it.  */
static int
create_plain (struct coop_ult *u)
{
  size_t size = u->stack_size ? u->stack_size : DEFAULT_STACK;
  size = ((size + PAGE - 1) & -PAGE) + COOP_STACK_GUARD;
  char *p = mmap (NULL, size, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1,
		  0);
  if (p == MAP_FAILED)
    return EAGAIN;
  mprotect (p, COOP_STACK_GUARD, PROT_NONE);
  u->stack = p;
  u->stack_size = size;
  u->sp = coop_first_frame ((uintptr_t) p + size, coop_ult_main);
  coop_fiber_create (u);
  return 0;
}

/* May a task share its worker's storage when there is no donor for it?  Not if
   that could silently be wrong, nor if donors were asked for.  */
static bool
may_share_storage (int err)
{
  static bool told;
  if (coop_settings.mode_given || coop_needs.own_storage)
    return false;
  if (!__atomic_exchange_n (&told, true, __ATOMIC_RELAXED))
    gomp_error ("cosched: not every thread can have storage of its own (%s): "
		"some share errno and the like",
		strerror (err));
  return true;
}

int
coop_ult_bear (struct coop_ult *u)
{
  if (coop_mode == COSCHED_MODE_ULT)
    return create_plain (u);
  int err = coop_donor_create (u);
  if (err && may_share_storage (err))
    err = create_plain (u);
  return err;
}

static size_t
stack_size_of (const pthread_attr_t *attr)
{
  size_t size;
  return pthread_attr_getstacksize (attr, &size) ? 0 : size;
}

/* Workers write to their tasks at each switch, and neighbours in memory are most
   often another worker's: no two tasks share a cache line, and as much as one needs is
   left free, since processors fetch neighbours of lines.  */
static struct coop_ult *
allocate (const pthread_attr_t *attr)
{
  size_t size = (2 * sizeof (struct coop_ult) + COOP_LINE - 1) & -COOP_LINE;
  size_t stack_size = stack_size_of (attr);
  struct coop_ult *u = NULL;
  void *p;

  if (coop_mode == COSCHED_MODE_DONOR)
    u = coop_donor_reuse (stack_size);
  if (u || posix_memalign (&p, COOP_LINE, size))
    return u;
  u = memset (p, 0, size);
  u->stack_size = stack_size;
  return u;
}

int
coop_ult_create (pthread_t *handle, const pthread_attr_t *attr,
		 void *(*fn) (void *), void *arg, unsigned id, unsigned team)
{
  if (!coop_managed)
    return create_pthread (handle, attr, fn, arg);
  struct coop_ult *u = allocate (attr);
  if (!u)
    return EAGAIN;
  u->fn = fn;
  u->arg = arg;
  u->id = __atomic_add_fetch (&next_id, 1, __ATOMIC_RELAXED);
  u->kind = coop_mode == COSCHED_MODE_KTHREAD ? COOP_KTHREAD : COOP_ULT;
  coop_placement_first (u, id, team);
  u->settled = COOP_DOMAINS_UNSETTLED;
  u->pinned = COOP_CPU_NONE;
  if (__builtin_expect (coop_peek (&coop_hint_known), 0))
    __atomic_store_n (&coop_hint_stale, 1, __ATOMIC_RELAXED);
  *handle = (pthread_t) u;
  coop_worker_demand (__atomic_add_fetch (&coop_ult_live, 1, __ATOMIC_RELAXED)
		      + team - 1 - id);
  if (u->kind == COOP_KTHREAD)
    return coop_kthread_create (u, attr);
  if (u->tp)
    coop_dispatch_first (u);
  else
    coop_birth_expect (u);
  return 0;
}

pthread_t
coop_ult_handle (void)
{
  struct coop_ult *u = coop_tls_ult ();
  return u ? (pthread_t) u : pthread_self ();
}

int
coop_ult_detach (pthread_t handle)
{
  if (!coop_managed)
    return pthread_detach (handle);
  struct coop_ult *u = (struct coop_ult *) handle;
  u->detached = true;
  return 0;
}

int
coop_ult_join (pthread_t handle)
{
  if (!coop_managed)
    return pthread_join (handle, NULL);
  struct coop_ult *u = (struct coop_ult *) handle;
  while (!coop_load (&u->done))
    coop_park (&u->done, 0);
  if (!u->stack)
    pthread_join (u->pthread, NULL);
  free (u);
  return 0;
}

void
coop_ult_exit (void)
{
  struct coop_ult *u = coop_tls_ult ();
  if (!u)
    {
      coop_tls.thread = NULL;
      pthread_exit (NULL);
    }
  __atomic_sub_fetch (&coop_ult_live, 1, __ATOMIC_RELAXED);
  if (u->kind == COOP_KTHREAD)
    coop_kthread_exit (u);
  kmp_thread_end ();
  coop_dispatch_exit (u);
}

void
coop_ult_reclaim (struct coop_ult *u)
{
  bool detached = u->detached, plain = u->stack != NULL;

  if (plain)
    {
      coop_stack_remove (u);
      coop_fiber_destroy (u);
      munmap (u->stack, u->stack_size);
    }
  else
    coop_donor_return (u, detached);
  if (!detached)
    {
      /* The joiner frees U as soon as it sees this.  */
      int *done = &u->done;
      coop_store (done, 1);
      coop_unpark (done, INT_MAX);
    }
  else if (plain)
    free (u);
}
