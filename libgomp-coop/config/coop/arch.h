/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What the port needs to know about the processor, one file for each.

   arch-CPU.h    access to coop_tls that the compiler can neither cache nor
		 move over a context switch; coop_pause; the first frame
   switch-CPU.S  coop_switch (switch.h)  */

#ifndef COOP_ARCH_H
#define COOP_ARCH_H 1

#if defined __x86_64__ && defined __LP64__
#include "arch-x86_64.h"
#else
#error "libgomp-coop: no context switch for this processor"
#endif

#endif /* COOP_ARCH_H */
