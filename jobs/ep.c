/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* ep: compute-bound; NPB EP, one long loop with dynamic scheduling. */

#include "jobs/gauss.h"

#include <omp.h>

static struct gauss_sums compute(long blocks)
{
    struct gauss_sums total = {0};
    double x = 0, y = 0, *count = total.count;

#pragma omp parallel for schedule(dynamic) \
    reduction(+ : x, y, count[:GAUSS_ANNULI])
    for (long i = 0; i < blocks; i++) {
        struct gauss_sums part = {0};

        gauss_block(i, &part);
        x += part.x;
        y += part.y;
        for (int k = 0; k < GAUSS_ANNULI; k++)
            count[k] += part.count[k];
    }
    total.x = x;
    total.y = y;
    return total;
}

int main(int argc, char **argv)
{
    struct program p = {
        .name = "ep",
        .summary = "NPB EP: sums of Gaussian deviates; compute-bound.",
    };

    if (program_parse(&p, argc, argv))
        return p.status;
    program_start(&p);
    do {
        struct gauss_sums sums = compute(gauss_blocks(p.size_class));

        gauss_verify(&p, &sums);
    } while (program_again(&p));
    return program_finish(&p, omp_get_max_threads(), "mops",
                          1e-6 * gauss_pairs(p.size_class) * (double)p.done /
                              p.time);
}
