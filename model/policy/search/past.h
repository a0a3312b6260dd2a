/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was predicted before, for the same question. */

#ifndef COSCHED_MODEL_POLICY_PAST_H
#define COSCHED_MODEL_POLICY_PAST_H

/* Concept
 *
 * A node is asked for a decision in each epoch, and of most epochs nothing that
 * predictions depend on has changed: the profiles, bounds and rigidity of the
 * jobs, and the pool.  These are the situation.  As long as it stays, what was
 * predicted for a layout holds, to the last bit.
 */

#include <stdbool.h>

#include "model/policy.h"

struct past;

/* For up to JOBS jobs on MACHINE.  NULL when out of memory. */
struct past *past_new(const struct machine *machine, size_t jobs);

/* Takes NULL. */
void past_free(struct past *past);

/* From now on the situation is that of INPUT, of POOL[cpu_nodes] CPUs and
 * of PROFILE[job_count].  True when it is the one before. */
bool past_begin(struct past *past, const struct policy_input *input,
                const size_t *pool, const struct workload *const *profile);

/* Where the speeds of a layout, COUNTS[cpu_nodes * job_count], are kept,
 * [job_count], until the next call.  Not KNOWN: the caller fills them. */
double *past_speeds(struct past *past, const size_t *counts, bool *known);

/* The same for the speeds of each job alone. */
double *past_alone(struct past *past, bool *known);

#endif /* COSCHED_MODEL_POLICY_PAST_H */
