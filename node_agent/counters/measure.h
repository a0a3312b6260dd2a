/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was measured of one region, per number of cores. */

#ifndef COSCHED_MEASURE_H
#define COSCHED_MEASURE_H

/* Concept
 *
 * At each DoP two things are collected: the work that the job's runtime reports, which tells
 * how fast the region got on, and, with hardware counters, the loop profile of model/loop.h,
 * which tells why.
 *
 * Each unit of work has a series of its own at each DoP (model/throughput.h); its errors
 * show which unit to trust.
 *
 * A loop profile is of one distribution of the cores over the LLC domains; it starts again
 * when the region comes back with another.  All start again when the region has become more
 * or less memory-intensive for good, as a whole program that first reads its input.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cache_power.h"
#include "model/loop.h"
#include "model/throughput.h"

/* Work that a cooperative runtime reports, coarsest last. */
enum counters_unit {
    COUNTERS_ITERATIONS,
    COUNTERS_BARRIERS,
    COUNTERS_ULTS,
    COUNTERS_ENTRIES,
    COUNTERS_UNITS, /* number of units */
};

#define MEASURE_POINTS 8 /* DoPs remembered per region */

struct measure_point {
    size_t dop;       /* cores; 0: unused */
    uint64_t time_ns; /* wall time at this DoP */
    double work[COUNTERS_UNITS];
    struct throughput_series *series; /* [COUNTERS_UNITS]; NULL: nothing */
    struct loop *loop; /* counted in loop->total_us of it; NULL: nothing */
};

struct measure {
    struct measure_point point[MEASURE_POINTS];
    struct cache_power power; /* of all loops */
    double odd_us; /* for which it has been otherwise than its loops */
};

/* The point of MEASURE for DOP, or NULL. */
const struct measure_point *measure_find(const struct measure *measure,
                                         size_t dop);

/* Add TIME_NS and WORK at DOP.  When all points are taken, the one with the
 * least time makes room.  True when the region is no longer as fast at DOP as
 * it was (the best known unit drifted). */
bool measure_add(struct measure *measure, size_t dop, uint64_t time_ns,
                 const double work[COUNTERS_UNITS]);

/* The unit that is known best at POINT, and its RATE; COUNTERS_UNITS when no
 * unit has one. */
enum counters_unit measure_unit(const struct measure_point *point,
                                struct throughput_rate *rate);

/* Each CPU of LOOP spun for IDLE_US of it in the mean and counted that as
 * computing: make what is more than ROUNDS leave idle (workload_rounds()) the loop's share of
 * synchronisation. */
void measure_idle(struct loop *loop, double idle_us, double rounds);

/* Add what was counted, LOOP, at DOP, for which measure_add() was called
 * before (else nothing happens).  What knows less than was known before, of the
 * same cores, is left out, and what knows more begins anew.  LOOP stays the
 * caller's; without memory the addition is dropped. */
void measure_add_loop(struct measure *measure, size_t dop,
                      const struct loop *loop);

/* Release the profiles; all points are unused then. */
void measure_clear(struct measure *measure);

#endif /* COSCHED_MEASURE_H */
