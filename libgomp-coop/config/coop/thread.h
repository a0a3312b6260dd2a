/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* How libgomp's own files find the current thread: the hook of the port.

   libgomp.h includes "sem.h", hence this file, before it defines gomp_thread.
   Without HAVE_TLS, which sem.h undefines, it takes the branch that asks
   pthread_getspecific for the key gomp_tls_key; here that question is answered
   from coop_tls, which is switched together with the task.  */

#ifndef COOP_THREAD_H
#define COOP_THREAD_H 1

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

struct gomp_thread;
struct coop_ult;
struct coop_worker;
struct kmp_thread;

/* Thread-local state.  It lies in the thread control block that the task
   carries with it (a donor's, or that of the initial thread); plain tasks use
   the one of the worker they run on.  */
struct coop_tls
{
  struct gomp_thread *thread; /* libgomp's data of the current thread */
  struct coop_ult *ult;	      /* task, NULL: unknown to the runtime so far */
  struct coop_worker *worker; /* that runs the task, NULL: none */
  struct kmp_thread *kmp; /* state of ../kmp of the task, NULL: none */
  long owner; /* kernel thread whose control block this is, 0: not ours */
};

extern __thread struct coop_tls coop_tls
    __attribute__ ((tls_model ("initial-exec")));

#include "arch.h"

/* Libgomp's data of a kernel thread that libgomp did not create.  */
extern struct gomp_thread *coop_thread_foreign (void);

/* Makes THREAD the data of the current thread.  */
extern void coop_thread_set (void *thread);

/* Has gomp_free_thread run for THREAD when the current kernel thread ends.  */
extern int coop_thread_set_destructor (void *thread);

static inline void *
coop_thread_get (void)
{
  void *thread = coop_tls_thread ();
  if (__builtin_expect (thread == NULL, 0))
    thread = coop_thread_foreign ();
  return thread;
}

#pragma GCC visibility pop

/* The keys are told apart by their names; OpenACC's stay real ones.  */
#define pthread_getspecific(key) COOP_GET_##key
#define pthread_setspecific(key, value) COOP_SET_##key (value)
#define COOP_GET_gomp_tls_key coop_thread_get ()
#define COOP_SET_gomp_tls_key(value) coop_thread_set (value)
#define COOP_SET_gomp_thread_destructor(value)                                \
  coop_thread_set_destructor (value)
#define COOP_GET_goacc_tls_key (pthread_getspecific) (goacc_tls_key)
#define COOP_SET_goacc_tls_key(value)                                         \
  (pthread_setspecific) (goacc_tls_key, value)
#define COOP_SET_goacc_cleanup_key(value)                                     \
  (pthread_setspecific) (goacc_cleanup_key, value)

#endif /* COOP_THREAD_H */
