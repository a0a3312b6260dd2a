/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The four stream kernels of the calibration. */

#include "node_agent/calibrate/kernels.h"

const char *const kernel_names[KERNELS] = {
    [KERNEL_WRITE] = "write",
    [KERNEL_LOAD] = "load",
    [KERNEL_COPY] = "copy",
    [KERNEL_ADD] = "add",
};

/* The compiler must take what MEMORY points to for used and changed. */
static inline void used(const void *memory)
{
    __asm__ volatile("" : : "r"(memory) : "memory");
}

static double b_of(size_t i)
{
    return (double)(i % 1021);
}

static double c_of(size_t i)
{
    return (double)(i % 509) * 2;
}

void kernel_fill(const struct kernel_arrays *arrays)
{
    for (size_t i = 0; i < arrays->count; i++) {
        arrays->a[i] = 0;
        arrays->b[i] = b_of(i);
        arrays->c[i] = c_of(i);
    }
    used(arrays->a);
}

/* One kernel each, so that the loop has no branch.  noinline keeps them apart
 * for whoever looks at the code; `used` keeps stores that nobody reads. */
__attribute__((noinline)) static double run_write(double *a, size_t count,
                                                  size_t start, size_t step)
{
    double value = (double)start + 1;

    for (size_t j = start; j < count; j += step)
        a[j] = value;
    used(a);
    return value;
}

__attribute__((noinline)) static double run_load(const double *a, size_t count,
                                                 size_t start, size_t step)
{
    /* Four sums: else the latency of the addition is measured. */
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t j = start;

    for (; j + 3 * step < count; j += 4 * step) {
        s0 += a[j];
        s1 += a[j + step];
        s2 += a[j + 2 * step];
        s3 += a[j + 3 * step];
    }
    for (; j < count; j += step)
        s0 += a[j];
    return s0 + s1 + (s2 + s3);
}

__attribute__((noinline)) static double run_copy(double *a, const double *b,
                                                 size_t count, size_t start,
                                                 size_t step)
{
    for (size_t j = start; j < count; j += step)
        a[j] = b[j];
    used(a);
    return a[start];
}

__attribute__((noinline)) static double run_add(double *a, const double *b,
                                                const double *c, size_t count,
                                                size_t start, size_t step)
{
    for (size_t j = start; j < count; j += step)
        a[j] = b[j] + c[j];
    used(a);
    return a[start];
}

static size_t passes_of(size_t stride, size_t passes)
{
    size_t all = stride / sizeof(double);

    return passes < all ? passes : all;
}

double kernel_pass(enum kernel kernel, const struct kernel_arrays *arrays, size_t stride,
                   size_t pass)
{
    size_t step = stride / sizeof(double), n = arrays->count, start = pass % step;

    switch (kernel) {
    case KERNEL_WRITE:
        return run_write(arrays->a, n, start, step);
    case KERNEL_LOAD:
        return run_load(arrays->b, n, start, step);
    case KERNEL_COPY:
        return run_copy(arrays->a, arrays->b, n, start, step);
    default:
        return run_add(arrays->a, arrays->b, arrays->c, n, start, step);
    }
}

double kernel_run(enum kernel kernel, const struct kernel_arrays *arrays,
                  size_t stride, size_t passes)
{
    double sum = 0;

    for (size_t p = 0; p < passes_of(stride, passes); p++)
        sum += kernel_pass(kernel, arrays, stride, p);
    return sum;
}

/* What KERNEL leaves in a[i] that it has touched. */
static double left(enum kernel kernel, size_t i, size_t step)
{
    switch (kernel) {
    case KERNEL_WRITE:
        return (double)(i % step) + 1;
    case KERNEL_LOAD:
        return 0;
    case KERNEL_COPY:
        return b_of(i);
    default:
        return b_of(i) + c_of(i);
    }
}

bool kernel_check(enum kernel kernel, const struct kernel_arrays *arrays,
                  size_t stride, size_t passes, double sum)
{
    size_t step = stride / sizeof(double);
    size_t count = passes_of(stride, passes);
    double expected = 0;

    for (size_t i = 0; i < arrays->count; i++) {
        bool touched = i % step < count;
        if (arrays->a[i] != (touched ? left(kernel, i, step) : 0))
            return false;
        if (kernel == KERNEL_LOAD && touched)
            expected += b_of(i); /* whole numbers: exact in any order */
    }
    for (size_t p = 0; p < count && kernel != KERNEL_LOAD; p++)
        expected += left(kernel, p, step);
    return sum == expected;
}

void kernel_lines(enum kernel kernel, size_t count, size_t stride,
                  double *reads, double *writes)
{
    static const double read[KERNELS] = {1, 1, 2, 3};
    static const double written[KERNELS] = {1, 0, 1, 1};
    size_t bytes = stride > KERNEL_LINE ? stride : KERNEL_LINE;
    double lines = (double)(count * sizeof(double) / bytes);

    *reads = lines * read[kernel];
    *writes = lines * written[kernel];
}
