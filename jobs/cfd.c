/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The flow problem that NPB BT, SP and LU solve in three ways. */

#include "jobs/cfd.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const double dissipation = 0.25;
static const double epsilon = 1e-8; /* relative, as the benchmark demands */

/* The solution is a polynomial of degree 4 along each direction (RNR-94-007, table 3.1): the
 * constant, then the coefficients of x, y, z, x^2, y^2, z^2 and so on. */
static const double solution[CFD_EQUATIONS][13] = {
    {2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

static void exact(const double x[3], cfd_vector value)
{
    for (int m = 0; m < CFD_EQUATIONS; m++) {
        const double *c = solution[m];

        value[m] = c[0];
        for (int d = 0; d < 3; d++)
            value[m] +=
                x[d] * (c[1 + d] + x[d] * (c[4 + d] + x[d] * (c[7 + d] + x[d] * c[10 + d])));
    }
}

static void coordinates(const struct cfd *g, int k, int j, int i, double x[3])
{
    const double h = 1.0 / (g->n - 1);

    x[0] = i * h;
    x[1] = j * h;
    x[2] = k * h;
}

static void make(const struct program *p, struct cfd *g, int n, double dt)
{
    size_t points = (size_t)n * n * n;

    *g = (struct cfd){.n = n, .dt = dt, .stride = {1, (size_t)n, (size_t)n * n}};
    g->u = program_alloc(p, points, sizeof(*g->u));
    g->rhs = program_alloc(p, points, sizeof(*g->rhs));
    g->forcing = program_alloc(p, points, sizeof(*g->forcing));
    g->at = program_alloc(p, points, sizeof(*g->at));
}

/* ---- the residual ------------------------------------------------------------ */

/* Fourth difference at a place of a line: what is beyond the boundary has no weight. */
struct stencil {
    double weight[5]; /* of the points at -2 to 2 */
};

static struct stencil stencil_at(int place, int n)
{
    if (place == 1)
        return (struct stencil){{0, 0, 5, -4, 1}};
    if (place == 2)
        return (struct stencil){{0, -4, 6, -4, 1}};
    if (place == n - 3)
        return (struct stencil){{1, -4, 6, -4, 0}};
    if (place == n - 2)
        return (struct stencil){{1, -4, 5, 0, 0}};
    return (struct stencil){{1, -4, 6, -4, 1}};
}

/* Second difference of member F of the points at -1, 0 and 1. */
#define SECOND(p, f) ((p)[2]->f - 2 * (p)[1]->f + (p)[0]->f)

/* Add to COUNT points from FIRST on what direction D contributes, S being its stencil. */
__attribute__((always_inline)) static inline void
add_direction(struct cfd *g, size_t first, int count, int d, const struct stencil *s)
{
    const double t1 = cfd_second(g), t2 = cfd_first(g), viscous = CFD_C34 * t1;
    const double heat = viscous * CFD_C1 * 1.4, mix = viscous * (1 - CFD_C1 * 1.4);
    const ptrdiff_t stride = (ptrdiff_t)g->stride[d];
    const ptrdiff_t before = s->weight[0] != 0 ? -2 * stride : 0;
    const ptrdiff_t after = s->weight[4] != 0 ? 2 * stride : 0;

    for (size_t i = first; i < first + count; i++) {
        const double *u[] = {g->u[i - stride], g->u[i], g->u[i + stride]};
        const struct cfd_point *w[] = {&g->at[i - stride], &g->at[i], &g->at[i + stride]};
        const double *far0 = g->u[i + before], *far1 = g->u[i + after];
        const double back = w[0]->v[d], here = w[1]->v[d], ahead = w[2]->v[d];
        double *r = g->rhs[i];

        r[0] -= t2 * (u[2][1 + d] - u[0][1 + d]);
        for (int c = 0; c < 3; c++)
            r[1 + c] += (c == d ? 4.0 / 3 : 1) * viscous * SECOND(w, v[c]) -
                        t2 * (u[2][1 + c] * ahead - u[0][1 + c] * back);
        r[1 + d] -= t2 * CFD_C2 * (u[2][4] - w[2]->square - u[0][4] + w[0]->square);
        r[4] += mix * SECOND(w, q) +
                viscous / 6 * (ahead * ahead - 2 * here * here + back * back) +
                heat * (u[2][4] * w[2]->inverse - 2 * u[1][4] * w[1]->inverse +
                        u[0][4] * w[0]->inverse) -
                t2 * ((CFD_C1 * u[2][4] - CFD_C2 * w[2]->square) * ahead -
                      (CFD_C1 * u[0][4] - CFD_C2 * w[0]->square) * back);
        for (int m = 0; m < CFD_EQUATIONS; m++)
            r[m] += cfd_damping(d) * t1 * (u[2][m] - 2 * u[1][m] + u[0][m]) -
                    dissipation * (s->weight[0] * far0[m] + s->weight[1] * u[0][m] +
                                   s->weight[2] * u[1][m] + s->weight[3] * u[2][m] +
                                   s->weight[4] * far1[m]);
    }
}

/* All directions, for the interior of the row (K, J). */
static void residual_row(struct cfd *g, int k, int j, double scale)
{
    const size_t row = cfd_index(g, k, j, 0);
    const int n = g->n, cut[] = {1, 2, 3, n - 3, n - 2, n - 1};
    struct stencil s;

    memcpy(g->rhs[row + 1], g->forcing[row + 1], (size_t)(n - 2) * sizeof(cfd_vector));
    for (int part = 0; part < 5; part++) {
        s = stencil_at(cut[part], n);
        add_direction(g, row + cut[part], cut[part + 1] - cut[part], 0, &s);
    }
    s = stencil_at(j, n);
    add_direction(g, row + 1, n - 2, 1, &s);
    s = stencil_at(k, n);
    add_direction(g, row + 1, n - 2, 2, &s);
    for (int i = 1; i < n - 1; i++)
        for (int m = 0; m < CFD_EQUATIONS; m++)
            g->rhs[row + i][m] *= scale;
}

static void look_at(const double *u, struct cfd_point *w)
{
    w->inverse = 1 / u[0];
    for (int c = 0; c < 3; c++)
        w->v[c] = u[1 + c] * w->inverse;
    w->square = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * w->inverse;
    w->q = w->square * w->inverse;
}

void cfd_residual(struct cfd *g, double scale)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int k = 0; k < g->n; k++)
            for (size_t i = cfd_index(g, k, 0, 0); i < cfd_index(g, k + 1, 0, 0); i++)
                look_at(g->u[i], &g->at[i]);
#pragma omp for schedule(static)
        for (int k = 1; k < g->n - 1; k++)
            for (int j = 1; j < g->n - 1; j++)
                residual_row(g, k, j, scale);
    }
}

