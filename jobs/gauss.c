/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Pairs of Gaussian deviates, block by block, and their published sums. */

#include "jobs/gauss.h"
#include "jobs/random.h"

#include <math.h>

/* Pairs per block: the unit in which threads can be given or taken cores. */
enum { LOG2_BLOCK = 14 };

static const uint64_t seed = 271828183;
static const double epsilon = 1e-8;

/* Sums and counts as published with the benchmark's reports. */
static const struct {
    char size_class;
    int log2_pairs;
    struct gauss_sums sums;
} references[] = {
    {'S', 24, {-3.247834652034740e3, -6.958407078382297e3,
               {6140517, 5865300, 1100361, 68546, 1648, 17}}},
    {'W', 25, {-2.863319731645753e3, -6.320053679109499e3,
               {12281576, 11729692, 2202726, 137368, 3371, 36}}},
    {'A', 28, {-4.295875165629892e3, -1.580732573678431e4,
               {98257395, 93827014, 17611549, 1110028, 26536, 245}}},
    {'B', 30, {4.033815542441498e4, -2.660669192809235e4,
               {393058470, 375280898, 70460742, 4438852, 105691, 948, 5}}},
};

static int find(char size_class)
{
    int i = 0;

    while (references[i].size_class != size_class)
        i++;
    return i;
}

long gauss_blocks(char size_class)
{
    return 1L << (references[find(size_class)].log2_pairs - LOG2_BLOCK);
}

double gauss_pairs(char size_class)
{
    return ldexp(1, references[find(size_class)].log2_pairs);
}

void gauss_block(long index, struct gauss_sums *sums)
{
    uint64_t state = random_skip(seed, (uint64_t)index << (LOG2_BLOCK + 1));

    for (long i = 0; i < 1L << LOG2_BLOCK; i++) {
        double u = 2 * random_next(&state) - 1;
        double v = 2 * random_next(&state) - 1;
        double t = u * u + v * v;

        if (t > 1)
            continue;
        t = sqrt(-2 * log(t) / t);
        u *= t;
        v *= t;
        sums->count[(int)fmax(fabs(u), fabs(v))]++;
        sums->x += u;
        sums->y += v;
    }
}

void gauss_verify(struct program *p, const struct gauss_sums *sums)
{
    const struct gauss_sums *right = &references[find(p->size_class)].sums;

    if (!program_close(sums->x, right->x, epsilon))
        program_fail(p, "sum of x is %.15e, not %.15e", sums->x, right->x);
    if (!program_close(sums->y, right->y, epsilon))
        program_fail(p, "sum of y is %.15e, not %.15e", sums->y, right->y);
    for (int i = 0; i < GAUSS_ANNULI; i++)
        if (sums->count[i] != right->count[i])
            program_fail(p, "%.0f pairs in annulus %d, not %.0f",
                         sums->count[i], i, right->count[i]);
}
