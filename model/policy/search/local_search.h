/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Local search over layouts. */

#ifndef COSCHED_MODEL_POLICY_LOCAL_SEARCH_H
#define COSCHED_MODEL_POLICY_LOCAL_SEARCH_H

/* Concept
 *
 * From a layout (cores of each job in each LLC domain) to a better one nearby, until none is
 * better. A step is
 *
 *   a gift      a job hands cores of one LLC domain to another job
 *   a swap      two jobs exchange cores of two LLC domains
 *   a levy      a job hands cores of each of its LLC domains to another job
 *
 * of all cores that there are, of half of them, or of one; of a levy not of all; or
 *
 *   a trade     two jobs exchange all their cores
 *
 * A levy gains where each of its gifts alone loses: where jobs share their domains evenly and few
 * cores of a job are enough to load memory, the first gifts only make it the last one to end.
 *
 * In gifts and swaps nobody is one more job: cores are left idle where they slow others down, taken
 * again, and exchanged for idle ones elsewhere.
 *
 * A step that gains is taken at once.  Of LLC domains of one kind with the same cores of each job
 * only one is tried.
 */

#include <stdbool.h>
#include <stddef.h>

/* The search's room. */
struct local_search_kind {
    size_t free;   /* cores that nobody has */
    size_t first;  /* LLC domain that looks so */
    size_t copies; /* between that and this one, that one included */
    size_t levied; /* cores of a levy that is tried */
};

struct local_search_input {
    size_t llc_domains, jobs;
    const size_t *kind;      /* [llc_domains] equal: alike to VALUE; NULL: all */
    const size_t *pool;      /* [llc_domains] cores; NULL: all are somebody's */
    const size_t *min, *max; /* [jobs] bounds of a job's cores */
    /* What is to grow; NAN ends the search.  ARG is the caller's. */
    double (*value)(void *arg, const size_t *layout);
    void *arg;
    /* A step must gain more than this, one that leaves cores idle more than that; >= 0. */
    double gain, idle_gain;
    size_t evaluations; /* values that are asked for, at most; >= 1 */
    struct local_search_kind *scratch; /* [llc_domains] */
};

struct local_search_result {
    double value;
    size_t steps, evaluations;
    bool converged; /* else EVALUATIONS were too few */
};

/* Improve LAYOUT[llc_domains * jobs], which is within bounds, to a local
 * optimum.  Allocates nothing. */
struct local_search_result local_search(const struct local_search_input *input, size_t *layout);

#endif /* COSCHED_MODEL_POLICY_LOCAL_SEARCH_H */