void cfd_add(struct cfd *g, double scale)
{
#pragma omp parallel for schedule(static)
    for (int k = 1; k < g->n - 1; k++)
        for (int j = 1; j < g->n - 1; j++) {
            size_t row = cfd_index(g, k, j, 0);

            for (int i = 1; i < g->n - 1; i++)
                for (int m = 0; m < CFD_EQUATIONS; m++)
                    g->u[row + i][m] += scale * g->rhs[row + i][m];
        }
}

/* ---- where it begins and where it should end ------------------------------------ */

/* The forcing of the problem, once; changes u. */
static void make_forcing(struct cfd *g)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k < g->n; k++)
        for (int j = 0; j < g->n; j++)
            for (int i = 0; i < g->n; i++) {
                size_t point = cfd_index(g, k, j, i);
                double x[3];

                coordinates(g, k, j, i, x);
                exact(x, g->u[point]);
                memset(g->rhs[point], 0, sizeof(cfd_vector));
                memset(g->forcing[point], 0, sizeof(cfd_vector));
            }
    cfd_residual(g, -1);
#pragma omp parallel for schedule(static)
    for (int k = 0; k < g->n; k++)
        memcpy(g->forcing[cfd_index(g, k, 0, 0)], g->rhs[cfd_index(g, k, 0, 0)],
               g->stride[2] * sizeof(cfd_vector));
}

