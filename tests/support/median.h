/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The median, which benchmarks report: one slow batch does not move it. */

#ifndef TESTS_MEDIAN_H
#define TESTS_MEDIAN_H

#include <stdlib.h>

static inline int median_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The upper median of VALUES[COUNT], which are sorted. */
static inline double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), median_compare);
    return values[count / 2];
}

#endif /* TESTS_MEDIAN_H */
