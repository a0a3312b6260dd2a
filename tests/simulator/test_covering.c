/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The least time for given work, against all bases of small problems. */

#include "tests/support/unit.h"

#include <math.h>

#include "simulator/covering.h"
#include "simulator/random.h"

#define ROWS 3
#define WAYS 12
#define PROBLEMS 2000

/* Of the matrix of these columns. */
static double det(const double *a, const double *b, const double *c)
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
           c[0] * (a[1] * b[2] - a[2] * b[1]);
}

/* The least time, trying each three of the WAYS and of what may be done too much. */
static double least_time(double way[WAYS + ROWS][ROWS], const double *work)
{
    double least = INFINITY;

    for (size_t i = 0; i < WAYS + ROWS; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t k = 0; k < j; k++) {
                double all = det(way[i], way[j], way[k]);
                double x = det(work, way[j], way[k]) / all, y = det(way[i], work, way[k]) / all;
                double z = det(way[i], way[j], work) / all;
                if (fabs(all) > 1e-9 && x >= -1e-9 && y >= -1e-9 && z >= -1e-9)
                    least = fmin(least, x * (i < WAYS) + y * (j < WAYS) + z * (k < WAYS));
            }
    return least;
}

static void test_least_time(void **state)
{
    const size_t row[ROWS] = {0, 1, 2};
    struct random random;

    (void)state;
    random_seed(&random, 19);
    for (int n = 0; n < PROBLEMS; n++) {
        double way[WAYS + ROWS][ROWS] = {{0}}, work[ROWS], price[ROWS], sum = 0;
        for (size_t r = 0; r < ROWS; r++) {
            work[r] = random_uniform(&random);
            way[WAYS + r][r] = -1;
        }
        struct covering *c = covering_new(ROWS, work);
        for (size_t i = 0; i < WAYS; i++) {
            for (size_t r = 0; r < ROWS; r++) /* some do nothing of a row */
                way[i][r] = random_index(&random, 3) ? random_uniform(&random) : 0;
            assert_true(covering_add(c, row, way[i]));
        }
        double bound = covering_solve(c, price);
        assert_float_equal(bound, least_time(way, work), 1e-5 * bound);
        for (size_t i = 0; i < WAYS; i++)
            assert_true(covering_earns(c, i, price) <= 1 + 1e-9);
        for (size_t r = 0; r < ROWS; r++) {
            assert_true(price[r] >= 0);
            sum += price[r] * work[r];
        }
        assert_float_equal(bound, sum, 1e-9 * bound);
        covering_free(c);
    }
}

static void test_undone(void **state)
{
    const double work[2] = {1, 1}, speed[COVERING_ENTRIES] = {1};
    const size_t row[COVERING_ENTRIES] = {0, COVERING_NONE, COVERING_NONE};
    struct covering *c = covering_new(2, work);
    double price[2];

    (void)state;
    assert_true(covering_solve(c, price) == INFINITY);
    assert_true(covering_add(c, row, speed));
    assert_true(covering_solve(c, price) == INFINITY);
    covering_free(c);
}

UNIT(test_covering)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least_time),
        cmocka_unit_test(test_undone),
    };

    return cmocka_run_group_tests_name("test_covering", tests, NULL, NULL);
}
