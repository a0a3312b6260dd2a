/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* mg: memory-bound, in Fortran; NPB MG, Poisson's equation by multigrid. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <omp.h>
#include <stdlib.h>

enum { CHARGES = 10 }; /* of each sign */

static const uint64_t seed = 314159265;
static const double epsilon = 1e-8;

/* Log2 of the points on a side, V-cycles, the published norm. */
struct problem {
    char size_class;
    int finest, cycles;
    double smoother[3], norm;
};

#define SMALL {-3.0 / 8, 1.0 / 32, -1.0 / 64}
#define LARGE {-3.0 / 17, 1.0 / 33, -1.0 / 61}
static const struct problem problems[] = {
    {'S', 5, 4, SMALL, 0.5307707005734e-04},  {'W', 7, 4, SMALL, 0.6467329375339e-05},
    {'A', 8, 4, SMALL, 0.2433365309069e-05},  {'B', 8, 20, LARGE, 0.1800564401355e-05},
    {'C', 9, 20, LARGE, 0.5706732285740e-06},
};

/* mg_grids.f90 */
void mg_make(int finest, const double *smoother);
void mg_begin(int count, const int *places);
double mg_cycle(void);
void mg_free(void);

struct charge {
    double value;
    int place[3];
};

/* Insert C into LIST, the CHARGES largest of SIGN times value so far, largest first. */
static void keep(struct charge *list, double sign, const struct charge *c)
{
    int i = CHARGES - 1;

    if (sign * c->value <= sign * list[i].value)
        return;
    for (; i > 0 && sign * c->value > sign * list[i - 1].value; i--)
        list[i] = list[i - 1];
    list[i] = *c;
}

/* The charges sit where a sequence of random numbers has its ten largest and smallest. */
static void find_charges(int n, int places[CHARGES][2][3])
{
    struct charge high[CHARGES], low[CHARGES], c;
    uint64_t state = seed;

    for (int i = 0; i < CHARGES; i++) {
        high[i].value = 0;
        low[i].value = 1;
    }
    for (c.place[2] = 1; c.place[2] <= n; c.place[2]++)
        for (c.place[1] = 1; c.place[1] <= n; c.place[1]++)
            for (c.place[0] = 1; c.place[0] <= n; c.place[0]++) {
                c.value = random_next(&state);
                keep(high, 1, &c);
                keep(low, -1, &c);
            }
    for (int i = 0; i < CHARGES; i++)
        for (int d = 0; d < 3; d++) {
            places[i][0][d] = high[i].place[d];
            places[i][1][d] = low[i].place[d];
        }
}

int main(int argc, char **argv)
{
    struct program p = {
        .name = "mg",
        .summary = "NPB MG: Poisson's equation by multigrid; memory-bound; Fortran.",
    };
    const struct problem *problem = problems;
    int places[CHARGES][2][3];

    if (program_parse(&p, argc, argv))
        return p.status;
    while (problem->size_class != p.size_class)
        problem++;
    mg_make(problem->finest, problem->smoother);
    find_charges(1 << problem->finest, places);
    p.steps = problem->cycles;
    program_start(&p);
    do {
        double norm = 0;

        mg_begin(CHARGES, &places[0][0][0]);
        for (int i = 0; i < problem->cycles; i++)
            norm = mg_cycle();
        if (!program_close(norm, problem->norm, epsilon))
            program_fail(&p, "norm is %.13e, not %.13e", norm, problem->norm);
    } while (program_again(&p));
    mg_free();
    return program_finish(&p, omp_get_max_threads(), "cycles_per_s",
                          problem->cycles * (double)p.done / p.time);
}
