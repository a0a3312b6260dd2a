/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A closed network of servers with several classes of customers. */

#ifndef COSCHED_MODEL_NETWORK_H
#define COSCHED_MODEL_NETWORK_H

/* Concept
 *
 * The papers solve controllers, links and outgoing queues one by one, each as
 * if all cores were computing whenever they are not at this very station
 * (thesis 3.6 to 3.8).  Where memory is busy they are not: a core that waits
 * for one NUMA node asks no other, and an LLC domain whose cores all wait asks
 * nothing.  Here all stations are solved together, which keeps the number of
 * requests under way below the number of cores.
 *
 * Customers (cores) of a class are alike.  Per unit of computing a customer
 * makes `visits` requests to each station that stall it, one after the other,
 * and `posted` ones that do not.  Approximate mean value analysis:
 *
 *     R_ks = v_ks (s_ks + backlog that an arriving customer of class k sees)
 *     T_k  = 1 + sum_s R_ks           (a unit of computing and its stalls)
 *     Q_ks = n_k R_ks / T_k           (Little)
 *
 * Schweitzer's method takes for the backlog the present one less the
 * customer's own part of it; Linearizer (Chandy and Neuse 1982) also solves
 * the network without one customer of each class and learns from the
 * difference.  With equal exponential service times for all at a station the
 * exact solution has product form; in test_network Schweitzer is 3 % off on
 * average (14 % at worst), Linearizer 0.14 % (1.3 %).
 *
 * Posted requests are an open stream at the rate at which their customers
 * compute.  A station that they alone would saturate slows the computing of
 * their customers down to its pace, as full buffers do.
 */

#include <stddef.h>

#include "model/status.h"

enum network_method {
    NETWORK_SCHWEITZER,
    NETWORK_LINEARIZER,
};

/* Sizes; tables are [classes * stations], class-major. */
struct network {
    size_t classes;
    size_t stations;
    const size_t *count;          /* [classes] customers, may be 0 */
    const double *visits;         /* per unit of computing */
    const double *service;        /* mean, of requests that stall */
    const double *posted;         /* per unit of computing */
    const double *posted_service; /* mean, of posted requests */
};

struct network_result {
    double *share;       /* [classes] part of time in which one computes */
    double *response;    /* [classes * stations] mean time per visit, or what
                            a visit would take where there is none */
    double *utilisation; /* [stations] 0..1 */
};

/* Solve NETWORK into the caller's arrays of RESULT (each may be NULL).
 * MODEL_EINVAL for negative or not finite values, MODEL_ENOMEM,
 * MODEL_ENOCONV if the fixed point does not settle to 1e-8 within 20000
 * rounds, as may happen where posted requests fill several stations. */
enum model_status network_solve(enum network_method method,
                                const struct network *network,
                                const struct network_result *result);

#endif /* COSCHED_MODEL_NETWORK_H */
