/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Training of the predictors of model/concurrency.h. */

#ifndef COSCHED_MODEL_TRAIN_H
#define COSCHED_MODEL_TRAIN_H

/* Concept
 *
 * The linear predictor is one least-squares problem for each number of cores (GSL).  The network is
 * trained by back-propagation over all samples at once; steps are taken by resilient propagation
 * (iRprop-; Igel and Huesken 2000), which needs the gradient's signs only and so no rate of
 * learning.  Weights begin as small random numbers; the same seed gives the same weights.
 *
 * Both weigh relative errors: a sample's costs are relative to its own on all cores.
 */

#include <stdint.h>

#include "model/concurrency.h"

/* A region that was run on 1, 2, ... cores. */
struct train_sample {
    const struct concurrency_thread *thread; /* [cores] on all cores */
    const double *cost[CONCURRENCY_TARGETS]; /* [cores] > 0, any unit */
};

struct train_options {
    uint64_t seed;
    size_t rounds; /* >= 1 */
};

#define TRAIN_ROUNDS 1000
#define TRAIN_LEAST 8 /* samples */

/* Train both predictors of MODEL from COUNT samples.  MODEL_EINVAL: a number is out of range;
 * MODEL_ENODATA: fewer than TRAIN_LEAST samples; MODEL_ENOMEM. */
enum model_status train_model(const struct train_sample *const *samples, size_t count,
                              const struct train_options *options,
                              struct concurrency_model *model);

#endif /* COSCHED_MODEL_TRAIN_H */
