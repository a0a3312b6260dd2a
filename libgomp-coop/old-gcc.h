/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What compilers before GCC 11 lack: the attribute malloc with arguments, as the omp.h of newer
   releases has it, and the thread pointer of x86-64.  */

/* Without PIC it is libgomp.map that is preprocessed.  */
#if defined PIC && !defined __ASSEMBLER__
#define __malloc__(...) __malloc__
#ifdef __x86_64__
static inline void *
coop_thread_pointer (void)
{
  void *tp;

  __asm__ volatile ("mov %%fs:0, %0" : "=r" (tp));
  return tp;
}
#define __builtin_thread_pointer coop_thread_pointer
#endif
#endif
