/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The model's numbers from measurements, by least squares. */

#ifndef COSCHED_MODEL_FIT_H
#define COSCHED_MODEL_FIT_H

/* Concept
 *
 * Two fits:
 *
 *   service times by kind (3.13)  from calibration runs of different mixes: a line through the
 *       origin over the three shares
 *   rho = lambda / mu             from a loop's throughput on several numbers of cores: X(n) =
 *       unit_rate * speedup(n, rho) (4.1), with the interval of all rho that the measurements do
 *       not contradict
 *
 * A fit that the data cannot support is refused (MODEL_ENODATA): runs of equal mixes, a negative
 * service time, a very wide interval of rho.
 *
 * Only this part needs GSL (HAVE_GSL).  GSL's error handler is process-wide and aborts; it is off
 * during these calls, so do not call them while another thread sets it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/machine.h"
#include "model/station.h"
#include "model/status.h"

/* One calibration run: the server served so many requests one after the other
 * and needed busy_us for them. */
struct fit_run {
    double reads, writes, prefetches; /* numbers, >= 0, not all 0 */
    double busy_us;                   /* > 0 */
    double weight;                    /* > 0, 1 is normal */
};

#define FIT_MIN_RCOND 1e-3 /* mixes nearer to alike than this are refused */

struct fit_service {
    struct machine_service service;  /* beta, gamma, alpha */
    struct machine_service error;    /* standard errors; 0 with as many runs as
                                        kinds */
    bool has_read, has_write, has_prefetch; /* kinds that occurred; the time of
                             one that did not is that of a read, or of
                             a write where there are no reads */
    double residual;         /* root mean square error relative to the mean */
    double rcond;            /* of the shares, columns scaled: 1 is best */
};

/* Regress the mean service times of COUNT runs on the shares (3.13).
 * MODEL_EINVAL for values out of range; MODEL_ENODATA for fewer runs than
 * kinds, mixes too much alike (FIT_MIN_RCOND) or a time that comes out not
 * positive; MODEL_ENOMEM. */
enum model_status fit_service(const struct fit_run *runs, size_t count,
                              struct fit_service *fit);

#define FIT_MAX_SPAN 10.0 /* greatest high / low of an interval of rho */
#define FIT_COMPUTE_BOUND 0.95 /* part of linear speedup, on the most cores
                                  measured, that is as good as all of it */

struct fit_rho_input {
    const struct station_sample *samples;
    size_t count;
    double confidence; /* 0 < confidence < 1, e.g. 0.95 */
    double noise;      /* known relative standard error of a sample of weight
                          1; 0: estimate it from the residuals */
};

struct fit_rho {
    double rho;       /* lambda / mu */
    double low, high; /* interval of the confidence asked for; low may be 0 */
    double unit_rate; /* throughput of one core */
    double residual;  /* as of station_fit_rho() */
};

/* Fit rho and its interval: all rho whose sum of squares does not exceed the
 * least one by more than the F (known noise: chi-squared) quantile allows,
 * which holds for curves bent as these are where a linearised error would not.
 * MODEL_EINVAL for values out of range; MODEL_ENODATA with fewer than two
 * different numbers of cores, with fewer than three samples of unknown noise,
 * or when the interval is wider than FIT_MAX_SPAN, unless all of it is
 * FIT_COMPUTE_BOUND (*FIT is filled all the same, for the explanation). */
enum model_status fit_rho(const struct fit_rho_input *input,
                          struct fit_rho *fit);

#endif /* COSCHED_MODEL_FIT_H */
