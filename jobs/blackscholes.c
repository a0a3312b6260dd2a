/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* blackscholes: compute-bound; prices of European options by the closed formula. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { PASSES = 20 }; /* over all options, as new rates come in */

static const uint64_t seed = 314159265;

/* F. Black, M. Scholes, "The Pricing of Options and Corporate Liabilities", 1973. */
struct option {
    double spot, strike, volatility, years;
    double call, put;
};

static double rate_of(int pass)
{
    return 0.01 + 0.09 * pass / PASSES;
}

/* Share of a normal distribution below X. */
static double below(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static void price(struct option *o, double rate)
{
    double spread = o->volatility * sqrt(o->years);
    double d1 = (log(o->spot / o->strike) +
                 (rate + 0.5 * o->volatility * o->volatility) * o->years) / spread;
    double d2 = d1 - spread, now = o->strike * exp(-rate * o->years);

    o->call = o->spot * below(d1) - now * below(d2);
    o->put = now * below(-d2) - o->spot * below(-d1);
}

static void make(struct option *options, long n)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        uint64_t state = random_skip(seed, 4 * (uint64_t)i);
        struct option *o = &options[i];

        o->spot = 20 + 80 * random_next(&state);
        o->strike = o->spot * (0.7 + 0.6 * random_next(&state));
        o->volatility = 0.05 + 0.6 * random_next(&state);
        o->years = 0.1 + 2 * random_next(&state);
        o->call = o->put = NAN;
    }
}

/* Serial: a call less a put is worth the difference of its prices, whatever the formula; and the
 * formula gives the textbook's example (J. Hull, "Options, Futures, and Other Derivatives"). */
static void verify(struct program *p, const struct option *options, long n)
{
    struct option hull = {.spot = 42, .strike = 40, .volatility = 0.2, .years = 0.5};
    double rate = rate_of(PASSES - 1);
    long wrong = 0;

    price(&hull, 0.1);
    if (fabs(hull.call - 4.76) > 0.005 || fabs(hull.put - 0.81) > 0.005)
        program_fail(p, "the example costs %.4f and %.4f, not 4.76 and 0.81", hull.call,
                     hull.put);
    for (long i = 0; i < n; i++) {
        const struct option *o = &options[i];
        double parity = o->spot - o->strike * exp(-rate * o->years);

        wrong += !(o->spot >= 20 && o->call >= 0 &&
                   fabs(o->call - o->put - parity) <= 1e-9 * o->spot);
    }
    if (wrong)
        program_fail(p, "%ld of %ld prices are wrong", wrong, n);
}

int main(int argc, char **argv)
{
    static const struct {
        char size_class;
        long options;
    } sizes[] = {{'S', 20000}, {'W', 200000}, {'A', 2000000}, {'B', 8000000}, {'C', 32000000}};
    struct program p = {
        .name = "blackscholes",
        .summary = "Prices of options by the Black-Scholes formula; compute-bound.",
    };
    struct option *options;
    int size = 0;
    long n;

    if (program_parse(&p, argc, argv))
        return p.status;
    while (sizes[size].size_class != p.size_class)
        size++;
    n = sizes[size].options;
    options = program_alloc(&p, (size_t)n, sizeof(*options));
    make(options, n);
    p.steps = PASSES;
    program_start(&p);
    do {
        for (int pass = 0; pass < PASSES; pass++) {
#pragma omp parallel for schedule(static)
            for (long i = 0; i < n; i++)
                price(&options[i], rate_of(pass));
        }
        verify(&p, options, n);
    } while (program_again(&p));
    free(options);
    return program_finish(&p, omp_get_max_threads(), "mprices_per_s",
                          2e-6 * PASSES * (double)n * (double)p.done / p.time);
}
