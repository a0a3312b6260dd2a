/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Exact solution of a station with several classes, by Gauss-Laguerre. */

#ifndef COSCHED_MODEL_QUADRATURE_H
#define COSCHED_MODEL_QUADRATURE_H

/* Concept
 *
 * The steady state of N customers of K classes at one exponential server has
 * a product form whose normalisation constant is (|m|! as an integral)
 *
 *     G = integral over t >= 0 of  e^-t prod_k (1 + rho_k t)^n_k
 *
 * and, with one customer of class k taken out (arrival theorem),
 *
 *     R_k = service * integral(t e^-t P_k) / integral(e^-t P_k),
 *     P_k = prod_j (1 + rho_j t)^n_j / (1 + rho_k t).
 *
 * The polynomials have degree N at most, and Gauss' rule of M points is exact
 * up to 2M - 1.  So (N + 1) / 2 points give the same numbers as the recurrence
 * over all population vectors (model/mva.h), for K * M multiplications instead
 * of prod(n_k + 1) steps.  All terms are positive: nothing cancels.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/mva.h"

#define QUADRATURE_MAX_CUSTOMERS 256 /* beyond, weights leave doubles' range */
#define QUADRATURE_MAX_POINTS 132

/* POINTS is a multiple of four; the last ones may have weight 0. */
struct quadrature {
    size_t points;
    double last; /* the largest abscissa */
    double at[QUADRATURE_MAX_POINTS];
    double weight[QUADRATURE_MAX_POINTS];
};

/* The rule for up to CUSTOMERS (1..QUADRATURE_MAX_CUSTOMERS). */
void quadrature_init(struct quadrature *rule, size_t customers);

/* Solve CLASSES (COUNT of them, together not more customers than RULE is for)
 * at a server of mean service time SERVICE: RESPONSE[COUNT], mean time of each
 * class' requests.  Arguments are as of mva_solve() and not checked.  Classes
 * that never ask have response SERVICE. */
void quadrature_solve(const struct quadrature *rule,
                      const struct mva_class *classes, size_t count,
                      double service, double *response);

#endif /* COSCHED_MODEL_QUADRATURE_H */
