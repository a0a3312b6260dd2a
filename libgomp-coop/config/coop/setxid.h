/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Changes of user and group ids, which glibc makes in all threads by a signal.

   The kernel has ids by kernel thread.  glibc has the caller change its own and
   sends SIGSETXID to all others it knows; each counts itself off in the thread
   control block it runs with.  A task runs with a borrowed one.  So the handler
   here calls glibc's with the kernel thread's own block.  And as the owner of
   the caller's block is the one thread that glibc does not signal, while it
   does signal the one that the caller runs on, that one has the owner copy the
   new ids before the caller goes on.  */

#ifndef COOP_SETXID_H
#define COOP_SETXID_H 1

#include <stdbool.h>

#pragma GCC visibility push(hidden)

#define COOP_SIGSETXID 33 /* below the first real-time signal */

/* Installs the handler round glibc's.  False: glibc's is not as expected.  Call
   it when a second thread has been created, which is when glibc installs its
   own.  */
extern bool coop_setxid_wrap (void);

/* Has the handler run on the stack that it interrupts, not on the alternate
   one that each worker has, so that a task can be left from it.  */
extern bool coop_setxid_leave_alternate (void);

#pragma GCC visibility pop

#endif /* COOP_SETXID_H */
