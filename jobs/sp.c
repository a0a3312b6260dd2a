/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* sp: between compute- and memory-bound; NPB SP, scalar pentadiagonal systems. */

#include "jobs/cfd.h"

#include <math.h>
#include <string.h>

enum { MOST_POINTS = 162, BAND = 5 };

static const struct cfd_problem problems[] = {
    {'S', 12, 100, 0.015, 0,
     {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02,
      1.5840557224455615e-02, 3.4849040609362460e-02},
     {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05,
      1.5750704994480102e-05, 3.4177666183390531e-05}},
    {'W', 36, 400, 0.0015, 0,
     {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03, 0.2887475409984e-03,
      0.3143611161242e-02},
     {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04, 0.1128838671535e-04,
      0.1212845639773e-03}},
    /* Not NASA's; computed with one thread. */
    {'w', 36, 20, 0.0015, 0,
     {3.94366310799010e+03, 3.18158379534464e+02, 9.99377702083110e+02, 8.78021382999198e+02,
      7.78953629335349e+03},
     {1.22043485063132e+02, 9.06976028798903e+00, 3.08805692853943e+01, 2.79751556064620e+01,
      2.72058992847016e+02}},
    {'A', 64, 400, 0.0015, 0,
     {2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179,
      2.1292113035138280},
     {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05,
      4.7671093939528255e-05, 1.3621613399213001e-04}},
    {'B', 102, 400, 0.001, 0,
     {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02, 0.3864769009604e+02,
      0.5643482272596e+02},
     {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02, 0.1694479428231e-02,
      0.1847456263981e-01}},
    {'C', 162, 400, 0.00067, 0,
     {0.5881691581829e+03, 0.2454417603569e+03, 0.3293829191851e+03, 0.3081924971891e+03,
      0.4597223799176e+03},
     {0.2598120500183e+00, 0.2590888922315e-01, 0.5132886416320e-01, 0.4806073419454e-01,
      0.5483377491301e+00}},
};

static const double half_root = 0.70710678118654752440; /* sqrt(1 / 2) */

/* ---- changes of variables (RNR-94-007, section 3.3.2) ------------------------------
 * Each direction's operator is diagonal in variables of its own: T_x^-1, then N = T_x^-1 T_y
 * after x, P = T_y^-1 T_z after y, and T_z at the end. */

static double speed(const struct cfd *g, size_t i)
{
    return sqrt(CFD_C1 * CFD_C2 * g->at[i].inverse * (g->u[i][4] - g->at[i].square));
}

static void to_x(const struct cfd *g, size_t i)
{
    const struct cfd_point *w = &g->at[i];
    const double c = speed(g, i), *v = w->v;
    double *r = g->rhs[i];
    double t1 = CFD_C2 / (c * c) *
                (w->q * r[0] - v[0] * r[1] - v[1] * r[2] - v[2] * r[3] + r[4]);
    double t2 = half_root * w->inverse * (v[0] * r[0] - r[1]);
    double t3 = half_root * w->inverse * c * t1;
    double r0 = r[0];

    r[0] = r0 - t1;
    r[1] = -w->inverse * (v[2] * r0 - r[3]);
    r[2] = w->inverse * (v[1] * r0 - r[2]);
    r[3] = t3 - t2;
    r[4] = t3 + t2;
}

static void x_to_y(double *r)
{
    double t1 = half_root * r[2], t2 = 0.5 * (r[3] + r[4]), t3 = half_root * (r[3] - r[4]);
    double r0 = r[0];

    r[0] = -r[1];
    r[1] = r0;
    r[2] = t3;
    r[3] = t2 - t1;
    r[4] = t2 + t1;
}

static void y_to_z(double *r)
{
    double t1 = half_root * r[0], t2 = 0.5 * (r[3] + r[4]), t3 = half_root * (r[3] - r[4]);
    double r1 = r[1];

    r[0] = t3;
    r[1] = -r[2];
    r[2] = r1;
    r[3] = t2 - t1;
    r[4] = t2 + t1;
}

static void from_z(const struct cfd *g, size_t i)
{
    const struct cfd_point *w = &g->at[i];
    const double c = speed(g, i), density = g->u[i][0], *v = w->v;
    double *r = g->rhs[i];
    double t1 = half_root * density / c * (r[3] + r[4]);
    double t2 = r[2] + t1;
    double t3 = half_root * density * (r[3] - r[4]);
    double r0 = r[0], r1 = r[1];

    r[0] = t2;
    r[1] = v[0] * t2 - density * r1;
    r[2] = v[1] * t2 + density * r0;
    r[3] = v[2] * t2 + t3;
    r[4] = density * (v[1] * r0 - v[0] * r1) + w->q * t2 + c * c / CFD_C2 * t1 + v[2] * t3;
}

