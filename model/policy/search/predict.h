/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictions of one decision: how fast the jobs would be. */

#ifndef COSCHED_MODEL_POLICY_PREDICT_H
#define COSCHED_MODEL_POLICY_PREDICT_H

/* Concept
 *
 * All policies ask the same predictor, a closed network with one class per job
 * (model/aggregated_mva.h).  A speed is the number of cores' worth of computing that a
 * job gets.  What was predicted for a layout is kept while the input stays the
 * same (model/policy/search/prediction_cache.h).
 */

#include <stdbool.h>

#include "model/policy.h"

/* Prepare for INPUT, which has a workspace; once before the others.
 * False when a parallel job has no profile. */
bool predict_begin(const struct policy_input *input);

/* The first parallel job whose profile is unknown, or NULL. */
const struct policy_job *predict_unknown(const struct policy_input *input);

/* SPEED[job_count] for COUNTS[llc_domains * job_count], cores of each job on each
 * LLC domain. */
void predict_layout(const struct policy_input *input, const size_t *counts,
                    double *speed);

/* The same for CORES per job, placed as if nobody had a CPU; uses the workspace's
 * `have` and `fresh`. */
void predict_cores(const struct policy_input *input, const size_t *cores,
                   double *speed);

/* The same for each job when it has its maximum of the pool to itself, its memory where it is;
 * uses the workspace's `trial`, too. */
void predict_alone(const struct policy_input *input, double *speed);

/* The same had it begun so: its threads' own data (model/locality.h) lies as the pool's cores
 * do. */
void predict_begun_alone(const struct policy_input *input, double *speed);

/* How well the machine is used (thesis 4.6, 4.7). */
struct utilisation {
    double cpu;    /* sum over LLC domains of their cores' computing share, by
                      weight */
    double memory; /* sum over controllers of their utilisation */
    double system; /* cpu + memory: NuUtil */
};

/* Of a layout as of predict_layout(), and of CORES as of predict_cores(); both use
 * the workspace's `speed`. */
struct utilisation predict_utilisation(const struct policy_input *input,
                                       const size_t *counts);
struct utilisation predict_utilisation_cores(const struct policy_input *input,
                                             const size_t *cores);

#endif /* COSCHED_MODEL_POLICY_PREDICT_H */
