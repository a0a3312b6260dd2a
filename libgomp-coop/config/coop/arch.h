/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What the port needs to know about the processor, one file for each.

   arch-CPU.h    COOP_TLS_LOAD (field, result): result = coop_tls.field, by a
		 volatile asm: after a switch the same function runs with
		 another thread pointer, so the compiler must neither keep
		 &coop_tls nor move the access over the switch
		 coop_set_thread_pointer (tp)
		 coop_switch_needs_kernel (): must coop_switch_by_kernel be set?
		 coop_pause ()
		 coop_prefetch_write (p): as __builtin_prefetch (p, 1)
		 coop_syscall (number, a, b, c, d): returns what the kernel
		 does and leaves errno alone, for code on a parked donor, whose
		 errno a task is using elsewhere
		 coop_first_frame (top, entry): builds below TOP what
		 coop_switch expects on the stack of a context that will begin
		 with ENTRY, which never returns; returns its stack pointer
		 COOP_FRAME_WORDS, COOP_FRAME_PC: layout of such a frame
		 COOP_REGISTERS, COOP_REGISTER (context, i), COOP_PC (context),
		 COOP_SP (context): what a signal has interrupted
		 COOP_MARK in COOP_MARKS (context): a bit that is gone when
		 something has been executed since it was set there, if there
		 is such a bit
   switch-CPU.S  coop_switch (switch.h)  */

#ifndef COOP_ARCH_H
#define COOP_ARCH_H 1

#if defined __x86_64__ && defined __LP64__
#include "arch-x86_64.h"
#elif defined __aarch64__ && defined __LP64__
#include "arch-aarch64.h"
#else
#error "libgomp-coop: no context switch for this processor"
#endif

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

static inline struct kmp_thread *
coop_tls_kmp (void)
{
  struct kmp_thread *kmp;
  COOP_TLS_LOAD (kmp, kmp);
  return kmp;
}

static inline long
coop_tls_owner (void)
{
  long owner;
  COOP_TLS_LOAD (owner, owner);
  return owner;
}

#endif /* COOP_ARCH_H */
