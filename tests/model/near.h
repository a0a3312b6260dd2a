/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the model's tests share: doubles that are nearly equal, dice. */

#ifndef COSCHED_NEAR_H
#define COSCHED_NEAR_H

#include "tests/support/unit.h"

#include <math.h>

/* |A - B| is at most TOLERANCE times the larger of 1 and |B|.  cmocka's own
 * comparison is one of floats. */
#define assert_near(a, b, tolerance)                                           \
    near((a), (b), (tolerance), #a, __FILE__, __LINE__)

static inline void near(double a, double b, double tolerance, const char *what,
                        const char *file, int line)
{
    if (!(fabs(a - b) <= tolerance * fmax(1, fabs(b)))) {
        print_error("%s: %.17g is not near %.17g\n", what, a, b);
        _fail(file, line);
    }
}

/* The same numbers on every machine (xorshift64*). */
struct dice {
    uint64_t state; /* not 0 */
};

static inline uint64_t dice_next(struct dice *dice)
{
    dice->state ^= dice->state >> 12;
    dice->state ^= dice->state << 25;
    dice->state ^= dice->state >> 27;
    return (dice->state * UINT64_C(0x2545F4914F6CDD1D)) >> 32;
}

/* LOW..HIGH, both included. */
static inline size_t dice_range(struct dice *dice, size_t low, size_t high)
{
    return low + dice_next(dice) % (high - low + 1);
}

/* [0, 1) */
static inline double dice_unit(struct dice *dice)
{
    return (double)dice_next(dice) / 4294967296.0;
}

#endif /* COSCHED_NEAR_H */
