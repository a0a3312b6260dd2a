/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The M/M/1/N/N station: N customers, one server, nobody from outside. */

#ifndef COSCHED_MODEL_STATION_H
#define COSCHED_MODEL_STATION_H

/* Concept
 *
 * Each of N customers computes for a mean time 1/lambda, then asks the one
 * server, which needs a mean time 1/mu, and waits for the answer (thesis 3.2.1).
 * Only rho = lambda / mu matters for utilisation and speedup.
 *
 * The closed form (thesis eq. 3.2, 3.3 and 4.3, 4.4) has N! and rho^N in it and
 * overflows.  The same numbers come from the exact mean-value recurrence
 *
 *     R_n = (1 + Q_{n-1}) / mu,  X_n = n / (1/lambda + R_n),  Q_n = X_n R_n
 *
 * which only adds and divides positive numbers: stable for any N and rho.
 * Time and rate units are the caller's, the same for lambda and mu.
 */

#include <stddef.h>

#include "model/status.h"

struct station {
    double utilisation; /* of the server, 0..1 (eq. 3.3 = 4.4) */
    double response;    /* mean time of a request, waiting included (3.2) */
    double throughput;  /* requests served per time */
    double queue;       /* mean customers waiting or in service */
};

/* Solve for N >= 0 customers, LAMBDA >= 0, MU > 0, both finite.  Without
 * customers or requests the response is that of a lone request, 1/mu. */
enum model_status station_solve(size_t n, double lambda, double mu,
                                struct station *result);

/* Speedup of N >= 1 cores against one (eq. 4.1 with 4.2): N when RHO is 0,
 * (1 + rho) / rho at most.  RHO >= 0 and finite, else NaN. */
double station_speedup(size_t n, double rho);

/* A measured throughput: work per time on CORES cores. */
struct station_sample {
    size_t cores;      /* >= 1 */
    double throughput; /* > 0, any unit, the same for all samples */
    double weight;     /* > 0, e.g. the time it was measured for */
};

struct station_fit {
    double rho;        /* effective rho; 0: cannot be told from compute-bound */
    double unit_rate;  /* fitted throughput of one core */
    double residual;   /* weighted relative root mean square error */
};

/* Effective rho that best explains COUNT samples: least squares of relative
 * errors over rho in {0} and [STATION_RHO_MIN, STATION_RHO_MAX], the unit rate
 * in closed form for each.  Superlinear samples give rho 0.  MODEL_ENODATA
 * when there are fewer than two different numbers of cores; MODEL_EINVAL for
 * values out of range. */
enum model_status station_fit_rho(const struct station_sample *samples,
                                  size_t count, struct station_fit *fit);

#define STATION_RHO_MIN 1e-4
#define STATION_RHO_MAX 1e3

#endif /* COSCHED_MODEL_STATION_H */
