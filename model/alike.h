/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which stations of a machine are alike for given jobs. */

#ifndef COSCHED_MODEL_ALIKE_H
#define COSCHED_MODEL_ALIKE_H

/* Concept
 *
 * Most stations of a machine have the same solution: with interleaved memory
 * all controllers have, and all routes that cross equal links.  What depends on
 * the machine and the jobs' profiles only, not on who has which cores, is found
 * here once for a decision of many predictions:
 *
 *   group  NUMA nodes of equal service time to which all jobs ask at equal
 *          rates
 *   link   only those that several LLC domains use, one of each kind; a lone
 *          customer never waits, so that the others just add service time
 *   path   an LLC domain's routes to NUMA nodes of one group, across links with
 *          the same responses
 *   kind   LLC domains with the same paths and as many CPUs
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/machine.h"
#include "model/workload.h"

struct alike_path {
    size_t group;
    size_t first; /* NUMA node of the first such route */
    size_t count; /* routes */
    double fixed; /* time on links that are nobody else's */
};

struct alike {
    const struct machine *machine;
    size_t *size;      /* [llc_domains] CPUs */
    size_t groups;
    size_t *group;     /* [numa_nodes] */
    size_t *member;    /* [groups] a NUMA node of each */
    size_t *members;   /* [groups] how many */
    size_t links;      /* that have to be solved */
    size_t *link_at;   /* [links] the machine's number */
    size_t *link;      /* [machine->links] ours, or ALIKE_FIXED */
    size_t *first;     /* [machine->links + 1] begin in the next two */
    size_t *user;      /* routes by link: the LLC domain, ascending, and */
    size_t *target;    /* the NUMA node of each */
    size_t *paths;     /* [llc_domains] */
    struct alike_path *path; /* [llc_domains * numa_nodes] */
    size_t *kind;      /* [llc_domains] the first LLC domain of this kind */
};

#define ALIKE_FIXED ((size_t)-1)

/* Sort MACHINE's links; false when out of memory.  alike_free() in any case. */
bool alike_init(struct alike *alike, const struct machine *machine);

/* Find what is alike for JOBS jobs of PROFILE; allocates nothing. */
void alike_find(struct alike *alike, const struct workload *const *profile,
                size_t jobs);

void alike_free(struct alike *alike);

#endif /* COSCHED_MODEL_ALIKE_H */
