/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The machines on which the model is validated. */

#ifndef COSCHED_VALIDATE_WORLDS_H
#define COSCHED_VALIDATE_WORLDS_H

/* Concept
 *
 * Five topologies that differ in what matters to the model: many small nodes
 * with routes of two hops, few large ones fully connected, several last-level
 * caches per NUMA node, sub-NUMA clusters, and one memory for all.  Service
 * times are 64 bytes over the bandwidth that such a memory or link is known to
 * sustain; a link serves both directions, as in thesis 3.3.1.
 *
 * Writes and prefetches are cheaper than reads (thesis 3.2.3, figure 3.8):
 * these are the coefficients gamma and alpha of equation 3.13, beta being 1.
 */

#include <stddef.h>

#include "model/machine.h"

#define WORLD_PREFETCH 0.7 /* alpha / beta */
#define WORLD_WRITE 0.8    /* gamma / beta */
#define WORLDS 5
#define WORLD_STEPS 8

struct world {
    const char *name;  /* for files */
    const char *title; /* for people */
    struct machine *machine;
    size_t steps;              /* degrees of parallelism that are tried */
    size_t dop[WORLD_STEPS];   /* rising: LLC domains, or cores if there is only
                                  one LLC domain */
};

/* World number I, or one without machine when out of memory.  Release it with
 * machine_free(). */
struct world world_new(size_t i);

/* Cores per LLC domain of a loop at degree DOP: whole nodes, the first ones. */
void world_cores(const struct world *world, size_t dop, size_t *cores);

#endif /* COSCHED_VALIDATE_WORLDS_H */
