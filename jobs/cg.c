/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* cg: rich in barriers; NPB CG, the smallest eigenvalue of a sparse matrix. */

#include "jobs/matrix.h"
#include "jobs/program.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* Conjugate gradient steps per outer iteration, as NPB prescribes. */
enum { INNER_STEPS = 25 };

static const double epsilon = 1e-10;

/* Order, nonzeros, outer iterations, shift and the published result. */
struct problem {
    char size_class;
    int n, nonzeros, iterations;
    double shift, zeta;
};

static const struct problem problems[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648},
    {'W', 7000, 8, 15, 12, 10.362595087124},
    {'A', 14000, 11, 15, 20, 17.130235054029},
    {'B', 75000, 13, 75, 60, 22.712745482631},
};

struct vectors {
    double *x, *z, *p, *q, *r;
};

/* Solve A z = x roughly.  As in NPB every vector operation is a loop of its own
 * in one parallel region; a step has six barriers. */
static void conjugate_gradient(const struct matrix *a, const struct vectors *v)
{
    double *x = v->x, *z = v->z, *p = v->p, *q = v->q, *r = v->r;
    double rho = 0, rho_before = 0, d = 0;
    int n = a->n;

#pragma omp parallel
    {
#pragma omp for schedule(static) reduction(+ : rho)
        for (int i = 0; i < n; i++) {
            z[i] = 0;
            r[i] = p[i] = x[i];
            rho += x[i] * x[i];
        }
        for (int step = 0; step < INNER_STEPS; step++) {
            double alpha, beta;

#pragma omp for schedule(static)
            for (int i = 0; i < n; i++)
                q[i] = matrix_row_product(a, i, p);
#pragma omp for schedule(static) reduction(+ : d)
            for (int i = 0; i < n; i++)
                d += p[i] * q[i];
            alpha = rho / d;
#pragma omp barrier
#pragma omp single
            {
                rho_before = rho;
                rho = 0;
                d = 0;
            }
#pragma omp for schedule(static) reduction(+ : rho)
            for (int i = 0; i < n; i++) {
                z[i] += alpha * p[i];
                r[i] -= alpha * q[i];
                rho += r[i] * r[i];
            }
            beta = rho / rho_before;
#pragma omp for schedule(static)
            for (int i = 0; i < n; i++)
                p[i] = r[i] + beta * p[i];
        }
    }
}

/* One step of inverse iteration: the next estimate of the eigenvalue. */
static double iterate(const struct problem *problem, const struct matrix *a,
                      const struct vectors *v)
{
    double xz = 0, zz = 0, scale;
    double *x = v->x, *z = v->z;
    int n = a->n;

    conjugate_gradient(a, v);
#pragma omp parallel for schedule(static) reduction(+ : xz, zz)
    for (int i = 0; i < n; i++) {
        xz += x[i] * z[i];
        zz += z[i] * z[i];
    }
    scale = 1 / sqrt(zz);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        x[i] = scale * z[i];
    return problem->shift + 1 / xz;
}

static double compute(const struct problem *problem, const struct matrix *a,
                      const struct vectors *v)
{
    double zeta = 0;

    for (int i = 0; i < a->n; i++)
        v->x[i] = 1;
    for (int k = 0; k < problem->iterations; k++)
        zeta = iterate(problem, a, v);
    return zeta;
}

static const struct problem *find(char size_class)
{
    const struct problem *problem = problems;

    while (problem->size_class != size_class)
        problem++;
    return problem;
}

int main(int argc, char **argv)
{
    struct program p = {
        .name = "cg",
        .summary = "NPB CG: eigenvalue of a sparse matrix; many barriers.",
    };
    const struct problem *problem;
    struct vectors v;
    struct matrix a;
    double **each[] = {&v.x, &v.z, &v.p, &v.q, &v.r};

    if (program_parse(&p, argc, argv))
        return p.status;
    problem = find(p.size_class);
    matrix_make(&p, &a, problem->n, problem->nonzeros, problem->shift);
    for (int i = 0; i < 5; i++)
        *each[i] = program_alloc(&p, (size_t)problem->n, sizeof(double));
    program_start(&p);
    do {
        double zeta = compute(problem, &a, &v);

        if (!program_close(zeta, problem->zeta, epsilon))
            program_fail(&p, "zeta is %.13f, not %.13f", zeta, problem->zeta);
    } while (program_again(&p));
    for (int i = 0; i < 5; i++)
        free(*each[i]);
    matrix_free(&a);
    return program_finish(&p, omp_get_max_threads(), "solves_per_s",
                          problem->iterations * (double)p.done / p.time);
}
