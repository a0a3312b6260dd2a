/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The 24 loops of thesis table 3.1 as the simulator runs them. */

#include "tests/validate/loops.h"

#include <math.h>

/* Streaming loops write much and are prefetched well, CG's gathers are not;
 * the requests of cffts1 grow with the threads and those of cffts3 fall
 * (figure 3.4). */
const struct loop_traits loops[LOOPS] = {
    /* app, name, scaling, assumed, rate, growth, write, prefetch */
    {"BT", "x_solve", 7.21, true, 19, 1.00, 0.30, {0.30, 0.25}},
    {"BT", "y_solve", 7.21, true, 18.5, 1.02, 0.30, {0.30, 0.25}},
    {"BT", "z_solve", 7.21, false, 17.1, 1.05, 0.30, {0.25, 0.20}},
    {"BT", "add", 4.06, true, 45.6, 1.05, 0.33, {0.45, 0.30}},
    {"CG", "conj_grad2", 4.52, false, 50.3, 0.95, 0.05, {0.15, 0.10}},
    {"FT", "cffts1", 4.09, false, 36.4, 1.25, 0.35, {0.35, 0.20}},
    {"FT", "cffts2", 5.14, false, 33.9, 1.05, 0.35, {0.30, 0.20}},
    {"FT", "cffts3", 5.56, false, 44.2, 0.80, 0.35, {0.25, 0.20}},
    {"SP", "rhs1", 5.16, false, 34.3, 1.05, 0.30, {0.40, 0.30}},
    {"SP", "rhs2", 4.02, false, 44.5, 1.10, 0.25, {0.45, 0.30}},
    {"SP", "rhs3", 4.37, false, 40.4, 1.10, 0.25, {0.40, 0.28}},
    {"SP", "rhs4", 6.33, false, 24.4, 1.05, 0.25, {0.40, 0.30}},
    {"SP", "rhs5", 7.42, false, 17.3, 1.00, 0.30, {0.35, 0.30}},
    {"SP", "x_solve", 4.52, true, 41.1, 1.05, 0.30, {0.35, 0.25}},
    {"SP", "y_solve", 4.52, true, 39.5, 1.08, 0.30, {0.35, 0.25}},
    {"SP", "z_solve", 4.52, false, 38.3, 1.10, 0.30, {0.30, 0.20}},
    {"SP", "txinvr", 4.06, true, 46.4, 1.05, 0.35, {0.45, 0.32}},
    {"SP", "tzetar", 4.06, false, 45.6, 1.05, 0.35, {0.45, 0.30}},
    {"MG", "rprj3", 4.08, false, 56.2, 0.95, 0.15, {0.40, 0.30}},
    {"MG", "psinv", 4.22, false, 48.1, 1.00, 0.20, {0.45, 0.32}},
    {"MG", "interp1", 3.54, false, 60.5, 1.00, 0.40, {0.35, 0.25}},
    {"MG", "resid", 4.13, false, 50.7, 0.98, 0.20, {0.45, 0.32}},
    {"BS", "main", 7.71, true, 12, 1.00, 0.20, {0.20, 0.20}},
    {"FM", "tiling1", 6.33, true, 20.7, 1.10, 0.10, {0.10, 0.08}},
};

struct loop_rates loop_rates(const struct loop_traits *loop, size_t dop,
                             size_t all)
{
    double x = all > 1 ? log((double)dop) / log((double)all) : 0;
    double rate = loop->rate_per_us * (1 + (loop->growth - 1) * x);
    double prefetch = loop->prefetch[0] +
                      (loop->prefetch[1] - loop->prefetch[0]) * x;

    return (struct loop_rates){rate * (1 - loop->write - prefetch),
                               rate * loop->write, rate * prefetch};
}
