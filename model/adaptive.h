/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Placement by measured use of the last-level caches. */

#ifndef COSCHED_MODEL_ADAPTIVE_H
#define COSCHED_MODEL_ADAPTIVE_H

/* Concept
 *
 * Jobs get whole LLC domains, so the cores of a memory-bound job compete for the same last-level
 * caches while those of a compute-bound one are hardly used.  Each epoch the domains are paired
 * by their LLC accesses since the last one, busiest with idlest and so on (thesis algorithm 3).
 * If the busy one has more than `threshold` times as many, its job with the highest rate of LLC
 * misses and the idle one's job with the fewest LLC accesses exchange `cores` cores.  Free CPUs
 * count as a job without accesses.
 *
 * Beyond the paper, two rules make the steps end: fewer cores change places when all of them
 * would make the idle domain the busier one, and none when both jobs ask as much.  With constant
 * rates each step lowers the busier domain's accesses.  Numbers of cores per job do not change.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADAPTIVE_THRESHOLD 2.0 /* the papers' */
#define ADAPTIVE_CORES 2       /* the papers' */
#define ADAPTIVE_NOBODY SIZE_MAX

/* Tables are [llc_domains * jobs]: of job j on LLC domain i at i * jobs + j. */
struct adaptive_input {
    size_t llc_domains, jobs;
    const size_t *pool;   /* [llc_domains] CPUs of the pool, >= those in use */
    const double *access; /* LLC accesses of all cores there per unit of time,
                             NAN where not known; ignored without cores */
    const double *miss;   /* LLC misses likewise */
    double threshold;     /* >= 1 */
    size_t cores;         /* per swap, >= 1 */
};

struct adaptive_swap {
    size_t busy, idle;         /* LLC domains */
    size_t busy_job, idle_job; /* idle_job may be ADAPTIVE_NOBODY */
    size_t cores;              /* of each, >= 1 */
    double busy_access, idle_access; /* of the LLC domains, before */
};

/* One step on LAYOUT, cores of job j on LLC domain i, which is changed.  Writes
 * the swaps to SWAP[llc_domains / 2] and returns their number.  ORDER is room
 * for llc_domains numbers.  LLC domains of which the accesses of a job are not
 * known take no part; misses that are not known count as accesses. */
size_t adaptive_step(const struct adaptive_input *input, size_t *layout,
                     struct adaptive_swap *swap, size_t *order);

/* True when at least two LLC domains' accesses are known: else a step does
 * nothing. */
bool adaptive_possible(const struct adaptive_input *input,
                       const size_t *layout);

#endif /* COSCHED_MODEL_ADAPTIVE_H */
