/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Seeded random numbers for the simulators. */

#ifndef COSCHED_SIMULATOR_RANDOM_H
#define COSCHED_SIMULATOR_RANDOM_H

/* Concept
 *
 * One generator per simulation (xoshiro256++ of Blackman and Vigna, public domain), so that
 * equal seeds give equal runs.  Period 2^256; the state comes from the seed by splitmix64,
 * which never leaves it all zero.
 */

#include <math.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

/* Start the sequence that belongs to SEED; any value is good. */
static inline void random_seed(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        random->state[i] = z ^ z >> 31;
    }
}

static inline uint64_t random_rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

/* The next 64 random bits. */
static inline uint64_t random_bits(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = random_rotate(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

/* Uniform in (0, 1]: never 0, so that its logarithm is finite. */
static inline double random_uniform(struct random *random)
{
    return (double)((random_bits(random) >> 11) + 1) * 0x1p-53;
}

/* Uniform in 0 .. COUNT - 1 for COUNT < 2^32 (the bias is below 2^-32). */
static inline uint32_t random_index(struct random *random, uint32_t count)
{
    return (uint32_t)((random_bits(random) >> 32) * count >> 32);
}

/* Exponentially distributed with mean MEAN. */
static inline double random_exponential(struct random *random, double mean)
{
    return -mean * log(random_uniform(random));
}

#endif /* COSCHED_SIMULATOR_RANDOM_H */
