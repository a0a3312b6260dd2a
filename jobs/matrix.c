/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* NPB CG's matrix, built row by row from its random sparse vectors. */

#include "jobs/matrix.h"
#include "jobs/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t seed = 314159265;
static const double condition = 0.1;    /* the smallest weight */
static const double diagonal = 0.5;     /* element i of vector i */

/* N sparse vectors: vector i has count[i] elements from i * width on. */
struct vectors {
    int n, width;
    int *count;
    int *at;
    double *value;
};

/* Where vectors have an element at a row: entries start[i] to start[i + 1]
 * point into at[] and value[] of the vectors, in ascending order. */
struct transpose {
    long *start;
    long *entry;
};

static void put(struct vectors *v, int i, int at, double value)
{
    long k = (long)i * v->width + v->count[i]++;

    v->at[k] = at;
    v->value[k] = value;
}

static long find(const struct vectors *v, int i, int at)
{
    for (long k = 0; k < v->count[i]; k++)
        if (v->at[(long)i * v->width + k] == at)
            return (long)i * v->width + k;
    return -1;
}

static void vectors_make(const struct program *p, struct vectors *v, int n,
                         int nonzeros)
{
    uint64_t state = seed;
    int range = 1;

    while (range < n)
        range *= 2;
    v->n = n;
    v->width = nonzeros + 1;
    v->count = program_alloc(p, (size_t)n, sizeof(*v->count));
    v->at = program_alloc(p, (size_t)n * (size_t)v->width, sizeof(*v->at));
    v->value = program_alloc(p, (size_t)n * (size_t)v->width,
                             sizeof(*v->value));
    random_next(&state);        /* NPB takes one number for its main program */
    for (int i = 0; i < n; i++) {
        long own;

        v->count[i] = 0;
        while (v->count[i] < nonzeros) {
            double value = random_next(&state);
            int at = (int)(range * random_next(&state));

            if (at < n && find(v, i, at) < 0)
                put(v, i, at, value);
        }
        own = find(v, i, i);
        if (own < 0)
            put(v, i, i, diagonal);
        else
            v->value[own] = diagonal;
    }
}

static void vectors_free(struct vectors *v)
{
    free(v->count);
    free(v->at);
    free(v->value);
}

static void transpose_make(const struct program *p, struct transpose *t,
                           const struct vectors *v)
{
    size_t n = (size_t)v->n;
    long *next = program_alloc(p, n + 1, sizeof(*next));

    t->start = program_alloc(p, n + 1, sizeof(*t->start));
    memset(t->start, 0, (n + 1) * sizeof(*t->start));
    for (int i = 0; i < v->n; i++)
        for (int k = 0; k < v->count[i]; k++)
            t->start[v->at[(long)i * v->width + k] + 1]++;
    for (int i = 0; i < v->n; i++)
        t->start[i + 1] += t->start[i];
    memcpy(next, t->start, (n + 1) * sizeof(*next));
    t->entry = program_alloc(p, (size_t)t->start[n], sizeof(*t->entry));
    for (int i = 0; i < v->n; i++)
        for (int k = 0; k < v->count[i]; k++) {
            long entry = (long)i * v->width + k;

            t->entry[next[v->at[entry]]++] = entry;
        }
    free(next);
}

static void transpose_free(struct transpose *t)
{
    free(t->start);
    free(t->entry);
}

/* One row under construction: dense sums, and which columns are in use. */
struct row {
    double *sum;        /* 0 where a column is not in use */
    bool *used;
    int *columns;
    int count;
};

static void row_add(struct row *row, int column, double value)
{
    if (!row->used[column]) {
        row->used[column] = true;
        row->columns[row->count++] = column;
    }
    row->sum[column] += value;
}

static int ascending(const void *a, const void *b)
{
    const int *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Sum up row I of the matrix. */
static void row_make(struct row *row, int i, const struct vectors *v,
                     const struct transpose *t, double shift)
{
    double ratio = pow(condition, 1.0 / v->n);

    for (long k = t->start[i]; k < t->start[i + 1]; k++) {
        long entry = t->entry[k], vector = entry / v->width;
        double scale = pow(ratio, (double)vector) * v->value[entry];

        for (int e = 0; e < v->count[vector]; e++) {
            long other = vector * v->width + e;

            row_add(row, v->at[other], scale * v->value[other]);
        }
    }
    row_add(row, i, condition - shift);
    qsort(row->columns, (size_t)row->count, sizeof(*row->columns), ascending);
}

/* Move the row's entries to COLUMN and VALUE and empty it. */
static void row_move(struct row *row, int *column, double *value)
{
    for (int k = 0; k < row->count; k++) {
        int c = row->columns[k];

        if (column) {
            column[k] = c;
            value[k] = row->sum[c];
        }
        row->sum[c] = 0;
        row->used[c] = false;
    }
    row->count = 0;
}

/* All rows: count the entries (a->column is NULL), or store them. */
static void rows_make(const struct program *p, struct matrix *a,
                      const struct vectors *v, const struct transpose *t,
                      double shift)
{
    size_t n = (size_t)a->n;

#pragma omp parallel
    {
        struct row row = {
            .sum = program_alloc(p, n, sizeof(double)),
            .used = program_alloc(p, n, sizeof(bool)),
            .columns = program_alloc(p, n, sizeof(int)),
        };

        memset(row.sum, 0, n * sizeof(double));
        memset(row.used, 0, n * sizeof(bool));
#pragma omp for schedule(static)
        for (int i = 0; i < a->n; i++) {
            row_make(&row, i, v, t, shift);
            if (!a->column)
                a->row[i + 1] = row.count;
            row_move(&row, a->column ? a->column + a->row[i] : NULL,
                     a->value ? a->value + a->row[i] : NULL);
        }
        free(row.sum);
        free(row.used);
        free(row.columns);
    }
}

void matrix_make(const struct program *p, struct matrix *a, int n, int nonzeros,
                 double shift)
{
    struct vectors v;
    struct transpose t;
    size_t entries;

    vectors_make(p, &v, n, nonzeros);
    transpose_make(p, &t, &v);
    *a = (struct matrix){.n = n};
    a->row = program_alloc(p, (size_t)n + 1, sizeof(*a->row));
    a->row[0] = 0;
    rows_make(p, a, &v, &t, shift);
    for (int i = 0; i < n; i++)
        a->row[i + 1] += a->row[i];
    entries = (size_t)a->row[n];
    a->column = program_alloc(p, entries, sizeof(*a->column));
    a->value = program_alloc(p, entries, sizeof(*a->value));
    rows_make(p, a, &v, &t, shift);
    transpose_free(&t);
    vectors_free(&v);
}

void matrix_free(struct matrix *a)
{
    free(a->row);
    free(a->column);
    free(a->value);
}
