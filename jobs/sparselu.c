/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* sparselu: tasks with dependences; LU factorisation of a sparse matrix of blocks. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Right-looking LU without pivoting, a task for each operation on a block, ordered by the blocks
 * that they read and write (the algorithm of BOTS' sparselu; its diagonal dominates).  Blocks
 * that were zero are made when they fill in. */
enum { SIDE = 48 }; /* of a block */

static const uint64_t seed = 314159265;
static const double epsilon = 1e-9;

typedef double block[SIDE][SIDE];

struct matrix {
    const struct program *program;
    long n;        /* blocks on a side */
    block **at;    /* [n * n], NULL: zero */
};

static block *new_block(const struct matrix *m)
{
    block *b = program_alloc(m->program, 1, sizeof(*b));

    memset(b, 0, sizeof(*b));
    return b;
}

static bool is_there(long i, long j)
{
    return i == j || labs(i - j) == 1 || (i % 3 == 0 && j % 5 == 0) || (i * 7 + j * 11) % 13 == 0;
}

static void fill(struct matrix *m)
{
    for (long i = 0; i < m->n; i++)
        for (long j = 0; j < m->n; j++) {
            uint64_t state = random_skip(seed, (uint64_t)(i * m->n + j) * SIDE * SIDE);
            block *b;

            if (!is_there(i, j))
                continue;
            b = new_block(m);
            for (int r = 0; r < SIDE; r++)
                for (int c = 0; c < SIDE; c++)
                    (*b)[r][c] = random_next(&state) - 0.5;
            for (int r = 0; i == j && r < SIDE; r++)
                (*b)[r][r] += (double)(SIDE * m->n);
            m->at[i * m->n + j] = b;
        }
}

static void empty(struct matrix *m)
{
    for (long i = 0; i < m->n * m->n; i++) {
        free(m->at[i]);
        m->at[i] = NULL;
    }
}

/* ---- operations on blocks ---------------------------------------------------------- */

static void factorise(block *a)
{
    for (int k = 0; k < SIDE; k++)
        for (int i = k + 1; i < SIDE; i++) {
            double factor = (*a)[i][k] /= (*a)[k][k];

            for (int j = k + 1; j < SIDE; j++)
                (*a)[i][j] -= factor * (*a)[k][j];
        }
}

/* B = L^-1 B, L being the lower triangle of A with a unit diagonal. */
static void solve_lower(block *a, block *b)
{
    for (int k = 0; k < SIDE; k++)
        for (int i = k + 1; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                (*b)[i][j] -= (*a)[i][k] * (*b)[k][j];
}

/* B = B U^-1, U being the upper triangle of A. */
static void solve_upper(block *a, block *b)
{
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            double factor = (*b)[i][k] /= (*a)[k][k];

            for (int j = k + 1; j < SIDE; j++)
                (*b)[i][j] -= factor * (*a)[k][j];
        }
}

/* C -= A B */
static void subtract_product(block *a, block *b, block *c)
{
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++)
                (*c)[i][j] -= (*a)[i][k] * (*b)[k][j];
}

/* ---- the factorisation ------------------------------------------------------------- */

/* Tasks of step K: the rest of the matrix loses what row and column K explain.  A block is named
 * by its place in AT, since it may not be there yet. */
static void update_rest(struct matrix *m, block **at, long k)
{
    const long n = m->n;

    for (long i = k + 1; i < n; i++)
        for (long j = k + 1; j < n; j++) {
            if (!at[i * n + k] || !at[k * n + j])
                continue;
            if (!at[i * n + j])
                at[i * n + j] = new_block(m);
            {
                block *left = at[i * n + k], *up = at[k * n + j], *here = at[i * n + j];
#pragma omp task firstprivate(left, up, here) depend(in : *left, *up) depend(inout : *here)
                subtract_product(left, up, here);
            }
        }
}

