/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The four stream kernels of the calibration. */

#ifndef COSCHED_CALIBRATE_KERNELS_H
#define COSCHED_CALIBRATE_KERNELS_H

/* Concept
 *
 * The synthetic workloads of thesis 3.2.3 over arrays of doubles, one access each STRIDE
 * bytes, starting over at the next element until all were touched:
 *
 *     write    a[j] = s               a line is read for ownership, and written
 *     load     s += a[j]              a line is read
 *     copy     a[j] = b[j]            two are read, one is written
 *     add      a[j] = b[j] + c[j]     three are read, one is written
 *
 * A stride below a line's 64 bytes uses each line several times in a row; one of 128 skips
 * every other line, which prefetchers of line pairs fetch.
 *
 * The loops are in a translation unit of their own and their result depends on each element,
 * so that the compiler cannot drop any of them; kernel_check() verifies arrays and result.
 */

#include <stdbool.h>
#include <stddef.h>

enum kernel {
    KERNEL_WRITE,
    KERNEL_LOAD,
    KERNEL_COPY,
    KERNEL_ADD,
    KERNELS, /* number of kernels */
};

#define KERNEL_LINE 64 /* bytes */

extern const char *const kernel_names[KERNELS];

struct kernel_arrays {
    double *a, *b, *c;
    size_t count; /* elements of each, a multiple of 16 */
};

/* Fill the arrays: a with 0, b[i] and c[i] with what kernel_check() knows. */
void kernel_fill(const struct kernel_arrays *arrays);

/* Touch one element each STRIDE bytes, from element PASS (of as many as a stride has) on. */
double kernel_pass(enum kernel kernel, const struct kernel_arrays *arrays, size_t stride,
                   size_t pass);

/* Run KERNEL once over the first COUNT elements (of which as many passes are
 * made as STRIDE, a multiple of 8, has elements), at most PASSES of these.
 * Returns its checksum. */
double kernel_run(enum kernel kernel, const struct kernel_arrays *arrays,
                  size_t stride, size_t passes);

/* Did KERNEL with these arguments, on arrays as kernel_fill() left them, return
 * SUM and leave what it should? */
bool kernel_check(enum kernel kernel, const struct kernel_arrays *arrays,
                  size_t stride, size_t passes, double sum);

/* Lines read (for ownership, too) and written per pass: each line once. */
void kernel_lines(enum kernel kernel, size_t count, size_t stride,
                  double *reads, double *writes);

#endif /* COSCHED_CALIBRATE_KERNELS_H */
