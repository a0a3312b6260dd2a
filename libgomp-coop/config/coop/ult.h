/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Life of a task: what libgomp believes to be a pthread.

   team.c creates its threads with coop_ult_create and so on in place of
   pthread_create.  In an unmanaged process they are pthreads and the handle is
   theirs; otherwise the handle is the task.  A task ends by returning from its
   function or by coop_ult_exit; who joins it waits in the parking lot first,
   so that the worker is free to run the task to its end.  */

#ifndef COOP_ULT_H
#define COOP_ULT_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* As pthread_create; the new task is number ID of a team of TEAM.  */
extern int coop_ult_create (pthread_t *handle, const pthread_attr_t *attr,
			    void *(*fn) (void *), void *arg, unsigned id,
			    unsigned team);
extern int coop_ult_join (pthread_t handle);
extern int coop_ult_detach (pthread_t handle);
extern pthread_t coop_ult_handle (void);
extern void coop_ult_exit (void) __attribute__ ((noreturn));

/* The current task.  Starts the runtime if that has not been done; a kernel
   thread that the runtime does not know becomes a foreign task.  */
extern struct coop_ult *coop_ult_self (void);

/* U is going to wait: makes the worker that U runs on its home, but for one that
   was stolen from its LLC domain and can go back there; returns the home's index.
   The initial thread is always at home on worker 0.  */
extern unsigned coop_ult_settle (struct coop_ult *u);

/* Number that identifies the current task as the kernel's tid would.  */
extern int coop_ult_id (void);

/* Tasks that have not ended, the initial thread included.  */
extern unsigned coop_ult_live;

/* Gives U, which has none, storage and a stack, so that it is ready to begin.
   Returns 0 or an error number.  */
extern int coop_ult_bear (struct coop_ult *u);

/* Body of a task (called by the donor's or plain task's first frame).  */
extern void coop_ult_main (void);

/* U, whose context nobody will continue, may be reclaimed.  */
extern void coop_ult_reclaim (struct coop_ult *u);

#pragma GCC visibility pop

#endif /* COOP_ULT_H */
