/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Births: who makes the storage and stacks of a team's tasks.

   A team has many tasks, and making the donor of one takes the kernel as long as
   thousands of instructions of the program.  So the thread that creates the team,
   their mother, only leaves each with the worker where it will begin.  The
   workers' schedulers make the donors, all at the same time and on their own CPUs,
   so that the kernel finds memory for them on their own NUMA nodes.  Before she
   opens the dock the mother makes those that are left, as a worker may have lost
   its CPU, never had a kernel thread, or have something else to run.  She waits for
   those that others are at; and if one cannot be made she ends the program, as
   upstream does.  */

#ifndef COOP_BIRTH_H
#define COOP_BIRTH_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* The caller is the mother of U, which has neither storage nor a stack.  */
extern void coop_birth_expect (struct coop_ult *u);

/* For W's scheduler: a task of W that is ready to begin now, or NULL.  */
extern struct coop_ult *coop_birth_next (struct coop_worker *w);

/* Returns when all tasks that the caller has created are born.  */
extern void coop_birth_await (void);

#pragma GCC visibility pop

#endif /* COOP_BIRTH_H */
