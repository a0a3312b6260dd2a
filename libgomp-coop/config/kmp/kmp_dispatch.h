/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Loops whose threads ask for chunks: what others need to know.  */

#ifndef KMP_DISPATCH_H
#define KMP_DISPATCH_H 1

#include "kmp.h"

#pragma GCC visibility push(hidden)

/* The current thread leaves its loop, if it is in one, before the end, because
   the loop is cancelled.  */
extern void kmp_dispatch_leave (void);

/* The place in the program of the loop that the current thread is about to
   start, NULL: not one of these.  */
extern const void *kmp_dispatch_site (void);

#pragma GCC visibility pop

#endif /* KMP_DISPATCH_H */
