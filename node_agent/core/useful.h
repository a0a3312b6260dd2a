/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores are of use to a region, as predicted from what its threads did on all. */

#ifndef COSCHED_USEFUL_H
#define COSCHED_USEFUL_H

/* Concept
 *
 * While a job has all cores of the machine, hardware counts each core's instructions and its local
 * and remote misses per cycle: the signature of the region that it is in.  As soon as it is of
 * USEFUL_NS, the predictor that was trained for this machine (model/concurrency.h) says what fewer
 * cores would cost.  The fewest that cost at most USEFUL_TOLERANCE more than the best are of use to
 * the region; policies give it no more (option "concurrency"), unless it is then measured to be
 * slower than that.
 *
 * Nothing is known of regions that have not had all cores, or where counters do not tell.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/concurrency.h"
#include "node_agent/counters/sample.h"

#define USEFUL_NS UINT64_C(200000000)
#define USEFUL_TOLERANCE 0.02

struct useful;

/* For a region on the machine of MODEL, which must outlive it; NULL when out of memory. */
struct useful *useful_new(const struct concurrency_model *model);

/* What was counted on MACHINE while all of its cores were the region's. */
void useful_add(struct useful *useful, const struct machine *machine, const struct sample *sample);

/* True when useful_cores() knows; USEFUL may be NULL. */
bool useful_known(const struct useful *useful);

/* The cores that are of use by KIND for OBJECTIVE; 0: it is not known, or USEFUL is NULL.  What was
 * known once stays. */
size_t useful_cores(struct useful *useful, enum concurrency_kind kind,
                    enum concurrency_objective objective);

/* Of how many cores the machine is. */
size_t useful_of(const struct useful *useful);

/* Takes NULL. */
void useful_free(struct useful *useful);

#endif /* COSCHED_USEFUL_H */
