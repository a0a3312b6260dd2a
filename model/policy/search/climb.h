/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Local search over layouts. */

#ifndef COSCHED_MODEL_POLICY_CLIMB_H
#define COSCHED_MODEL_POLICY_CLIMB_H

/* Concept
 *
 * From a layout (cores of each job on each CPU node) to a better one nearby,
 * until none is better: the search has converged.  A step is
 *
 *   a gift      a job hands cores of one CPU node to another job
 *   a swap      two jobs exchange cores of two CPU nodes
 *   a move      a job leaves cores of one CPU node for nobody's on another
 *
 * of all cores that there are, of half of them, or of one; or
 *
 *   a trade     two jobs exchange all their cores
 *
 * A step that gains is taken at once.  CPU nodes of one kind with the same cores
 * of each job look alike: one of them is tried, so that a machine of whole CPU
 * nodes costs no more than one with a CPU node per job.
 */

#include <stdbool.h>
#include <stddef.h>

/* The search's room. */
struct climb_look {
    size_t first;  /* CPU node that looks so */
    size_t copies; /* between that and this one, that one included */
};

struct climb_input {
    size_t cpu_nodes, jobs;
    const size_t *kind;      /* [cpu_nodes] equal: alike to VALUE; NULL: all */
    const size_t *pool;      /* [cpu_nodes] cores; NULL: all are somebody's */
    const size_t *min, *max; /* [jobs] bounds of a job's cores */
    /* What is to grow; NAN ends the search.  ARG is the caller's. */
    double (*value)(void *arg, const size_t *layout);
    void *arg;
    double gain;  /* a step must gain more than this, absolute, >= 0 */
    size_t looks; /* values that are asked for, at most; >= 1 */
    struct climb_look *room; /* [cpu_nodes] */
};

struct climb_result {
    double value;
    size_t steps, looks;
    bool converged; /* else LOOKS were too few */
};

/* Improve LAYOUT[cpu_nodes * jobs], which is within bounds, to a local
 * optimum.  Allocates nothing. */
struct climb_result climb(const struct climb_input *input, size_t *layout);

#endif /* COSCHED_MODEL_POLICY_CLIMB_H */