/* A value inside, by transfinite interpolation of those on the six faces. */
static void interpolate(const double x[3], cfd_vector value)
{
    cfd_vector p[3];

    for (int d = 0; d < 3; d++) {
        double low[3] = {x[0], x[1], x[2]}, high[3] = {x[0], x[1], x[2]};
        cfd_vector at_low, at_high;

        low[d] = 0;
        high[d] = 1;
        exact(low, at_low);
        exact(high, at_high);
        for (int m = 0; m < CFD_EQUATIONS; m++)
            p[d][m] = x[d] * at_high[m] + (1 - x[d]) * at_low[m];
    }
    for (int m = 0; m < CFD_EQUATIONS; m++)
        value[m] = p[0][m] + p[1][m] + p[2][m] - p[0][m] * p[1][m] - p[0][m] * p[2][m] -
                   p[1][m] * p[2][m] + p[0][m] * p[1][m] * p[2][m];
}

/* The state in which the benchmark begins: interpolated between the boundary's values. */
static void begin(struct cfd *g)
{
    const int last = g->n - 1;

#pragma omp parallel for schedule(static)
    for (int k = 0; k <= last; k++)
        for (int j = 0; j <= last; j++)
            for (int i = 0; i <= last; i++) {
                bool boundary = k == 0 || j == 0 || i == 0 || k == last || j == last || i == last;
                double x[3];

                coordinates(g, k, j, i, x);
                (boundary ? exact : interpolate)(x, g->u[cfd_index(g, k, j, i)]);
            }
}

/* Serial: a runtime that loses iterations would lose the same ones here. */
static void norms(const struct cfd *g, cfd_vector residual, cfd_vector error)
{
    memset(residual, 0, sizeof(cfd_vector));
    memset(error, 0, sizeof(cfd_vector));
    for (int k = 1; k < g->n - 1; k++)
        for (int j = 1; j < g->n - 1; j++)
            for (int i = 1; i < g->n - 1; i++) {
                size_t point = cfd_index(g, k, j, i);
                double x[3];
                cfd_vector e;

                coordinates(g, k, j, i, x);
                exact(x, e);
                for (int m = 0; m < CFD_EQUATIONS; m++) {
                    double off = g->u[point][m] - e[m];

                    residual[m] += g->rhs[point][m] * g->rhs[point][m];
                    error[m] += off * off;
                }
            }
    for (int m = 0; m < CFD_EQUATIONS; m++) {
        residual[m] = sqrt(residual[m] / pow(g->n - 2, 3));
        error[m] = sqrt(error[m] / pow(g->n - 2, 3));
    }
}

static void verify(struct program *p, struct cfd *g, const struct cfd_problem *problem)
{
    cfd_vector residual, error;

    cfd_residual(g, 1);
    norms(g, residual, error);
    for (int m = 0; m < CFD_EQUATIONS; m++) {
        if (!program_close(residual[m], problem->residual[m], epsilon))
            program_fail(p, "residual %d is %.13e, not %.13e", m, residual[m],
                         problem->residual[m]);
        if (!program_close(error[m], problem->error[m], epsilon))
            program_fail(p, "error %d is %.13e, not %.13e", m, error[m], problem->error[m]);
    }
}

int cfd_main(struct program *p, int argc, char **argv, const struct cfd_method *method)
{
    const struct cfd_problem *problem = method->problems;
    struct cfd g;

    if (program_parse(p, argc, argv))
        return p->status;
    while (problem->size_class != p->size_class)
        problem++;
    make(p, &g, problem->n, problem->dt);
    make_forcing(&g);
    begin(&g);
    p->steps = problem->steps;
    program_start(p);
    do {
        if (p->done)
            begin(&g);
        if (method->begin)
            method->begin(&g);
        for (int i = 0; i < problem->steps; i++)
            method->step(&g);
        verify(p, &g, problem);
        if (method->verify)
            method->verify(p, &g, problem);
    } while (program_again(p));
    free(g.u);
    free(g.rhs);
    free(g.forcing);
    free(g.at);
    return program_finish(p, omp_get_max_threads(), "steps_per_s",
                          problem->steps * (double)p->done / p->time);
}
