/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Where interleaved pages should lie, and when it is time to move them. */

#ifndef COSCHED_NEAR_SHARE_H
#define COSCHED_NEAR_SHARE_H

/* Concept
 *
 * The agent says which part of a process's interleaved pages should be near its CPUs (near share,
 * protocol/layout.h).  CPUs come and go faster than pages can follow, so what counts is where they
 * were in the mean of the last second, and pages move when a tenth of them are elsewhere, by one of
 * COSCHED_NEAR_CPUS CPUs.  The simulator's jobs go by the same rule as the library.
 *
 * Arrays are by NUMA node and have NODES entries; parts are of 1.
 */

#include <stdint.h>

#define COSCHED_NEAR_MEAN_S 1.0
#define COSCHED_NEAR_OFF 0.1
#define COSCHED_NEAR_CPUS 8
#define COSCHED_NEAR_WHOLE 1000 /* near share of 1 */

/* MEAN is the parts of the CPUs on each node, CPUS what they have been for the last SECONDS. */
static inline void cosched_near_average(double *mean, const double *cpus, unsigned nodes,
                                        double seconds)
{
    double weight = seconds / (seconds + COSCHED_NEAR_MEAN_S);

    for (unsigned k = 0; k < nodes; k++)
        mean[k] += weight * (cpus[k] - mean[k]);
}

/* The near share that an allotment SAID, which is not 0. */
static inline double cosched_near_share(uint32_t said)
{
    return (said - 1) / (double)COSCHED_NEAR_WHOLE;
}

/* The parts of the pages that each node should have into GOAL, where the allotment SAID near_share,
 * which is not 0. */
static inline void cosched_near_goal(const double *mean, unsigned nodes, uint32_t said,
                                     double *goal)
{
    double share = cosched_near_share(said);

    for (unsigned k = 0; k < nodes; k++)
        goal[k] = share * mean[k] + (1 - share) / nodes;
}

/* The part of the pages that is elsewhere if they lie as AT says instead of as GOAL does. */
static inline double cosched_near_off(const double *at, const double *goal, unsigned nodes)
{
    double off = 0;

    for (unsigned k = 0; k < nodes; k++)
        off += at[k] > goal[k] ? at[k] - goal[k] : 0;
    return off;
}

#endif /* COSCHED_NEAR_SHARE_H */
