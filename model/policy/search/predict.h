/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictions of one decision: how fast the jobs would be. */

#ifndef COSCHED_MODEL_POLICY_PREDICT_H
#define COSCHED_MODEL_POLICY_PREDICT_H

#include "model/policy.h"
#include "model/system.h"

/* Prepare for INPUT, which has a workspace; once before the others.
 * MODEL_ENODATA when a parallel job has no profile, MODEL_EINVAL when the
 * machine is beyond the model's limits. */
enum model_status predict_begin(const struct policy_input *input);

/* The first parallel job whose profile is unknown, or NULL. */
const struct policy_job *predict_unknown(const struct policy_input *input);

/* What was predicted before is kept while INPUT stays the same
 * (model/policy/search/past.h).
 *
 * Predict for COUNTS[cpu_nodes * job_count], cores of each job on each CPU
 * node, by the station model.  RESULT and SPEED (cores' worth of computing per
 * job, [job_count]) may be NULL. */
enum model_status predict_counts(const struct policy_input *input,
                                 const size_t *counts,
                                 struct system_result *result, double *speed);

/* As above for CORES per job, packed; uses the workspace's `have`. */
enum model_status predict_cores(const struct policy_input *input,
                                const size_t *cores,
                                struct system_result *result, double *speed);

/* Speed of each job when it has its maximum of the pool to itself, into
 * SPEED[job_count]. */
enum model_status predict_alone(const struct policy_input *input,
                                double *speed);

/* Speeds for CORES per job, packed, for a layout as predict_counts() has it, and
 * alone, by the closed network (model/lumped.h), whose decisions are better. */
void predict_speeds(const struct policy_input *input, const size_t *cores,
                    double *speed);
void predict_speeds_layout(const struct policy_input *input,
                           const size_t *counts, double *speed);
void predict_speeds_alone(const struct policy_input *input, double *speed);

#endif /* COSCHED_MODEL_POLICY_PREDICT_H */
