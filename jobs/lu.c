/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* lu: a pipeline of threads that spin for each other; NPB LU, SSOR. */

#include "jobs/cfd.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const double omega = 1.2; /* over-relaxation */

static const struct cfd_problem problems[] = {
    {'S', 12, 50, 0.5, 7.8418928865937083,
     {1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03,
      1.5029584435994323e-03, 3.4264073155896461e-02},
     {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05,
      5.8474222595157350e-05, 1.3103347914111294e-03}},
    {'w', 33, 20, 1.5e-3, 2.1442987396152e+02,
     {8.2146121182277e+03, 6.9004398858378e+02, 2.0327537244792e+03, 1.7454491533765e+03,
      1.4661682804141e+04},
     {1.9416699433913e+02, 1.3776502711043e+01, 4.8713171032978e+01, 4.3633746497433e+01,
      4.1953186772323e+02}},
    {'W', 33, 300, 1.5e-3, 0.1161399311023e+02,
     {0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01,
      0.2826799444189e+02},
     {0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01,
      0.1084277417792e+01}},
    {'A', 64, 250, 2.0, 2.6030925604886277e+01,
     {7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02,
      1.7845301160418537e+02, 1.8384760349464247e+03},
     {2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00,
      6.7139225687777051e+00, 7.0715315688392578e+01}},
    {'B', 102, 250, 2.0, 4.7887162703308227e+01,
     {3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02,
      7.7812774739425265e+02, 7.3087969592545314e+03},
     {1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01,
      2.5905394567832939e+01, 2.6054907504857413e+02}},
    {'C', 162, 250, 2.0, 6.66404553572181300e+01,
     {1.03766980323537846e+04, 8.92212458801008552e+02, 2.56238814582660871e+03,
      2.19194343857831427e+03, 1.78078057261061185e+04},
     {2.15986399716949279e+02, 1.55789559239863600e+01, 5.41318863077207766e+01,
      4.82262643154045421e+01, 4.55902910043250358e+02}},
};

/* How far a thread has come: planes that it has completed.  Written by that thread only, with
 * release, so that who has read it with acquire sees the planes.  A cache line each. */
struct progress {
    _Alignas(64) int planes;
};

static struct progress *all; /* [omp_get_max_threads()] */

/* ---- a point -------------------------------------------------------------------- */

/* X such that D X = X, by Gaussian elimination; D is dominated by its diagonal. */
static void solve(cfd_block_t d, double *x)
{
    for (int p = 0; p < CFD_EQUATIONS; p++) {
        double pivot = 1 / d[p][p];

        for (int i = p + 1; i < CFD_EQUATIONS; i++) {
            double factor = d[i][p] * pivot;

            for (int j = p + 1; j < CFD_EQUATIONS; j++)
                d[i][j] -= factor * d[p][j];
            x[i] -= factor * x[p];
        }
    }
    for (int p = CFD_EQUATIONS - 1; p >= 0; p--) {
        for (int j = p + 1; j < CFD_EQUATIONS; j++)
            x[p] -= d[p][j] * x[j];
        x[p] /= d[p][p];
    }
}

/* Y += the block of the neighbour at OTHER along D, times its unknowns.  SIGN: -1 before, 1
 * after the point. */
__attribute__((always_inline)) static inline void
add_neighbour(const struct cfd *g, size_t other, int d, int sign, double *y)
{
    const double *x = g->rhs[other];
    cfd_block_t b = {{0}};

    cfd_block(g->u[other], &g->at[other], d, sign * g->dt * cfd_first(g),
              -g->dt * cfd_second(g), b);
    for (int i = 0; i < CFD_EQUATIONS; i++)
        y[i] += b[i][0] * x[0] + b[i][1] * x[1] + b[i][2] * x[2] + b[i][3] * x[3] +
                b[i][4] * x[4];
}

/* One step of relaxation at HERE, by the three neighbours on one side. */
__attribute__((always_inline)) static inline void
relax(struct cfd *g, size_t here, int sign)
{
    cfd_vector y = {0};
    cfd_block_t diagonal = {{0}};
    double *r = g->rhs[here];

    for (int d = 2; d >= 0; d--) {
        add_neighbour(g, sign < 0 ? here - g->stride[d] : here + g->stride[d], d, sign, y);
        cfd_block(g->u[here], &g->at[here], d, 0, 2 * g->dt * cfd_second(g), diagonal);
    }
    for (int m = 0; m < CFD_EQUATIONS; m++)
        diagonal[m][m] += 1;
    if (sign < 0) { /* (D + L) x = r */
        for (int m = 0; m < CFD_EQUATIONS; m++)
            r[m] -= omega * y[m];
        solve(diagonal, r);
    } else { /* x = x - D^-1 U x */
        for (int m = 0; m < CFD_EQUATIONS; m++)
            y[m] *= omega;
        solve(diagonal, y);
        for (int m = 0; m < CFD_EQUATIONS; m++)
            r[m] -= y[m];
    }
}

