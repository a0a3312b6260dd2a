/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* CPUs of a program that is started by a managed one.

   Children of posix_spawn and system inherit the binding of the worker that
   makes them: one CPU, of all that the job has.  (Those of fork do not, as the
   runtime is told of them.)  So a managed process leaves a note of the CPUs it
   began with in its environment, COSCHED_CPUS, and one that begins with a
   single CPU of several noted there, in the same job step, takes them all.  */

#ifndef COOP_INHERIT_H
#define COOP_INHERIT_H 1

#include "protocol/layout.h"

#pragma GCC visibility push(hidden)

/* CPUS are those of the calling process, which has just begun: perhaps takes
   more, and leaves the note.  */
extern void coop_inherit_cpus (struct cosched_cpuset *cpus);

#pragma GCC visibility pop

#endif /* COOP_INHERIT_H */
