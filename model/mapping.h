/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* On which NUMA node each thread of a parallel region runs. */

#ifndef COSCHED_MODEL_MAPPING_H
#define COSCHED_MODEL_MAPPING_H

/* Concept
 *
 * Threads of a region make requests to NUMA nodes; a thread-node table V says how many thread i
 * makes to node j.  As long as data stay where they are and thread i works on the same data each
 * time (static schedules), a thread should run where its data are, as far as cores are free there.
 *
 * A thread's load at a node counts what is far as much dearer as it takes longer: its impact
 * factor (critical path paper and DyNUMA, eq. 4),
 *
 *     IF(i, j) = V(i, j) + sum over k != j of F(j, k) V(i, k).
 *
 * The papers' algorithms place one thread in each round.  The largest V of a thread that has no
 * place yet at a node with free cores is e_max.  It competes with the largest such V of each other
 * node, if this is at least `closeness` times e_max:
 *
 *   MAPPING_LOCALITY   the one whose node has the fewest local accesses so far (algorithm 2)
 *   MAPPING_CRITICAL   the one with the least sum of its IF and those at its node so far, the
 *                      critical path (algorithm 3, and DyNUMA's thread mapping arbiter)
 *
 * Ties go to the larger V, then to the lower thread, then to the lower node.  mapping_optimum()
 * tries all maps instead (algorithm 1, for the local accesses).
 */

#include <stddef.h>

#include "model/machine.h"
#include "model/status.h"

enum mapping_rule { MAPPING_LOCALITY, MAPPING_CRITICAL };

/* `closeness` of DyNUMA.  The critical path paper has the inverse of the NUMA factor (eq. 2). */
#define MAPPING_CLOSENESS 0.75

/* What mapping_optimum() tries at most: some seconds. */
#define MAPPING_MOST_MAPS 1e8
#define MAPPING_MOST_THREADS 64

struct mapping_input {
    size_t threads, nodes;
    const double *requests; /* [threads * nodes], of thread i to node j at i * nodes + j; >= 0 */
    const size_t *cores;    /* [nodes] free; the sum is not less than threads */
    const double *factor;   /* [nodes * nodes], latency of node k from node j relative to that of
                               node j at j * nodes + k; > 0, 1 on the diagonal */
    double closeness;       /* above 0, at most 1 */
};

/* That THREAD could be placed on NODE; what this would make of the node is COST. */
struct mapping_candidate {
    size_t thread, node;
    double cost;
};

struct mapping_result {
    size_t *node;         /* [threads] */
    double *critical;     /* [nodes], sum of the impact factors */
    double local;         /* requests of all threads to their own nodes */
    double critical_path; /* the largest of CRITICAL */
    /* Called in each round with its candidates, by node; number CHOSEN is placed.  Or NULL. */
    void (*round)(void *arg, const struct mapping_candidate *candidates, size_t count,
                  size_t chosen);
    void *arg;
};

struct mapping_scratch;

/* Room for maps of up to so many; NULL when out of memory. */
struct mapping_scratch *mapping_scratch_new(size_t threads, size_t nodes);

/* Takes NULL. */
void mapping_scratch_free(struct mapping_scratch *scratch);

/* Fill RESULT by RULE.  MODEL_EINVAL: INPUT is not as said there.  Allocates nothing. */
enum model_status mapping_make(enum mapping_rule rule, const struct mapping_input *input,
                               struct mapping_scratch *scratch, struct mapping_result *result);

/* Fill RESULT with the first of the best maps: the most local accesses (MAPPING_LOCALITY) or the
 * shortest critical path.  No rounds.  MODEL_EINVAL also for more than MAPPING_MOST_MAPS. */
enum model_status mapping_optimum(enum mapping_rule rule, const struct mapping_input *input,
                                  struct mapping_scratch *scratch,
                                  struct mapping_result *result);

/* In how many ways the threads can be placed; INFINITY for more than MAPPING_MOST_THREADS. */
double mapping_count(const struct mapping_input *input);

/* All remote latencies RATIO times the local one: the papers have 1.5. */
void mapping_factor_uniform(size_t nodes, double ratio, double *factor);

/* Those of MACHINE: time of the node's controller and of the links to it, relative to that of the
 * own controller, from the first LLC domain that is local to node j.  FACTOR as in struct
 * mapping_input, for machine->numa_nodes. */
void mapping_factor_machine(const struct machine *machine, double *factor);

#endif /* COSCHED_MODEL_MAPPING_H */
