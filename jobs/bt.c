/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* bt: compute-bound; NPB BT, block tridiagonal systems along each direction. */

#include "jobs/cfd.h"

#include <string.h>

enum { MOST_POINTS = 162 };

static const struct cfd_problem problems[] = {
    {'S', 12, 60, 0.01, 0,
     {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02,
      2.6436421275166801e-02, 1.9211784131744430e-01},
     {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05,
      7.3821238632439731e-05, 8.9269630987491446e-04}},
    {'W', 24, 200, 0.8e-3, 0,
     {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02, 0.2469174937669e+02,
      0.2638427874317e+03},
     {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01, 0.9235878729944e+00,
      0.1018045837718e+02}},
    /* Not NASA's; computed with one thread. */
    {'w', 24, 20, 0.8e-3, 0,
     {8.73940825397240e+03, 7.38035147758760e+02, 2.16287473058719e+03, 1.85564459422897e+03,
      1.54793583681839e+04},
     {2.01490901243772e+02, 1.43309156081239e+01, 5.05386786305913e+01, 4.52172045208815e+01,
      4.33782833280421e+02}},
    {'A', 64, 200, 0.8e-3, 0,
     {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01,
      2.3665622544678910e+01, 2.5278963211748344e+02},
     {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01,
      8.8302063039765474e-01, 9.7379901770829278e+00}},
    {'B', 102, 200, 3e-4, 0,
     {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02,
      3.2485447959084092e+02, 3.2707541254659363e+03},
     {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01,
      1.2006925323559144e+01, 1.2459576151035986e+02}},
    {'C', 162, 200, 1e-4, 0,
     {0.62398116551764615e+04, 0.50793239190423964e+03, 0.15423530093013596e+04,
      0.13302387929291190e+04, 0.11604087428436455e+05},
     {0.16462008369091265e+03, 0.11497107903824313e+02, 0.41207446207461508e+02,
      0.37087651059694167e+02, 0.36211053051841265e+03}},
};

/* y -= A x */
static inline void subtract_product(cfd_block_t a, const double *x, double *y)
{
    for (int i = 0; i < CFD_EQUATIONS; i++)
        y[i] -= a[i][0] * x[0] + a[i][1] * x[1] + a[i][2] * x[2] + a[i][3] * x[3] +
                a[i][4] * x[4];
}

/* C -= A B */
static inline void subtract_block(cfd_block_t a, cfd_block_t b, cfd_block_t c)
{
    for (int i = 0; i < CFD_EQUATIONS; i++)
        for (int j = 0; j < CFD_EQUATIONS; j++)
            c[i][j] -= a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] +
                       a[i][3] * b[3][j] + a[i][4] * b[4][j];
}

/* C = B^-1 C and R = B^-1 R by Gauss-Jordan elimination; B is dominated by its diagonal. */
static inline void divide(cfd_block_t b, cfd_block_t c, double *r)
{
    for (int p = 0; p < CFD_EQUATIONS; p++) {
        double pivot = 1 / b[p][p];

        for (int j = p + 1; j < CFD_EQUATIONS; j++)
            b[p][j] *= pivot;
        for (int j = 0; j < CFD_EQUATIONS; j++)
            c[p][j] *= pivot;
        r[p] *= pivot;
        for (int i = 0; i < CFD_EQUATIONS; i++) {
            double factor = b[i][p];

            if (i == p)
                continue;
            for (int j = p + 1; j < CFD_EQUATIONS; j++)
                b[i][j] -= factor * b[p][j];
            for (int j = 0; j < CFD_EQUATIONS; j++)
                c[i][j] -= factor * c[p][j];
            r[i] -= factor * r[p];
        }
    }
}

/* Solve the line from FIRST on along direction D.  The boundary stays as it is, so that the
 * outermost blocks do not count.  UPPER[n] is room for the blocks above the diagonal. */
__attribute__((always_inline)) static inline void
solve_line(struct cfd *g, size_t first, int d, cfd_block_t *upper)
{
    const double s1 = g->dt * cfd_second(g), s2 = g->dt * cfd_first(g);
    const size_t stride = g->stride[d];

    memset(upper[0], 0, sizeof(upper[0]));
    for (int i = 1; i < g->n - 1; i++) {
        size_t here = first + (size_t)i * stride, back = here - stride, ahead = here + stride;
        cfd_block_t lower = {{0}}, diagonal = {{0}};

        cfd_block(g->u[back], &g->at[back], d, -s2, -s1, lower);
        cfd_block(g->u[here], &g->at[here], d, 0, 2 * s1, diagonal);
        memset(upper[i], 0, sizeof(upper[i]));
        cfd_block(g->u[ahead], &g->at[ahead], d, s2, -s1, upper[i]);
        for (int m = 0; m < CFD_EQUATIONS; m++)
            diagonal[m][m] += 1;
        subtract_product(lower, g->rhs[back], g->rhs[here]);
        subtract_block(lower, upper[i - 1], diagonal);
        divide(diagonal, upper[i], g->rhs[here]);
    }
    for (int i = g->n - 3; i > 0; i--) {
        size_t here = first + (size_t)i * stride;

        subtract_product(upper[i], g->rhs[here + stride], g->rhs[here]);
    }
}

/* The lines along D of the plane at place A of the slower of the other two directions. */
static void solve_plane(struct cfd *g, int d, int a)
{
    const size_t slow = g->stride[d == 2 ? 1 : 2], fast = g->stride[d == 0 ? 1 : 0];
    cfd_block_t upper[MOST_POINTS];

    for (int b = 1; b < g->n - 1; b++) {
        size_t first = (size_t)a * slow + (size_t)b * fast;

        if (d == 0)
            solve_line(g, first, 0, upper);
        else if (d == 1)
            solve_line(g, first, 1, upper);
        else
            solve_line(g, first, 2, upper);
    }
}

static void step(struct cfd *g)
{
    cfd_residual(g, g->dt);
    for (int d = 0; d < 3; d++) {
#pragma omp parallel for schedule(static)
        for (int a = 1; a < g->n - 1; a++)
            solve_plane(g, d, a);
    }
    cfd_add(g, 1);
}

int main(int argc, char **argv)
{
    static const struct cfd_method method = {.problems = problems, .step = step};
    struct program p = {
        .name = "bt",
        .summary = "NPB BT: flow by block tridiagonal systems; compute-bound.",
        .own_class = "w (20 steps of W)",
    };

    return cfd_main(&p, argc, argv, &method);
}
