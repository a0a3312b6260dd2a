/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Where memory lies that is touched before the first parallel region.

   A page lies on the NUMA node of the thread that touches it first.  What a program reads or sets
   up with one thread so lies on one node, and its parallel regions never get more than the
   bandwidth of that node's memory, with whatever cores (NuPoCo evaluates with interleaved pages
   for this reason).  So where COSCHED_MEMORY is "interleave", which the agent decides by what the
   machine's links can carry, a managed program's initial thread touches pages on the nodes of its
   CPUs in turn until its first region, as numactl --interleave would have it.  From then on, first
   touch is what it was.

   A policy of the user's own stays.  Ours is known by a flag that numactl does not set.  The kernel
   passes it on to threads and children, each of which ends it in its own first region.  */

#ifndef COOP_INTERLEAVE_H
#define COOP_INTERLEAVE_H 1

#include "protocol/layout.h"

#pragma GCC visibility push(hidden)

/* As the program is loaded, by its initial thread, which may use CPUS.  Does nothing where these
   are of one NUMA node, or where the kernel refuses.  */
extern void coop_interleave_begin (const struct cosched_cpuset *cpus);

/* Before the first region of the calling thread, which may have the policy from the one that
   created it.  */
extern void coop_interleave_end (void);

#pragma GCC visibility pop

#endif /* COOP_INTERLEAVE_H */
