/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The random numbers of the NAS Parallel Benchmarks. */

#ifndef JOBS_RANDOM_H
#define JOBS_RANDOM_H

#include <stdint.h>

/* x(k+1) = a x(k) mod 2^46, a = 5^13, as NASA's report RNR-94-007, section 2.3,
 * specifies; the numbers are x(k) / 2^46, in (0, 1).  The report's programs
 * split every product into halves because they had only doubles; 64-bit
 * integers do it exactly, since 2^46 divides 2^64. */

#define RANDOM_MULTIPLIER UINT64_C(1220703125)
#define RANDOM_MASK       ((UINT64_C(1) << 46) - 1)

/* Advance STATE by one step and return its number. */
static inline double random_next(uint64_t *state)
{
    *state = *state * RANDOM_MULTIPLIER & RANDOM_MASK;
    return (double)*state * 0x1p-46;
}

/* The state COUNT steps after STATE, in log(COUNT) products. */
static inline uint64_t random_skip(uint64_t state, uint64_t count)
{
    for (uint64_t a = RANDOM_MULTIPLIER; count; count >>= 1) {
        if (count & 1)
            state = state * a & RANDOM_MASK;
        a = a * a & RANDOM_MASK;
    }
    return state;
}

#endif /* JOBS_RANDOM_H */
