/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Threadprivate variables of programs that do not use the compiler's
   thread-local storage for them (Intel's compilers, -fnoopenmp-use-tls).

   Such a variable is known by the address of the static one, which is the copy
   of the initial thread.  Other threads get theirs by their first access.  The
   compiler keeps, for each variable, a cache of addresses by gtid, which its
   own code reads.  */

#ifndef KMP_PRIVATE_H
#define KMP_PRIVATE_H 1

#include "kmp.h"

#pragma GCC visibility push(hidden)

/* Destroys the copies of T, which is the current thread.  */
extern void kmp_private_free (struct kmp_thread *t);

#pragma GCC visibility pop

#endif /* KMP_PRIVATE_H */
