/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Max-min fair division. */

#ifndef COSCHED_MODEL_MAXMIN_H
#define COSCHED_MODEL_MAXMIN_H

/* Concept
 *
 * Something is divided by weight among those who each can use so much of it; what
 * one cannot use goes to the others (Bertsekas and Gallager, Data Networks, 6.5.2).
 * With demands d and weights w there is the level L such that
 *
 *     sum of min(d, L w) = what there is,
 *
 * and these are the shares.
 */

#include <stddef.h>

/* L for COUNT demands and weights (> 0), when AMOUNT is there for them.  INFINITY
 * when it is enough for all. */
double maxmin_level(const double *demand, const double *weight, size_t count,
                    double amount);

#endif /* COSCHED_MODEL_MAXMIN_H */
