/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Thread pointer, pause and first frame of a context on aarch64.  */

#ifndef COOP_ARCH_AARCH64_H
#define COOP_ARCH_AARCH64_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* See arch.h.  */
#define COOP_TLS_LOAD(field, result)                                          \
  do                                                                          \
    {                                                                         \
      uintptr_t offset_;                                                      \
      __asm volatile ("adrp %1, :gottprel:coop_tls\n\t"                       \
		      "ldr %1, [%1, #:gottprel_lo12:coop_tls]\n\t"            \
		      "mrs %0, tpidr_el0\n\t"                                 \
		      "add %1, %1, %0\n\t"                                    \
		      "ldr %0, [%1, %2]"                                      \
		      : "=&r"(result), "=&r"(offset_)                         \
		      : "i"(offsetof (struct coop_tls, field)));              \
    }                                                                         \
  while (0)

/* User code may always write it: never the kernel's business.  */
static inline void
coop_set_thread_pointer (void *tp)
{
  __asm volatile ("msr tpidr_el0, %0" : : "r"(tp) : "memory");
}

static inline bool
coop_switch_needs_kernel (void)
{
  return false;
}

static inline void
coop_prefetch_write (void *p)
{
  __builtin_prefetch (p, 1);
}

static inline void
coop_pause (void)
{
  __asm volatile ("yield" : : : "memory");
}

/* See arch.h.  */
static inline long
coop_syscall (long number, long a, long b, long c, long d)
{
  register long x8 __asm ("x8") = number;
  register long x0 __asm ("x0") = a;
  register long x1 __asm ("x1") = b;
  register long x2 __asm ("x2") = c;
  register long x3 __asm ("x3") = d;
  __asm volatile ("svc 0"
		  : "+r"(x0)
		  : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
		  : "memory");
  return x0;
}

/* Words that coop_switch keeps on the stack of a context, and the places of
   those that matter elsewhere.  */
#define COOP_FRAME_WORDS 22
#define COOP_FRAME_FPCR 20
#define COOP_FRAME_PC 21

static inline void *
coop_first_frame (uintptr_t top, void (*entry) (void))
{
  uintptr_t *sp = (uintptr_t *) ((top - 64) & -(uintptr_t) 64);
  sp -= COOP_FRAME_WORDS;
  for (int i = 0; i < COOP_FRAME_WORDS; i++)
    sp[i] = 0; /* x29 and x30, too: end of all backtraces */
  __asm volatile ("mrs %0, fpcr" : "=r"(sp[COOP_FRAME_FPCR]));
  sp[COOP_FRAME_PC] = (uintptr_t) entry;
  return sp;
}

/* Of a ucontext_t.  */
#define COOP_REGISTERS 31
#define COOP_REGISTER(context, i) ((uint64_t) (context)->uc_mcontext.regs[i])
#define COOP_PC(context) ((uintptr_t) (context)->uc_mcontext.pc)
#define COOP_SP(context) ((uintptr_t) (context)->uc_mcontext.sp)

#endif /* COOP_ARCH_AARCH64_H */
