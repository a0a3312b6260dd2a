/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* ft: memory-bound with long strides; NPB FT, a diffusion equation by Fourier transforms. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* Lines that are transformed together, so that whole cache lines are used in each direction. */
enum { BLOCK = 8, MOST_POINTS = 512 };

static const uint64_t seed = 314159265;
static const double diffusion = 1e-6;
static const double epsilon = 1e-12;

struct complex {
    double re, im;
};

/* Points along x, y and z, and the published checksums of some steps. */
struct problem {
    char size_class;
    int n[3], steps;
    struct {
        int step;
        struct complex sum;
    } checks[3];
};

static const struct problem problems[] = {
    {'S', {64, 64, 64}, 6,
     {{1, {5.546087004964e+02, 4.845363331978e+02}},
      {3, {5.546148406171e+02, 4.883910722336e+02}},
      {6, {5.542683411902e+02, 4.932597244941e+02}}}},
    {'W', {128, 128, 32}, 6,
     {{1, {5.673612178944e+02, 5.293246849175e+02}},
      {3, {5.594024089970e+02, 5.270996558037e+02}},
      {6, {5.504159734538e+02, 5.239212247086e+02}}}},
    {'A', {256, 256, 128}, 6,
     {{1, {5.046735008193e+02, 5.114047905510e+02}},
      {3, {5.069376896287e+02, 5.098144042213e+02}},
      {6, {5.091487099959e+02, 5.107917842803e+02}}}},
    {'B', {512, 256, 256}, 20,
     {{5, {5.139626667737e+02, 5.103976610617e+02}},
      {10, {5.131197729984e+02, 5.110460304483e+02}},
      {20, {5.124146770029e+02, 5.115744692211e+02}}}},
    {'C', {512, 512, 512}, 20,
     {{1, {5.195078707457e+02, 5.149019699238e+02}},
      {10, {5.132410471738e+02, 5.122663649603e+02}},
      {20, {5.129714421109e+02, 5.123465164008e+02}}}},
};

struct field {
    const int *n;              /* points along x, y, z */
    size_t stride[3];          /* rows are one element longer: 2^k strides share cache sets */
    struct complex *spectrum;  /* of the initial state, then of each step */
    struct complex *u;         /* the state */
    double *decay;             /* of each wave in one step */
    struct complex *root[3];   /* exp(2 pi i k / n) for each direction */
};

static size_t at(const struct field *f, int z, int y, int x)
{
    return (size_t)z * f->stride[2] + (size_t)y * f->stride[1] + (size_t)x;
}

/* ---- transforms ----------------------------------------------------------------- */

typedef struct complex lines[MOST_POINTS][BLOCK];

/* One pass of Stockham's transform: M sub-transforms of twice the length before. */
static void pass(const struct complex *root, int n, int m, int sign, lines from, lines to)
{
    const int half = n / 2;

    for (int j = 0; j < half / m; j++) {
        struct complex w = {root[j * m].re, sign * root[j * m].im};

        for (int k = j * m; k < j * m + m; k++) {
            struct complex *a = to[k + j * m], *b = to[k + j * m + m];

            for (int l = 0; l < BLOCK; l++) {
                struct complex x = from[k][l], y = from[k + half][l];
                double re = x.re - y.re, im = x.im - y.im;

                a[l] = (struct complex){x.re + y.re, x.im + y.im};
                b[l] = (struct complex){w.re * re - w.im * im, w.re * im + w.im * re};
            }
        }
    }
}

/* Transform BLOCK lines of U along D; the next line is NEXT elements on. */
static void transform_lines(const struct field *f, struct complex *u, int d, size_t next,
                            int sign)
{
    const int n = f->n[d];
    const size_t stride = f->stride[d];
    lines rooms[2];
    int m, turn = 0;

    for (int i = 0; i < n; i++)
        for (int l = 0; l < BLOCK; l++)
            rooms[0][i][l] = u[(size_t)i * stride + (size_t)l * next];
    for (m = 1; m < n; m *= 2, turn = !turn)
        pass(f->root[d], n, m, sign, rooms[turn], rooms[!turn]);
    for (int i = 0; i < n; i++)
        for (int l = 0; l < BLOCK; l++)
            u[(size_t)i * stride + (size_t)l * next] = rooms[turn][i][l];
}

/* All lines of U along D. */
static void transform_along(const struct field *f, struct complex *u, int d, int sign)
{
    const int slow = d == 2 ? 1 : 2, fast = d == 0 ? 1 : 0;

#pragma omp parallel for schedule(static)
    for (int a = 0; a < f->n[slow]; a++)
        for (int b = 0; b < f->n[fast]; b += BLOCK)
            transform_lines(f, u + (size_t)a * f->stride[slow] + (size_t)b * f->stride[fast], d,
                            f->stride[fast], sign);
}

