/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Thread pointer, pause and first frame of a context on x86-64.  */

#ifndef COOP_ARCH_X86_64_H
#define COOP_ARCH_X86_64_H 1

/* libgomp.h, which gets here, makes hidden what is declared below it.  */
#pragma GCC visibility push(default)
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#pragma GCC visibility pop

#include "switch.h"

/* See arch.h.  */
#define COOP_TLS_LOAD(field, result)                                          \
  do                                                                          \
    {                                                                         \
      long offset_; /* the same wherever it runs */                           \
      __asm ("movq coop_tls@gottpoff(%%rip), %0" : "=r"(offset_));            \
      __asm volatile ("movq %%fs:%c1(%2), %0"                                 \
		      : "=r"(result)                                          \
		      : "i"(offsetof (struct coop_tls, field)), "r"(offset_)); \
    }                                                                         \
  while (0)

/* Where user code may not write it, only the kernel can, which takes about
   100 ns instead of 2.  */
static inline void
coop_set_thread_pointer (void *tp)
{
  if (coop_switch_by_kernel)
    syscall (SYS_arch_prctl, 0x1002 /* ARCH_SET_FS */, tp);
  else
    __asm volatile ("wrfsbase %0" : : "r"(tp) : "memory");
}

/* Linux tells by bit 1 of AT_HWCAP2 that it has set FSGSBASE.  */
static inline bool
coop_switch_needs_kernel (void)
{
  return !(getauxval (AT_HWCAP2) & 2);
}

/* The compiler uses this instruction only if told that all processors have it.  Those without
   do nothing.  */
static inline void
coop_prefetch_write (void *p)
{
  __asm volatile ("prefetchw %0" : : "m"(*(char *) p));
}

static inline void
coop_pause (void)
{
  __builtin_ia32_pause ();
}

/* See arch.h.  */
static inline long
coop_syscall (long number, long a, long b, long c, long d)
{
  register long r10 __asm ("r10") = d;
  long result = number;
  __asm volatile ("syscall"
		  : "+a"(result)
		  : "D"(a), "S"(b), "d"(c), "r"(r10)
		  : "rcx", "r11", "memory");
  return result;
}

/* Words that coop_switch keeps on the stack of a context, and the place where
   it continues.  */
#define COOP_FRAME_WORDS 8
#define COOP_FRAME_PC 7

static inline void *
coop_first_frame (uintptr_t top, void (*entry) (void))
{
  uintptr_t *sp = (uintptr_t *) ((top - 64) & -(uintptr_t) 64);
  *--sp = 0; /* return address of ENTRY: end of all backtraces */
  *--sp = (uintptr_t) entry;
  for (int i = 0; i < 7; i++)
    *--sp = 0; /* rbp rbx r12 to r15, what follows */
  __asm volatile ("stmxcsr (%0)\n\tfnstcw 4(%0)" : : "r"(sp) : "memory");
  return sp;
}

/* Of a ucontext_t.  The mark is the resume flag: the processor clears it with the
   next instruction.  */
#define COOP_REGISTERS 16 /* all general ones */
#define COOP_REGISTER(context, i) ((uint64_t) (context)->uc_mcontext.gregs[i])
#define COOP_PC(context) ((uintptr_t) (context)->uc_mcontext.gregs[REG_RIP])
#define COOP_SP(context) ((uintptr_t) (context)->uc_mcontext.gregs[REG_RSP])
#define COOP_MARK 0x10000
#define COOP_MARKS(context) ((context)->uc_mcontext.gregs[REG_EFL])

#endif /* COOP_ARCH_X86_64_H */
