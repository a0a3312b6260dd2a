/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Does the host do what donors rely on?

   A donor lends its thread control block to code that runs on another kernel
   thread.  That is safe only as far as it is known what the C library and the
   kernel keep there: with glibc, two reserved signals, of which the second has
   a handler with three arguments (user ids), a restartable-sequences area that
   can be left, and no shadow stack.  Whatever is not found as expected means
   kernel-thread mode; a wrong guess would mean wrong results.  */

#ifndef COOP_HOST_H
#define COOP_HOST_H 1

#pragma GCC visibility push(hidden)

/* What is missing, seen before main, in words; NULL: nothing.  */
extern const char *coop_host_lacks (void);

/* The same for what is seen only once there has been a second thread.  Has the
   calling thread leave restartable sequences, wraps SIGSETXID.  */
extern const char *coop_host_lacks_at_start (void);

#pragma GCC visibility pop

#endif /* COOP_HOST_H */
