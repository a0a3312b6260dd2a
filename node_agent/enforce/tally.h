/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a job did to caches and memory since somebody last asked. */

#ifndef COSCHED_TALLY_H
#define COSCHED_TALLY_H

/* Concept
 *
 * Sections are measured for what they are; a tally is of a job whatever its
 * sections, over a second or so.  Only jobs that the partitioner follows have one:
 * the others cost a pointer that is NULL.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/cache.h"
#include "model/loop.h"

struct tally_node {
    double core_us; /* of cores that were counted */
    double accesses, misses, requests;
};

struct tally {
    size_t nodes;
    double us;               /* that it covers; 0: nothing was counted */
    double llc_bytes;        /* held when last looked at, on all nodes; NAN */
    struct tally_node node[]; /* [nodes] */
};

/* For NODES CPU nodes, with nothing counted.  NULL when out of memory; free(). */
struct tally *tally_new(size_t nodes);

/* Add what was counted in LOOP (NULL: nothing), after which the job held so many
 * bytes of caches (NAN: not known). */
void tally_add(struct tally *tally, const struct loop *loop, double llc_bytes);

/* What the job did into USE[nodes], and begin anew.  NOW[nodes] is how many cores
 * it has: where it has none USE is 0, where it has some that were not counted they
 * are all that is known. */
void tally_take(struct tally *tally, const size_t *now, struct cache_use *use);

#endif /* COSCHED_TALLY_H */
