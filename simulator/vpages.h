/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The interleaved pages of a simulated job. */

#ifndef COSCHED_SIMULATOR_VPAGES_H
#define COSCHED_SIMULATOR_VPAGES_H

/* Concept
 *
 * They lie on all NUMA nodes alike at first, and move as the runtime library has them moved
 * (protocol/near_share.h): one of COSCHED_NEAR_CPUS of the job's CPUs moves them, at VPAGES_GIB_S,
 * and computes nothing meanwhile.  What moving asks of memory is not simulated.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VPAGES_GIB_S 1.0 /* of pages of 4 KiB: assumed */

struct vpages {
    size_t nodes;
    double gib;
    double *at;      /* [nodes] parts of them, sum 1 */
    double *goal;    /* [nodes] where they are moved to, while `moving` */
    double *mean;    /* [nodes] parts of the job's CPUs */
    bool moving;
    uint64_t version; /* changes with `at` */
};

/* GIB >= 0 of pages on NODES NUMA nodes.  False when out of memory. */
bool vpages_init(struct vpages *pages, size_t nodes, double gib);

void vpages_release(struct vpages *pages);

/* For SECONDS the job had the parts CPUS[nodes] of its COUNT CPUs on each node, and its allotment
 * SAID near_share. */
void vpages_advance(struct vpages *pages, const double *cpus, size_t count, uint32_t said,
                    double seconds);

/* Part of its CPUs that compute. */
double vpages_rest(const struct vpages *pages);

#endif /* COSCHED_SIMULATOR_VPAGES_H */
