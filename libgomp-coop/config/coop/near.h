/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Interleaved pages follow the CPUs.

   A program that was started under `numactl --interleave' has its pages on all nodes of that
   policy, and the bandwidth of all of them.  Beside other jobs it has CPUs on some, and what it
   asks the others for crosses links that these jobs use, too.  So the agent says which part of the
   pages should be near the CPUs, by the model and the machine's description (near share,
   protocol/layout.h).  By the rule of protocol/near_share.h the pages are then moved (pages.h), and
   again when the CPUs are elsewhere.  Memory that grows is interleaved as before, and follows with
   the next move.

   Programs without such a policy when they start, or with another one since, keep their pages where
   they are.  */

#ifndef COOP_NEAR_H
#define COOP_NEAR_H 1

#include <stdbool.h>
#include <stdint.h>

#include "protocol/layout.h"

#pragma GCC visibility push(hidden)

/* Are the calling thread's pages interleaved?  As the program is loaded, before the runtime has a
   policy of its own (interleave.h).  */
extern void coop_near_begin (void);

/* Does the program have such pages?  */
extern bool coop_near_is_possible (void);

/* The program may use CPUS.  For the monitor.  */
extern void coop_near_follow (const struct cosched_cpuset *cpus);

/* Moves pages, if it is time; SAID is the allotment's near_share, NOW as by coop_now_ns.  For the
   monitor, at each tick while there is an agent.  */
extern void coop_near_tick (uint32_t said, uint64_t now);

/* Child of a fork.  */
extern void coop_near_reset (void);

#pragma GCC visibility pop

#endif /* COOP_NEAR_H */
