/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was predicted before, for the same question. */

#ifndef COSCHED_MODEL_POLICY_PREDICTION_CACHE_H
#define COSCHED_MODEL_POLICY_PREDICTION_CACHE_H

/* Concept
 *
 * Most epochs change nothing that predictions depend on: the jobs' profiles, bounds and whether
 * they are pinned, and the pool.  These are the situation.  As long as it stays the same, what
 * was predicted for a layout holds, to the last bit.
 */

#include <stdbool.h>

#include "model/policy.h"

struct prediction_cache;

/* For up to JOBS jobs on MACHINE.  NULL when out of memory. */
struct prediction_cache *prediction_cache_new(const struct machine *machine, size_t jobs);

/* Takes NULL. */
void prediction_cache_free(struct prediction_cache *cache);

/* From now on the situation is that of INPUT, of POOL[llc_domains] CPUs and
 * of PROFILE[job_count].  True when it is the one before. */
bool prediction_cache_begin(struct prediction_cache *cache, const struct policy_input *input,
                const size_t *pool, const struct workload *const *profile);

/* Where the speeds of a layout, COUNTS[llc_domains * job_count], are kept,
 * [job_count], until the next call.  Not KNOWN: the caller fills them. */
double *prediction_cache_speeds(struct prediction_cache *cache, const size_t *counts, bool *known);

/* The same for the speeds of each job alone: now, and had it begun so. */
enum { ALONE_NOW, ALONE_BEGUN, ALONE_KINDS };
double *prediction_cache_alone(struct prediction_cache *cache, size_t kind, bool *known);

#endif /* COSCHED_MODEL_POLICY_PREDICTION_CACHE_H */
