/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Start of the runtime, and what a fork does to it.

   The runtime starts when the first team is made or the first lock is waited
   for.  If that is done by the process's initial thread, it becomes the root:
   an ordinary user-level task whose home is worker 0, that is, its own kernel
   thread; the scheduler of worker 0 gets a donor's stack and storage.  All
   other threads that the program creates itself are foreign.

   The child of a fork has none of the parent's kernel threads, pages and
   connections; it starts anew when it first uses OpenMP.  */

#ifndef COOP_START_H
#define COOP_START_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Starts the runtime if it has not been.  If that fails the process becomes
   an unmanaged one.  */
extern void coop_start (void);

/* A child of a fork can have regions from now on.  When the library is
   loaded.  */
extern void coop_start_watch_forks (void);

#pragma GCC visibility pop

#endif /* COOP_START_H */