/* ---- the systems ----------------------------------------------------------------- */

/* The bands of the operator along a line, for the velocity itself and for velocity plus and
 * minus the speed of sound. */
struct bands {
    double row[3][MOST_POINTS][BAND];
};

/* Fourth-order dissipation in row I of a system of N. */
static void add_dissipation(double *row, int i, int n, double c)
{
    row[2] += (i == 1 || i == n - 2 ? 5 : 6) * c;
    if (i > 1)
        row[1] -= 4 * c;
    if (i > 2)
        row[0] += c;
    if (i < n - 2)
        row[3] -= 4 * c;
    if (i < n - 3)
        row[4] += c;
}

static double largest(double a, double b)
{
    return a > b ? a : b;
}

static void fill_bands(const struct cfd *g, size_t first, int d, struct bands *b)
{
    const double t1 = g->dt * cfd_second(g), t2 = g->dt * cfd_first(g);
    double v[MOST_POINTS], c[MOST_POINTS], spread[MOST_POINTS];
    const int n = g->n;

    for (int i = 0; i < n; i++) {
        size_t at = first + (size_t)i * g->stride[d];
        double viscous = CFD_C34 * g->at[at].inverse;

        v[i] = g->at[at].v[d];
        c[i] = speed(g, at);
        spread[i] = cfd_damping(d) + largest(4.0 / 3 * viscous, CFD_C1 * 1.4 * viscous);
    }
    for (int i = 1; i < n - 1; i++) {
        double row[BAND] = {0, -t2 * v[i - 1] - t1 * spread[i - 1], 1 + 2 * t1 * spread[i],
                            t2 * v[i + 1] - t1 * spread[i + 1], 0};

        add_dissipation(row, i, n, 0.25 * g->dt);
        for (int k = 0; k < 3; k++) {
            double sign = k == 0 ? 0 : k == 1 ? t2 : -t2;

            memcpy(b->row[k][i], row, sizeof(row));
            b->row[k][i][1] -= sign * c[i - 1];
            b->row[k][i][3] += sign * c[i + 1];
        }
    }
}

/* Forward elimination of row I from those below, for COUNT unknowns from M on. */
__attribute__((always_inline)) static inline void
eliminate(double (*row)[BAND], int i, int n, double *const *r, int m, int count)
{
    double pivot = 1 / row[i][2];

    row[i][3] *= pivot;
    row[i][4] *= pivot;
    for (int k = m; k < m + count; k++)
        r[i][k] *= pivot;
    for (int below = 1; below <= 2 && i + below < n - 1; below++) {
        double factor = row[i + below][2 - below];

        row[i + below][3 - below] -= factor * row[i][3];
        row[i + below][4 - below] -= factor * row[i][4];
        for (int k = m; k < m + count; k++)
            r[i + below][k] -= factor * r[i][k];
    }
}

static void solve_line(struct cfd *g, size_t first, int d, struct bands *b)
{
    const int n = g->n;
    double *r[MOST_POINTS];

    fill_bands(g, first, d, b);
    for (int i = 0; i < n; i++)
        r[i] = g->rhs[first + (size_t)i * g->stride[d]];
    for (int i = 1; i < n - 1; i++) {
        eliminate(b->row[0], i, n, r, 0, 3);
        eliminate(b->row[1], i, n, r, 3, 1);
        eliminate(b->row[2], i, n, r, 4, 1);
    }
    /* What lies on the boundary is zero. */
    for (int i = n - 3; i > 0; i--)
        for (int m = 0; m < CFD_EQUATIONS; m++) {
            const double *row = b->row[m < 3 ? 0 : m - 2][i];

            r[i][m] -= row[3] * r[i + 1][m] + (i < n - 3 ? row[4] * r[i + 2][m] : 0);
        }
    for (int i = 1; i < n - 1; i++) {
        if (d == 0)
            x_to_y(r[i]);
        else if (d == 1)
            y_to_z(r[i]);
        else
            from_z(g, first + (size_t)i * g->stride[d]);
    }
}

/* The lines along D of the plane at place A of the slower of the other two directions. */
static void solve_plane(struct cfd *g, int d, int a)
{
    const size_t slow = g->stride[d == 2 ? 1 : 2], fast = g->stride[d == 0 ? 1 : 0];
    struct bands bands;

    for (int b = 1; b < g->n - 1; b++) {
        size_t first = (size_t)a * slow + (size_t)b * fast;

        if (d == 0)
            for (int i = 1; i < g->n - 1; i++)
                to_x(g, first + (size_t)i);
        solve_line(g, first, d, &bands);
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
        .name = "sp",
        .summary = "NPB SP: flow by scalar pentadiagonal systems.",
        .own_class = "w (20 steps of W)",
    };

    return cfd_main(&p, argc, argv, &method);
}
