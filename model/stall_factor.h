/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long a job's reads stall its cores, relative to what the model says. */

#ifndef COSCHED_MODEL_STALL_FACTOR_H
#define COSCHED_MODEL_STALL_FACTOR_H

/* Concept
 *
 * The M/M/1/N/N model makes a core wait for each read by itself, as long as controllers and links
 * take to serve it (thesis 3.11).  Real cores overlap some waits (memory-level parallelism), caches
 * and wires take time that occupies no station, and service times are not exponential.  How much
 * all of that is differs by program.  Stalled cycles tell it: while jobs run side by side, the
 * model says how long each stalls where it is, the counters how long it did.
 *
 * The factor f (model/workload.h) is what makes both the same.  Before anything was counted x = log
 * f is known within STALL_PRIOR of what is usual on the machine.  Each interval moves it towards
 * the most probable value (one step of Gauss and Newton):
 *
 *     y = log(counted / predicted stalls)     h = d log predicted / d x, by difference
 *     x += (h y / s^2 - (x - usual) / prior^2) / (h^2 / s^2 + 1 / prior^2)      times t / T
 *
 * where t is its length and T all that was counted, STALL_MEMORY at most.  s is the error of y: of
 * model and calibration, which does not fall with time; of programs that go through phases while
 * their profile has the mean of these, which does; and of stalls that are next to none.  Where
 * memory is saturated, stalls are what its throughput makes them, and f means little: h is near 0
 * there, and what is off is the model, so that its error is STALL_ERROR / h.
 */

#include "model/aggregated_mva.h"

#define STALL_PRIOR 0.5   /* of x */
#define STALL_ERROR 0.1   /* of y at least, where h is 1 */
#define STALL_NOISE 5000. /* us, y's variance times what was counted: 50 ms tell it within 30 % */
#define STALL_LEAST 0.02  /* us of stalls in one of computing: error of all, and too few to tell */
#define STALL_MEMORY 2e6  /* us */
#define STALL_MOST 16.    /* times, f either way: what counters say may be nonsense */

/* All 0: nothing was counted, and 1 is usual. */
struct stall_factor {
    double log; /* x */
    double us;  /* T; 0: x is what is usual */
};

/* f */
double stall_factor(const struct stall_factor *stalls);

/* COUNT jobs of PROFILE ran on COUNTS (as of aggregated_predict()) for US, and their cores stalled
 * for SEEN[count] us in each us of computing; NAN: not known.  Learn their STALLS from that, where
 * USUAL is the mean of x.  A job whose entry is NULL counts with its profile's factor and learns
 * nothing.  AGGREGATED is prepared for these jobs afterwards. */
void stall_factors_learn(struct stall_factor *const *stalls, struct aggregated_mva *aggregated,
                         const struct workload *const *profile, const size_t *counts,
                         const double *seen, size_t count, double us, double usual);

#endif /* COSCHED_MODEL_STALL_FACTOR_H */
