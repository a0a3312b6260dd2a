/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Throughputs from noisy samples, and what they say of a region's rho. */

#ifndef COSCHED_MODEL_THROUGHPUT_H
#define COSCHED_MODEL_THROUGHPUT_H

/* Concept
 *
 *     samples ──> series (one DoP, one unit of work) ──> rate with its error
 *     rates at several DoPs ──> rho with its interval ──> is that enough?
 *
 * Series.  Work and time of epochs are collected into samples of at least THROUGHPUT_UNITS units,
 * and samples into a fixed number of batches; when all are taken, neighbours are joined and
 * batches are twice as long from then on (the method of batch means).  So a series needs constant
 * memory and its batches become independent; remaining correlation is estimated.  The rate is the
 * mean of the batches without the outer fifths, its standard error from their winsorised variance
 * (Tukey and McLaughlin 1963), so a spoiled epoch moves neither much.  Few samples may agree by
 * chance, so the variance is that of a mixture with a prior of 3 %.
 *
 * Drift.  A two-sided CUSUM (Page 1954) of each sample against the rate so far tells a changed
 * region from noise.  One bad sample weighs no more than THROUGHPUT_CLIP deviations.
 *
 * Rho.  X(n) = unit_rate * speedup(n, rho) (eq. 4.1) by least squares; the interval is of all rho
 * whose sum of squares exceeds the least one by no more than the square of Student's t.  If it
 * reaches zero, the region is compute-bound as far as can be told.
 *
 * Pure, and without GSL (model/analysis/fit.h does the same from calibrated noise).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/station.h"
#include "model/status.h"

#define THROUGHPUT_BATCHES 32 /* kept; even */
#define THROUGHPUT_UNITS 16   /* units in a sample at least */
#define THROUGHPUT_LEAST 2    /* batches that a rate needs */
#define THROUGHPUT_FLOOR 5e-3 /* no relative error is below this: clock rates
                                 and caches differ by as much between DoPs */
#define THROUGHPUT_CLIP 4.0   /* deviations of a sample that count for drift */

/* One unit of work at one DoP.  All zero is empty. */
struct throughput_series {
    double rate[THROUGHPUT_BATCHES]; /* [count] of complete batches */
    uint32_t count;
    uint32_t group;   /* samples in a batch; 0 is 1 */
    uint32_t samples; /* in the open batch */
    double sample_work, sample_s; /* open sample */
    double batch_work, batch_s;   /* open batch */
    double work;                  /* all in complete samples */
    double middle, spread;        /* of samples, as of the last batch; 0: no */
    double above, below;          /* CUSUM */
};

/* Add WORK >= 0 units done in SECONDS > 0.  True when the series has drifted: clear it then. */
bool throughput_add(struct throughput_series *series, double work,
                    double seconds);

struct throughput_rate {
    double rate;    /* units per second */
    double error;   /* relative standard error */
    double freedom; /* degrees of freedom of that */
};

/* The rate of SERIES; MODEL_ENODATA with fewer than THROUGHPUT_LEAST batches or
 * when nothing was done. */
enum model_status throughput_rate(const struct throughput_series *series,
                                  struct throughput_rate *rate);

struct throughput_point {
    size_t cores; /* >= 1 */
    struct throughput_rate rate;
};

struct throughput_rho {
    double rho;       /* best; 0: compute-bound */
    double low, high; /* 95 % interval; low 0: cannot be told from zero; high
                         INFINITY: no bound */
};

#define THROUGHPUT_POINTS_MAX 16

/* Fit COUNT points.  MODEL_ENODATA when fewer than two different numbers of
 * cores are there; MODEL_EINVAL for more than THROUGHPUT_POINTS_MAX points or
 * values out of range. */
enum model_status throughput_fit(const struct throughput_point *points,
                                 size_t count, struct throughput_rho *fit);

enum throughput_verdict {
    THROUGHPUT_OPEN,     /* more has to be measured */
    THROUGHPUT_COMPUTE,  /* compute-bound: no rho in the interval costs more
                            than 5 % of linear speedup */
    THROUGHPUT_ROUGH,    /* rho to a factor of two either way: fit to decide */
    THROUGHPUT_PRECISE,  /* rho to 15 % either way */
};

/* What FIT is worth where at most MOST cores can be had. */
enum throughput_verdict throughput_judge(const struct throughput_rho *fit,
                                         size_t most);

/* True when a decision over up to MOST cores could differ within FIT's interval: somewhere its
 * speedups differ by more than 5 %. */
bool throughput_matters(const struct throughput_rho *fit, size_t most);

/* The number of cores at which a measurement tells most about where in the interval of FIT rho is:
 * MOST or a half, a quarter, ... of it, but none of the HAVE numbers in CORES; 0 when there is none
 * left.  FIT may be NULL: nothing is known. */
size_t throughput_next(const struct throughput_rho *fit, const size_t *cores,
                       size_t have, size_t most);

/* Student's t that is exceeded either way with a chance of 5 %, FREEDOM >= 1. */
double throughput_student(double freedom);

#endif /* COSCHED_MODEL_THROUGHPUT_H */
