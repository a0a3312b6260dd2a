/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Profile of one run of a parallel loop: what the counters saw. */

#ifndef COSCHED_MODEL_LOOP_H
#define COSCHED_MODEL_LOOP_H

/* Concept
 *
 * A loop ran for total_us of wall time with cores[i] cores (threads) on LLC
 * domain i, and counters counted over the whole run (thesis 3.3.2):
 *
 *   requests      what each LLC domain asked each NUMA node, by kind; all of
 *                 them occupy controllers and links (MRR, eq. 3.9)
 *   read_misses   those of them that stalled a core (LLC, eq. 3.10)
 *
 * Counts are plain numbers, not rates: rates are per unit of CPU time, that is
 * time in which a core is not stalled, which no counter measures well.
 * model/cputime.h finds it.
 *
 * `work` is how much of the loop the run did, e.g. its iterations; two
 * profiles of a loop are compared per unit of it.
 *
 * Where counters cannot tell prefetches from reads (Intel, thesis 3.3.2) the
 * prefetches are 0 and in the reads.
 */

#include <stddef.h>

#include "model/status.h"

/* Numbers of requests, or rates; the user of the struct says which. */
struct loop_requests {
    double read;
    double write;
    double prefetch;
};

struct loop {
    size_t llc_domains;
    size_t numa_nodes;
    size_t *cores;  /* [llc_domains] that ran the loop; at least one in all */
    double total_us;                /* wall time of the run, > 0 */
    double work;                    /* > 0, any unit; loop_new() says 1 */
    double sync_share;              /* part of total_us in synchronisation,
                                       mean over cores, 0 <= share < 1 */
    struct loop_requests *requests; /* [llc_domains * numa_nodes] */
    double *read_misses;            /* [llc_domains * numa_nodes]; no more than
                                       the requests there */
    double *llc_accesses;           /* [llc_domains], 0: unknown */
    double *useful_cycles;          /* [llc_domains] of its cores, 0: unknown */
    double *stalled_cycles;         /* [llc_domains] of its cores */
};

/* What loop_check() may object to. */
enum loop_field {
    LOOP_GOOD,
    LOOP_NODES,
    LOOP_CORES,
    LOOP_TOTAL,
    LOOP_WORK,
    LOOP_SYNC,
    LOOP_READS,
    LOOP_WRITES,
    LOOP_PREFETCHES,
    LOOP_READ_MISSES,
    LOOP_LLC_ACCESSES,
    LOOP_USEFUL_CYCLES,
    LOOP_STALLED_CYCLES,
};

struct loop_problem {
    enum loop_field field;
    size_t llc_domain; /* where the field has one per LLC domain */
    size_t numa_node; /* where it has one per NUMA node, too */
};

/* A loop of work 1 with no cores and nothing counted.  NULL when out of memory
 * or a size is 0.  Free with loop_free(). */
struct loop *loop_new(size_t llc_domains, size_t numa_nodes);

/* Check the ranges above, all numbers finite and not negative.  An LLC domain
 * without cores must have no requests and no misses.  On MODEL_EINVAL
 * *PROBLEM, if not NULL, is the first field that is wrong; LOOP_READ_MISSES
 * also for more misses than requests. */
enum model_status loop_check(const struct loop *loop,
                             struct loop_problem *problem);

/* The field's name in struct loop ("requests.read" for LOOP_READS), "" for
 * LOOP_GOOD. */
const char *loop_field_name(enum loop_field field);

/* 0: the field is one number; 1: one per LLC domain; 2: per NUMA node, too. */
int loop_field_indices(enum loop_field field);

/* Sum of cores. */
size_t loop_cores(const struct loop *loop);

/* Number of LLC domains with cores. */
size_t loop_active_nodes(const struct loop *loop);

/* Cycles of all cores of LOOP. */
struct loop_cycles {
    double useful, stalled;
};
struct loop_cycles loop_cycles(const struct loop *loop);

/* All requests per cycle of computing; NAN where none of these were counted. */
double loop_intensity(const struct loop *loop);

/* Sum of a table [llc_domains * numa_nodes] of requests over the LLC domains, for
 * one NUMA node. */
struct loop_requests loop_requests_to(const struct loop *loop, size_t memory);
double loop_misses_to(const struct loop *loop, size_t memory);

/* Takes NULL. */
void loop_free(struct loop *loop);

#endif /* COSCHED_MODEL_LOOP_H */
