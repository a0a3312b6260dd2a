/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Kolmogorov-Smirnov tests: does memory behave as the model says? */

#ifndef COSCHED_MODEL_KSTEST_H
#define COSCHED_MODEL_KSTEST_H

/* Concept
 *
 * The queueing model assumes Poisson distributed numbers of requests per unit of time (thesis
 * A.1.2). D is the greatest distance of two cumulative distributions: of two samples, or of a
 * sample and a Poisson distribution of the same mean.
 *
 * The p-value is the chance of such a D or a greater one if both were the same: exact for two
 * samples without ties of up to KSTEST_EXACT, else Kolmogorov's limit.  For counts, which have
 * ties, and since the mean is the sample's own, the limit errs towards not rejecting: a rejection
 * can be trusted, a pass is weaker than it looks.
 *
 * The appendix compares histograms of ten categories: `bins`.  D is then taken at the categories'
 * upper ends only and can only get smaller.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/status.h"

#define KSTEST_EXACT 200 /* largest sample of the exact p-value */

struct kstest {
    double d;        /* 0..1 */
    double critical; /* D above which the hypothesis is rejected */
    double p;        /* 0..1 */
    bool passed;     /* d <= critical: not rejected */
};

/* Are A and B (finite numbers, each at least 1) of one distribution, at the
 * level of significance ALPHA (0 < ALPHA < 1, the papers' is 0.05)?
 * MODEL_EINVAL, MODEL_ENOMEM. */
enum model_status kstest_two(const double *a, size_t a_count, const double *b,
                             size_t b_count, double alpha,
                             struct kstest *result);

/* Are COUNTS (whole numbers >= 0, COUNT >= 2 of them) of a Poisson distribution
 * of their own mean?  With BINS > 0 at the upper ends of as many categories of
 * equal width between least and greatest, else at each value.  MODEL_ENODATA
 * when all are 0; MODEL_EINVAL, MODEL_ENOMEM. */
enum model_status kstest_poisson(const double *counts, size_t count,
                                 size_t bins, double alpha,
                                 struct kstest *result);

/* Upper end, itself included, of category K (from 0) of those BINS between LEAST
 * and GREATEST. */
double kstest_bin_end(double least, double greatest, size_t bins, size_t k);

/* Chance of X <= K for X of a Poisson distribution of MEAN > 0; 0 for K < 0. */
double kstest_poisson_cdf(double k, double mean);

#endif /* COSCHED_MODEL_KSTEST_H */
