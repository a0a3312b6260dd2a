/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Context switch: stack, callee-saved registers and thread pointer.

   A context that is not running is its stack pointer; everything else lies on
   its stack (coop_first_frame makes a new one).  The thread pointer belongs to
   the context as much as the stack does: a task sees its own thread-local
   storage on whatever kernel thread it continues.  */

#ifndef COOP_SWITCH_H
#define COOP_SWITCH_H 1

#pragma GCC visibility push(hidden)

/* Nonzero where user code cannot write the thread pointer (no FSGSBASE): the
   switch then asks the kernel (arch_prctl), about 100 ns instead of 2.  */
extern unsigned char coop_switch_by_kernel;

/* Saves the current context in *SAVE, continues the one at SP with the thread
   pointer TP.  Returns when the saved context is continued in turn, perhaps on
   another kernel thread.  */
extern void coop_switch (void **save, void *sp, void *tp);

#pragma GCC visibility pop

#endif /* COOP_SWITCH_H */