static void make_tasks(struct matrix *m)
{
    const long n = m->n;
    block **at = m->at;

    for (long k = 0; k < n; k++) {
        block *pivot = at[k * n + k];

#pragma omp task firstprivate(pivot) depend(inout : *pivot)
        factorise(pivot);
        for (long i = k + 1; i < n; i++) {
            block *up = at[k * n + i], *left = at[i * n + k];

            if (up) {
#pragma omp task firstprivate(pivot, up) depend(in : *pivot) depend(inout : *up)
                solve_lower(pivot, up);
            }
            if (left) {
#pragma omp task firstprivate(pivot, left) depend(in : *pivot) depend(inout : *left)
                solve_upper(pivot, left);
            }
        }
        update_rest(m, at, k);
    }
}

/* ---- verification: L (U x) is A x -------------------------------------------------- */

/* Y += A X for the elements of A on and above (UPPER) or below its diagonal, or all of them. */
enum part { ALL, UPPER, LOWER };

static void add_product(const struct matrix *m, enum part part, const double *x, double *y)
{
    for (long i = 0; i < m->n * SIDE; i++)
        for (long j = 0; j < m->n * SIDE; j++) {
            block *b = m->at[i / SIDE * m->n + j / SIDE];

            if (!b || (part == UPPER && j < i) || (part == LOWER && j >= i))
                continue;
            y[i] += (*b)[i % SIDE][j % SIDE] * x[j];
        }
}

static void make_vectors(long length, double *x, double *zero, double *zero2)
{
    for (long i = 0; i < length; i++) {
        x[i] = 1 + (double)(i % 7);
        zero[i] = zero2[i] = 0;
    }
}

static void verify(struct program *p, const struct matrix *m, const double *x,
                   const double *right, double *ux)
{
    const long length = m->n * SIDE;
    double *lux = program_alloc(p, (size_t)length, sizeof(*lux));
    long wrong = 0;

    add_product(m, UPPER, x, ux);
    memcpy(lux, ux, (size_t)length * sizeof(*lux));
    add_product(m, LOWER, ux, lux);
    for (long i = 0; i < length; i++)
        wrong += !(fabs(lux[i] - right[i]) <= epsilon * fabs(right[i]));
    if (wrong)
        program_fail(p, "%ld of %ld elements of L U x are wrong", wrong, length);
    free(lux);
}

int main(int argc, char **argv)
{
    static const struct {
        char size_class;
        long blocks;
    } sizes[] = {{'S', 8}, {'W', 20}, {'A', 56}, {'B', 90}, {'C', 180}};
    struct program p = {
        .name = "sparselu",
        .summary = "LU of a sparse matrix of blocks; tasks with dependences.",
    };
    struct matrix m = {.program = &p};
    double *vector[3], flops = 0;
    long length;
    int size = 0;

    if (program_parse(&p, argc, argv))
        return p.status;
    while (sizes[size].size_class != p.size_class)
        size++;
    m.n = sizes[size].blocks;
    length = m.n * SIDE;
    m.at = program_alloc(&p, (size_t)(m.n * m.n), sizeof(*m.at));
    memset(m.at, 0, (size_t)(m.n * m.n) * sizeof(*m.at));
    for (int k = 0; k < 3; k++)
        vector[k] = program_alloc(&p, (size_t)length, sizeof(double));
    program_start(&p);
    do {
        empty(&m);
        fill(&m);
        make_vectors(length, vector[0], vector[1], vector[2]);
        add_product(&m, ALL, vector[0], vector[1]);
#pragma omp parallel
#pragma omp single
        make_tasks(&m);
        verify(&p, &m, vector[0], vector[1], vector[2]);
    } while (program_again(&p));
    empty(&m);
    free(m.at);
    for (int k = 0; k < 3; k++)
        free(vector[k]);
    flops = 2.0 / 3 * pow((double)length, 3); /* of a full matrix */
    return program_finish(&p, omp_get_max_threads(), "dense_gflops",
                          1e-9 * flops * (double)p.done / p.time);
}
