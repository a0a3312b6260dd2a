/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The random sparse matrix of NPB CG. */

#ifndef JOBS_MATRIX_H
#define JOBS_MATRIX_H

#include "jobs/program.h"

/* A symmetric matrix of order n, in compressed rows: the entries of row i are
 * value[k] in column column[k], row[i] <= k < row[i + 1]. */
struct matrix {
    int n;
    long *row;
    int *column;
    double *value;
};

/* Make A as NPB CG defines it: the sum of n outer products of random sparse
 * vectors with NONZEROS + 1 elements at most, with weights falling
 * geometrically from 1 to 0.1, plus (0.1 - SHIFT) times the identity.  Exits
 * with a message if memory is short. */
void matrix_make(const struct program *p, struct matrix *a, int n, int nonzeros,
                 double shift);

void matrix_free(struct matrix *a);

/* Element ROW of the product of A and X. */
static inline double matrix_row_product(const struct matrix *a, int row,
                                        const double *x)
{
    double sum = 0;

    for (long k = a->row[row]; k < a->row[row + 1]; k++)
        sum += a->value[k] * x[a->column[k]];
    return sum;
}

#endif /* JOBS_MATRIX_H */