/* ---- the equation --------------------------------------------------------------- */

static void begin(const struct field *f)
{
#pragma omp parallel for schedule(static)
    for (int z = 0; z < f->n[2]; z++) {
        uint64_t plane = 2 * (uint64_t)f->n[0] * (uint64_t)f->n[1];
        uint64_t state = random_skip(seed, (uint64_t)z * plane);

        for (int y = 0; y < f->n[1]; y++)
            for (int x = 0; x < f->n[0]; x++) {
                size_t i = at(f, z, y, x);

                f->spectrum[i].re = random_next(&state);
                f->spectrum[i].im = random_next(&state);
            }
    }
    for (int d = 0; d < 3; d++)
        transform_along(f, f->spectrum, d, 1);
}

/* Number of the wave at place I of N: those beyond the middle are negative. */
static double wave(int i, int n)
{
    return i < n / 2 ? i : i - n;
}

static void find_decay(const struct field *f)
{
#pragma omp parallel for schedule(static)
    for (int z = 0; z < f->n[2]; z++)
        for (int y = 0; y < f->n[1]; y++)
            for (int x = 0; x < f->n[0]; x++) {
                double k = pow(wave(x, f->n[0]), 2) + pow(wave(y, f->n[1]), 2) +
                           pow(wave(z, f->n[2]), 2);

                f->decay[at(f, z, y, x)] = exp(-4 * diffusion * M_PI * M_PI * k);
            }
}

static void step(const struct field *f)
{
#pragma omp parallel for schedule(static)
    for (int z = 0; z < f->n[2]; z++)
        for (int y = 0; y < f->n[1]; y++)
            for (size_t i = at(f, z, y, 0); i < at(f, z, y, f->n[0]); i++) {
                f->spectrum[i].re *= f->decay[i];
                f->spectrum[i].im *= f->decay[i];
                f->u[i] = f->spectrum[i];
            }
    for (int d = 2; d >= 0; d--)
        transform_along(f, f->u, d, -1);
}

/* Of 1024 places that the benchmark names. */
static struct complex checksum(const struct field *f)
{
    double re = 0, im = 0, points = (double)f->n[0] * f->n[1] * f->n[2];

#pragma omp parallel for schedule(static) reduction(+ : re, im)
    for (int j = 1; j <= 1024; j++) {
        struct complex u = f->u[at(f, 5 * j % f->n[2], 3 * j % f->n[1], j % f->n[0])];

        re += u.re;
        im += u.im;
    }
    return (struct complex){re / points, im / points};
}

static void compute(struct program *p, const struct problem *problem, const struct field *f)
{
    begin(f);
    for (int t = 1; t <= problem->steps; t++) {
        struct complex sum;

        step(f);
        sum = checksum(f);
        for (int c = 0; c < 3; c++) {
            const struct complex *right = &problem->checks[c].sum;

            if (problem->checks[c].step == t && (!program_close(sum.re, right->re, epsilon) ||
                                                 !program_close(sum.im, right->im, epsilon)))
                program_fail(p, "checksum %d is (%.12e, %.12e), not (%.12e, %.12e)", t, sum.re,
                             sum.im, right->re, right->im);
        }
    }
}

static void make(struct program *p, struct field *f, const int *n)
{
    size_t row = (size_t)n[0] + 1, points = row * (size_t)n[1] * (size_t)n[2];

    *f = (struct field){.n = n, .stride = {1, row, row * (size_t)n[1]}};
    f->spectrum = program_alloc(p, points, sizeof(*f->spectrum));
    f->u = program_alloc(p, points, sizeof(*f->u));
    f->decay = program_alloc(p, points, sizeof(*f->decay));
    for (int d = 0; d < 3; d++) {
        f->root[d] = program_alloc(p, (size_t)n[d], sizeof(*f->root[d]));
        for (int k = 0; k < n[d]; k++)
            f->root[d][k] =
                (struct complex){cos(2 * M_PI * k / n[d]), sin(2 * M_PI * k / n[d])};
    }
    find_decay(f);
}

int main(int argc, char **argv)
{
    struct program p = {
        .name = "ft",
        .summary = "NPB FT: diffusion by Fourier transforms; memory-bound.",
    };
    const struct problem *problem = problems;
    struct field f;

    if (program_parse(&p, argc, argv))
        return p.status;
    while (problem->size_class != p.size_class)
        problem++;
    make(&p, &f, problem->n);
    p.steps = problem->steps;
    program_start(&p);
    do
        compute(&p, problem, &f);
    while (program_again(&p));
    free(f.spectrum);
    free(f.u);
    free(f.decay);
    for (int d = 0; d < 3; d++)
        free(f.root[d]);
    return program_finish(&p, omp_get_max_threads(), "steps_per_s",
                          problem->steps * (double)p.done / p.time);
}
