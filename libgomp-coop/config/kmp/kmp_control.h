/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Settings by libomp's own functions and environment variables.  */

#ifndef KMP_CONTROL_H
#define KMP_CONTROL_H 1

#include "kmp.h"

#pragma GCC visibility push(hidden)

/* The first thread calls: takes what the environment says.  */
extern void kmp_control_begin (void);

#pragma GCC visibility pop

#endif /* KMP_CONTROL_H */
