/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Thread pointer, pause and first frame of a context on x86-64.  */

#ifndef COOP_ARCH_X86_64_H
#define COOP_ARCH_X86_64_H 1

#include <stddef.h>
#include <stdint.h>

/* After a switch the same function runs with another thread pointer, so the
   compiler must not keep &coop_tls: a volatile asm is done each time.  */
#define COOP_TLS_LOAD(field, result)                                          \
  __asm volatile ("movq coop_tls@gottpoff(%%rip), %0\n\t"                     \
		  "movq %%fs:%c1(%0), %0"                                     \
		  : "=r"(result)                                              \
		  : "i"(offsetof (struct coop_tls, field)))

static inline struct gomp_thread *
coop_tls_thread (void)
{
  struct gomp_thread *thread;
  COOP_TLS_LOAD (thread, thread);
  return thread;
}

static inline struct coop_ult *
coop_tls_ult (void)
{
  struct coop_ult *ult;
  COOP_TLS_LOAD (ult, ult);
  return ult;
}

static inline struct coop_worker *
coop_tls_worker (void)
{
  struct coop_worker *worker;
  COOP_TLS_LOAD (worker, worker);
  return worker;
}

static inline void
coop_pause (void)
{
  __builtin_ia32_pause ();
}

/* Builds below TOP what coop_switch expects on the stack of a context that
   will begin with ENTRY, which never returns.  Returns its stack pointer.  */
static inline void *
coop_first_frame (uintptr_t top, void (*entry) (void))
{
  uintptr_t *sp = (uintptr_t *) ((top - 64) & -(uintptr_t) 64);
  *--sp = 0; /* return address of ENTRY: end of all backtraces */
  *--sp = (uintptr_t) entry;
  for (int i = 0; i < 6; i++)
    *--sp = 0; /* rbp rbx r12 to r15 */
  --sp;
  __asm volatile ("stmxcsr (%0)\n\tfnstcw 4(%0)" : : "r"(sp) : "memory");
  return sp;
}

#endif /* COOP_ARCH_X86_64_H */
