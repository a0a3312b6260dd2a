/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Several classes of customers at one station. */

#ifndef COSCHED_MODEL_MVA_H
#define COSCHED_MODEL_MVA_H

/* Concept
 *
 * The cores of different jobs meet at one server with different request
 * rates.  The papers replace the rates by their average (NuPoCo 4.2.1).  Cores
 * that hardly ask then count as moderate askers, and the queue gets too long
 * for all.  Mean value analysis keeps the classes apart:
 *
 *   average      the papers' method: one class with the mean rate
 *   exact        recurrence over all population vectors; cost is the product
 *                of (count + 1), limited to MVA_EXACT_STATES; classes of the
 *                same rate count as one
 *   approximate  Bard-Schweitzer fixed point: an arriving customer sees the
 *                present queue less its own share of it
 *   linearizer   the same, corrected by what the queue is without one customer
 *                of each class (model/network.h); a tenth of the error for
 *                as many times the work as there are classes, and some more
 *
 * `automatic` is exact where that fits, else approximate.
 */

#include <stddef.h>

#include "model/status.h"

#define MVA_EXACT_STATES 4096
#define MVA_MAX_CLASSES 256

enum mva_method {
    MVA_AUTOMATIC,
    MVA_EXACT,
    MVA_APPROXIMATE,
    MVA_AVERAGE,
    MVA_LINEARIZER,
};

struct mva_class {
    size_t count;  /* customers, may be 0 */
    double lambda; /* requests per time of a customer that computes, >= 0 */
};

struct mva_result {
    double response;   /* mean time of this class' requests */
    double throughput; /* of all its customers */
};

/* Solve CLASSES (COUNT of them, at most MVA_MAX_CLASSES) at a server of mean
 * service time SERVICE > 0 into RESULT[COUNT].  Classes that never ask have
 * response SERVICE and are no customers.  MODEL_EINVAL for values out of range
 * or MVA_EXACT beyond its limit; MODEL_ENOCONV if the fixed point does not
 * settle to 1e-10 within 10000 rounds; MODEL_ENOMEM with MVA_LINEARIZER only,
 * the others allocate nothing. */
enum model_status mva_solve(enum mva_method method,
                            const struct mva_class *classes, size_t count,
                            double service, struct mva_result *result);

#endif /* COSCHED_MODEL_MVA_H */
