/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How much more often a job's threads miss when more of them share a last-level cache. */

#ifndef COSCHED_MODEL_CACHE_POWER_H
#define COSCHED_MODEL_CACHE_POWER_H

/* Concept
 *
 * By the power law of cache misses (model/workload.h) the requests r of a unit of computing grow
 * with the number n of the job's cores on an LLC domain as n^a.  The exponent a is the slope of a
 * line through log n and log r of intervals with different numbers of cores, by least squares with
 * their lengths as weights.
 *
 * What it tells depends on how much intervals with as many cores differ, as programs go through
 * phases: with v the variance of log r about the line times an interval's length, the slope's
 * standard error is sqrt(v / sum of t (n - mean n)^2).  Regions of a job are more alike than jobs:
 * the slope is drawn to that of all the job's regions, and that to CACHE_POWER_USUAL, as if those
 * were known within CACHE_POWER_PRIOR (the posterior mean of a normal prior).
 *
 * That others use the same caches is not taken out of what was measured: who has fewer cores there
 * leaves theirs to others in the decision, too.
 */

#include <stdbool.h>

#include "model/loop.h"

#define CACHE_POWER_USUAL 0.15
#define CACHE_POWER_PRIOR 0.3
#define CACHE_POWER_KNOWN 0.15 /* standard error */
#define CACHE_POWER_NOISE 500. /* us, v at least: 50 ms tell r within 10 % */

/* Sums over intervals, weighted by time; all 0: none. */
struct cache_power {
    double time, square, n, r, nn, nr, rr;
};

/* Of them, about their means. */
struct cache_power_line {
    double nn, nr;
    double noise; /* v */
};

/* Mean number of a job's CORES[llc_domains] that share an LLC, over its cores; 0: it has none. */
double cache_power_cores(const size_t *cores, size_t llc_domains);

/* Add an interval; nothing where requests or cycles were not counted. */
void cache_power_add(struct cache_power *power, const struct loop *loop);

struct cache_power_line cache_power_line(const struct cache_power *power);

/* Add the line of another region of the same job. */
void cache_power_join(struct cache_power_line *line, const struct cache_power_line *more);

/* The exponent, 0..1, where USUAL is to be expected. */
double cache_power_slope(const struct cache_power_line *line, double usual);

/* True when its standard error is CACHE_POWER_KNOWN at most. */
bool cache_power_known(const struct cache_power_line *line);

#endif /* COSCHED_MODEL_CACHE_POWER_H */