/* ---- the pipeline ----------------------------------------------------------------- */

/* Wait for the thread before us in the pipeline, as NPB does: by looking again and again. */
static void await(const struct progress *before, int planes)
{
    int done;

    do {
#pragma omp atomic read acquire
        done = before->planes;
    } while (done < planes);
}

/* Each thread has some rows of each plane.  A plane's rows need those of the thread before, and
 * its own in the plane before. */
static void sweep(struct cfd *g, int sign)
{
    const int me = omp_get_thread_num(), threads = omp_get_num_threads();
    const int inner = g->n - 2, low = 1 + (int)((long)inner * me / threads);
    const int high = 1 + (int)((long)inner * (me + 1) / threads);
    const int before = sign < 0 ? me - 1 : me + 1;

    for (int plane = 1; plane <= inner; plane++) {
        int k = sign < 0 ? plane : g->n - 1 - plane;

        if (before >= 0 && before < threads)
            await(&all[before], plane);
        for (int j = low; j < high; j++)
            for (int i = 1; i <= inner; i++) {
                if (sign < 0)
                    relax(g, cfd_index(g, k, j, i), -1);
                else
                    relax(g, cfd_index(g, k, high + low - 1 - j, g->n - 1 - i), 1);
            }
#pragma omp atomic write release
        all[me].planes = plane;
    }
}

static void step(struct cfd *g)
{
#pragma omp parallel
    {
        memset(&all[omp_get_thread_num()], 0, sizeof(*all));
#pragma omp barrier
        sweep(g, -1);
#pragma omp barrier
        memset(&all[omp_get_thread_num()], 0, sizeof(*all));
#pragma omp barrier
        sweep(g, 1);
    }
    cfd_add(g, 1 / (omega * (2 - omega)));
    cfd_residual(g, g->dt);
}

/* ---- verification ----------------------------------------------------------------- */

static double pressure(const struct cfd *g, int k, int j, int i)
{
    const double *u = g->u[cfd_index(g, k, j, i)];

    return CFD_C2 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
}

/* Pressure over two opposite faces of a box inside, by the trapezoidal rule.  LOW and HIGH are the
 * box' corners; D is the faces' direction. */
static double faces(const struct cfd *g, const int *low, const int *high, int d)
{
    const int a = (d + 1) % 3, b = (d + 2) % 3;
    double sum = 0;
    int p[3];

    for (int side = 0; side < 2; side++) {
        p[d] = side ? high[d] : low[d];
        for (p[a] = low[a]; p[a] <= high[a]; p[a]++)
            for (p[b] = low[b]; p[b] <= high[b]; p[b]++)
                sum += (p[a] == low[a] || p[a] == high[a] ? 1 : 2) *
                       (p[b] == low[b] || p[b] == high[b] ? 1 : 2) *
                       pressure(g, p[2], p[1], p[0]);
    }
    return 0.25 * sum / cfd_second(g);
}

static void verify(struct program *p, struct cfd *g, const struct cfd_problem *problem)
{
    const int n = g->n, low[] = {1, 1, 2}, high[] = {n - 2, n - 3, n - 2};
    double surface = 0;

    for (int d = 0; d < 3; d++)
        surface += faces(g, low, high, d);
    if (!program_close(surface, problem->surface, 1e-8))
        program_fail(p, "surface integral is %.13e, not %.13e", surface, problem->surface);
}

/* Each step ends with the residual that the next one begins with. */
static void begin(struct cfd *g)
{
    cfd_residual(g, g->dt);
}

int main(int argc, char **argv)
{
    static const struct cfd_method method = {problems, begin, step, verify};
    struct program p = {
        .name = "lu",
        .summary = "NPB LU: flow by SSOR; threads spin for each other in a pipeline.",
        .own_class = "w (20 steps of W)",
    };
    int status;

    all = program_alloc(&p, (size_t)omp_get_max_threads(), sizeof(*all));
    status = cfd_main(&p, argc, argv, &method);
    free(all);
    return status;
}
