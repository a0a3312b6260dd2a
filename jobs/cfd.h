/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The flow problem that NPB BT, SP and LU solve in three ways. */

#ifndef JOBS_CFD_H
#define JOBS_CFD_H

#include <stddef.h>

#include "jobs/program.h"

/* The compressible Navier-Stokes equations in a cube, discretised on n x n x n points with
 * central differences and a fourth-order dissipation (NASA report RNR-94-007, section 3).  A
 * forcing term makes a given polynomial the steady solution.  A time step solves
 *
 *     K(u) du = dt r(u),   u = u + du
 *
 * where r is the residual and K an approximation of the implicit operator that can be inverted:
 * block tridiagonal factors (BT), diagonalised ones (SP), or lower and upper triangles (LU).
 *
 * Along each direction d the operator has the Jacobians of the flux, F, and of the viscous
 * terms, N; cfd_block() makes the 5 x 5 blocks of all three programs of them.
 */

enum { CFD_EQUATIONS = 5 }; /* density, three momenta, energy */

typedef double cfd_vector[CFD_EQUATIONS];
typedef double cfd_block_t[CFD_EQUATIONS][CFD_EQUATIONS];

/* What the equations need of a point beside u, computed once a step. */
struct cfd_point {
    double inverse; /* of the density */
    double v[3];    /* velocities */
    double square;  /* kinetic energy */
    double q;       /* the same for each unit of mass */
};

struct cfd {
    int n;              /* points along each side, the boundary included */
    double dt;          /* time step */
    size_t stride[3];   /* from a point to its neighbour along x, y, z */
    cfd_vector *u, *rhs, *forcing; /* [n^3]; rhs is zero on the boundary */
    struct cfd_point *at;          /* [n^3] */
};

#define CFD_C1 1.4 /* ratio of specific heats */
#define CFD_C2 0.4
#define CFD_C34 0.1 /* viscosity, c3 c4 */
#define CFD_C1345 (CFD_C1 * CFD_C34 * 1.4)

/* A class: its size, and the published norms of the residual and of the error. */
struct cfd_problem {
    char size_class;
    int n, steps;
    double dt;
    double surface; /* integral that LU compares, too */
    cfd_vector residual, error;
};

/* How a program solves it.  Functions may be NULL but for step. */
struct cfd_method {
    const struct cfd_problem *problems;
    void (*begin)(struct cfd *g); /* u has just been set to where the benchmark begins */
    void (*step)(struct cfd *g);
    void (*verify)(struct program *p, struct cfd *g, const struct cfd_problem *problem);
};

/* Coefficient of the second difference along direction D that keeps the scheme stable. */
static inline double cfd_damping(int d)
{
    return d == 2 ? 1.0 : 0.75;
}

/* 1 / h^2 and 1 / 2h, h being the distance of points. */
static inline double cfd_second(const struct cfd *g)
{
    return (double)(g->n - 1) * (g->n - 1);
}

static inline double cfd_first(const struct cfd *g)
{
    return 0.5 * (g->n - 1);
}

static inline size_t cfd_index(const struct cfd *g, int k, int j, int i)
{
    return ((size_t)k * g->n + j) * g->n + i;
}

/* g->rhs = SCALE r(u), and g->at of u. */
void cfd_residual(struct cfd *g, double scale);

/* u = u + SCALE g->rhs. */
void cfd_add(struct cfd *g, double scale);

/* main() of P, which solves by METHOD. */
int cfd_main(struct program *p, int argc, char **argv, const struct cfd_method *method);

/* B += SF F + SN (N + damping) at a point with (U, W) along direction D. */
__attribute__((always_inline)) static inline void
cfd_block(const double *u, const struct cfd_point *w, int d, double sf, double sn,
          cfd_block_t b)
{
    const int n = 1 + d, s = 1 + (d + 1) % 3, t = 1 + (d + 2) % 3;
    const double vn = w->v[n - 1], vs = w->v[s - 1], vt = w->v[t - 1];
    const double e = u[4] * w->inverse, q = w->q;
    const double normal = 4.0 / 3 * CFD_C34, heat = CFD_C1345;
    const double m = sn * w->inverse; /* each term of N has this factor */

    b[0][n] += sf;
    b[n][0] += sf * (CFD_C2 * q - vn * vn) - m * normal * vn;
    b[n][n] += sf * (2 - CFD_C2) * vn + m * normal;
    b[n][s] -= sf * CFD_C2 * vs;
    b[n][t] -= sf * CFD_C2 * vt;
    b[n][4] += sf * CFD_C2;
    b[s][0] -= sf * vn * vs + m * CFD_C34 * vs;
    b[s][n] += sf * vs;
    b[s][s] += sf * vn + m * CFD_C34;
    b[t][0] -= sf * vn * vt + m * CFD_C34 * vt;
    b[t][n] += sf * vt;
    b[t][t] += sf * vn + m * CFD_C34;
    b[4][0] += sf * (2 * CFD_C2 * q - CFD_C1 * e) * vn -
               m * ((normal - heat) * vn * vn + (CFD_C34 - heat) * (vs * vs + vt * vt) +
                    heat * e);
    b[4][n] += sf * (CFD_C1 * e - CFD_C2 * (vn * vn + q)) + m * (normal - heat) * vn;
    b[4][s] += m * (CFD_C34 - heat) * vs - sf * CFD_C2 * vs * vn;
    b[4][t] += m * (CFD_C34 - heat) * vt - sf * CFD_C2 * vt * vn;
    b[4][4] += sf * CFD_C1 * vn + m * heat;
    for (int i = 0; i < CFD_EQUATIONS; i++)
        b[i][i] += sn * cfd_damping(d);
}

#endif /* JOBS_CFD_H */
