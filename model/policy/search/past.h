/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was predicted before, for the same question. */

#ifndef COSCHED_MODEL_POLICY_PAST_H
#define COSCHED_MODEL_POLICY_PAST_H

/* Concept
 *
 * A node is asked for a decision in each epoch, and of most epochs nothing that
 * predictions depend on has changed: the profiles, weights and bounds of the
 * jobs, and the pool.  These are the situation.  As long as it stays, what was
 * predicted for a layout holds, to the last bit.
 *
 * When one job of many changes its section, the situation is another one, but
 * the others' speeds alone are as before; they are kept by job.
 */

#include <stdbool.h>

#include "model/policy.h"
#include "model/system.h"

struct past;

/* For up to JOBS jobs on MACHINE.  NULL when out of memory. */
struct past *past_new(const struct machine *machine, size_t jobs);

/* Takes NULL. */
void past_free(struct past *past);

/* From now on the situation is that of INPUT, of POOL[cpu_nodes] CPUs and
 * of PROFILE[job_count].  True when it is the one before. */
bool past_begin(struct past *past, const struct policy_input *input,
                const size_t *pool, const struct workload *const *profile);

/* Nothing holds any more. */
void past_forget(struct past *past);

/* What was predicted for a layout. */
struct past_layout {
    bool solved, quick; /* RESULT and SPEED are known; QUICK_SPEED is */
    struct system_result result;
    double *speed;       /* [jobs] by model/system.h */
    double *quick_speed; /* [jobs] by model/lumped.h */
};

/* What is kept for COUNTS[cpu_nodes * job_count], to be read and completed until
 * the next call. */
struct past_layout *past_layout(struct past *past, const size_t *counts);

/* The same as when the paces of jobs with CORES[job_count] were predicted last?
 * If not, they are taken to be from now on.  SPEED and ALONE are where these
 * are kept, [job_count] each. */
bool past_paces(struct past *past, const size_t *cores, double **speed,
                double **alone);

/* The speed alone of job J that was kept, or NAN; GROUP[mem_nodes] are the
 * groups of system_groups(). */
double past_alone(const struct past *past, size_t job, const size_t *group);

/* Keep the SPEED of job J. */
void past_keep_alone(struct past *past, size_t job, const size_t *group,
                     double speed);

#endif /* COSCHED_MODEL_POLICY_PAST_H */
