/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The 24 loops of thesis table 3.1 as the simulator runs them. */

#ifndef COSCHED_VALIDATE_LOOPS_H
#define COSCHED_VALIDATE_LOOPS_H

/* Concept
 *
 * A loop asks memory at a rate per time of computing; its data is interleaved
 * over all NUMA nodes, as in the thesis (3.2.2).  What it asks changes with
 * the degree of parallelism (3.2.3, figures 3.4 and 3.5): the rate grows or
 * falls by a factor, and prefetches get fewer.  Between one and all nodes it
 * moves with the logarithm of their number, so that neither the papers' straight
 * line through both ends nor LoopPerf-T's power law is the truth.
 *
 * The speedup from one to all LLC domains on the Opteron is known for 16 loops
 * (thesis table A.4, column guided); the rates are such that the simulation
 * has that speedup (`validate_model --calibrate` finds them).  The others have
 * the speedup of their siblings in the same program, that of EP for the loop of
 * Blackscholes and of rhs4 for the one of Freqmine, and are marked as assumed.
 */

#include <stdbool.h>
#include <stddef.h>

#define LOOPS 24

struct loop_traits {
    const char *app;
    const char *name;
    double scaling;     /* 1 to 8 LLC domains of the Opteron */
    bool assumed;       /* scaling was not measured */
    double rate_per_us; /* all requests of a core on one LLC domain */
    double growth;      /* rate on all nodes over that on one */
    double write;       /* share of requests */
    double prefetch[2]; /* share on one and on all LLC domains */
};

/* Requests of a core per us of computing, to all NUMA nodes together. */
struct loop_rates {
    double read_per_us, write_per_us, prefetch_per_us;
};

extern const struct loop_traits loops[LOOPS];

/* What LOOP asks on DOP of ALL nodes (or cores, where they are the unit). */
struct loop_rates loop_rates(const struct loop_traits *loop, size_t dop,
                             size_t all);

#endif /* COSCHED_VALIDATE_LOOPS_H */
