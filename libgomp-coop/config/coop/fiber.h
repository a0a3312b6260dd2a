/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Contexts as valgrind and the sanitizers know them.

   A task with a donor needs little: to the address and thread sanitizers it is
   the donor's thread, stack, storage and all.  Tasks without donors and the
   worker's scheduler, however, take turns in one thread-local storage, where
   the sanitizers keep what they know of the current stack.  Each such context
   puts its own away when it is left, and takes it up when it is continued.

   All is behind coop_fibers, which is set if the program has a sanitizer.
   Valgrind is told of stacks when they are made.  */

#ifndef COOP_FIBER_H
#define COOP_FIBER_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

extern bool coop_fibers;

/* Finds out under what the program runs.  */
extern void coop_fiber_start (void);

/* Does valgrind run the program?  It knows no other way to change the thread
   pointer than asking the kernel.  */
extern bool coop_fiber_valgrind (void);

/* The stack of U is usable now; it goes away.  */
extern void coop_fiber_create (struct coop_ult *u);
extern void coop_fiber_destroy (struct coop_ult *u);

/* The current context of W is about to be left; one has been continued.  */
extern void coop_fiber_leave (struct coop_worker *w);
extern void coop_fiber_arrive (struct coop_worker *w);

#pragma GCC visibility pop

#endif /* COOP_FIBER_H */
