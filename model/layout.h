/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* On which LLC domains a job's cores lie. */

#ifndef COSCHED_MODEL_LAYOUT_H
#define COSCHED_MODEL_LAYOUT_H

/* Concept
 *
 * A layout says how many cores of each job lie in each LLC domain, given their numbers and the
 * present layout.  Wishes, a later one only where the earlier ones are as well fulfilled:
 *
 *   1. moves      a job keeps its cores (caches are warm, moving costs): a growing one gives up
 *                 none, a shrinking one takes none
 *   2. parts      few pairs of job and LLC domain: whole domains first, as jobs that share a
 *                 last-level cache disturb each other
 *   3. distance   a job's cores are near its memory
 *   4. noise      when joining a domain, the one whose last-level cache is used least
 *
 * A job that has no core and gets only one begins where most are free: what it touches will be
 * there, and others' data are elsewhere.
 *
 * Wish 1 is always fulfilled: exactly as many cores join jobs as these grow by.  The others are a
 * bin packing problem, solved by greedy choices and then by exchanges of cores between two jobs
 * and two domains while that helps; the tests compare with exhaustive search.
 */

#include <stddef.h>

#include "model/machine.h"
#include "model/workload.h"

/* Tables are [llc_domains * jobs]: of job j on LLC domain i at i * jobs + j. */
struct layout_input {
    size_t llc_domains, jobs;
    const size_t *pool;     /* [llc_domains] cores to divide */
    const size_t *have;     /* cores now; no LLC domain has more than its pool; NULL: none */
    const size_t *cores;    /* [jobs] wanted, the sum at most that of POOL */
    const double *distance; /* of a core from its job's memory, any unit; NULL:
                               all alike */
    const double *noise;    /* [llc_domains] LLC accesses, any unit; NULL: all
                               alike */
    size_t evaluations;     /* exchanges looked at, most; some 6 ns each */
};

struct layout_scratch;

/* Room to make layouts for up to so many; NULL when out of memory. */
struct layout_scratch *layout_scratch_new(size_t llc_domains, size_t jobs);

/* Takes NULL. */
void layout_scratch_free(struct layout_scratch *scratch);

/* Fill LAYOUT, which is not HAVE.  Allocates nothing. */
void layout_make(const struct layout_input *input, struct layout_scratch *scratch,
                 size_t *layout);

/* Sum up LAYOUT by job into CORES[jobs]. */
void layout_cores(const size_t *layout, size_t llc_domains, size_t jobs,
                  size_t *cores);

/* Delays of the routes of MACHINE into DELAY[llc_domains * numa_nodes]: mean
 * service times of the links, us.  Without any links, the nearest NUMA node
 * is at 0 and all others at one default service time. */
void layout_delays(const struct machine *machine, double *delay);

/* Distance of each LLC domain from the memory of PROFILE into DISTANCE, of which
 * every STRIDE-th element is set, [llc_domains]: link time of the requests that a
 * core makes per us of CPU time.  PROFILE NULL: 0. */
void layout_distance(const struct machine *machine, const double *delay,
                     const struct workload *profile, size_t stride,
                     double *distance);

#endif /* COSCHED_MODEL_LAYOUT_H */
