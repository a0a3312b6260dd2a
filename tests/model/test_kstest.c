/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Kolmogorov-Smirnov tests against tables and against chance. */

#include "tests/model/near.h"

#include "model/analysis/kstest.h"

/* Samples of N numbers each with distance STEPS / N: the first is shifted by
 * as many places. */
static struct kstest shifted(size_t n, size_t steps)
{
    double a[KSTEST_EXACT], b[KSTEST_EXACT];
    struct kstest result;

    for (size_t i = 0; i < n; i++) {
        a[i] = (double)(n - i); /* order must not matter */
        b[i] = (double)(i + 1 + steps) - 0.5 - 0.25 * (double)(steps == 0);
    }
    assert_int_equal(kstest_two(a, n, b, n, 0.05, &result), MODEL_OK);
    return result;
}

/* Exact p-values of equal samples (tables of the two-sample statistic). */
static void test_exact(void **state)
{
    (void)state;
    const struct {
        size_t n, steps;
        double p;
        bool passed;
    } known[] = {
        {3, 3, 0.1, true},           {4, 4, 0.028571428571, false},
        {5, 4, 0.079365079365, true}, {5, 5, 0.007936507937, false},
        {10, 3, 0.786929820, true},  {10, 5, 0.167821297, true},
        {10, 6, 0.052447552, true},  {10, 7, 0.012340606, false},
    };

    for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
        struct kstest r = shifted(known[k].n, known[k].steps);
        assert_near(r.d, (double)known[k].steps / (double)known[k].n, 1e-12);
        assert_near(r.p, known[k].p, 1e-6);
        assert_int_equal(r.passed, known[k].passed);
        assert_int_equal(r.passed, r.p > 0.05);
    }
}

/* Beyond exact: Kolmogorov's limit and its well-known quantile. */
static void test_limit(void **state)
{
    (void)state;
    static double a[1000], b[1000];
    struct kstest r;

    for (size_t i = 0; i < 1000; i++) {
        a[i] = (double)i;
        b[i] = (double)i + 60.5;
    }
    assert_int_equal(kstest_two(a, 1000, b, 1000, 0.05, &r), MODEL_OK);
    assert_near(r.d, 0.061, 1e-9);
    assert_near(r.critical, 1.3581 * sqrt(2.0 / 1000), 1e-5);
    assert_near(r.p, 0.0484, 5e-4);
    assert_false(r.passed);
    /* The appendix: a hundred numbers, critical value 0.19. */
    assert_int_equal(kstest_two(a, 100, a, 100, 0.05, &r), MODEL_OK);
    assert_near(r.critical, 0.192, 1e-3); /* ties: not exact */
    assert_near(r.d, 0, 0);
    assert_near(r.p, 1, 0);
    assert_true(r.passed);
    assert_int_equal(kstest_two(a, 1000, b, 1000, 0.01, &r), MODEL_OK);
    assert_near(r.critical, 1.6276 * sqrt(2.0 / 1000), 1e-5);
    assert_true(r.passed);
}

/* The statistic does not change with units, nor with which is which. */
static void test_invariance(void **state)
{
    (void)state;
    struct dice dice = {7};
    double a[40], b[25], c[40], e[25];
    struct kstest r, s, t;

    for (size_t round = 0; round < 50; round++) {
        for (size_t i = 0; i < 40; i++)
            c[i] = 1000 * (a[i] = dice_unit(&dice));
        for (size_t i = 0; i < 25; i++)
            e[i] = 1000 * (b[i] = dice_unit(&dice) * 1.3);
        assert_int_equal(kstest_two(a, 40, b, 25, 0.05, &r), MODEL_OK);
        assert_int_equal(kstest_two(c, 40, e, 25, 0.05, &s), MODEL_OK);
        assert_int_equal(kstest_two(b, 25, a, 40, 0.05, &t), MODEL_OK);
        assert_near(r.d, s.d, 1e-12);
        assert_near(r.d, t.d, 1e-12);
        assert_near(r.p, t.p, 1e-9);
        assert_true(r.d >= 0 && r.d <= 1 && r.p >= 0 && r.p <= 1);
        assert_int_equal(r.passed, r.p > 0.05);
    }
}

/* The cumulative distribution against its sum, and far out. */
static void test_cdf(void **state)
{
    (void)state;
    const double means[] = {1e-3, 0.5, 3, 10, 42.5, 200};

    for (size_t m = 0; m < sizeof(means) / sizeof(*means); m++) {
        double term = exp(-means[m]), sum = 0;
        for (int k = 0; k < 400; k++) {
            sum += term;
            assert_near(kstest_poisson_cdf(k, means[m]), sum, 1e-12);
            term *= means[m] / (k + 1);
        }
    }
    assert_near(kstest_poisson_cdf(2, 3), 0.42319008112, 1e-10);
    assert_near(kstest_poisson_cdf(2.9, 3), 0.42319008112, 1e-10);
    assert_near(kstest_poisson_cdf(-0.5, 3), 0, 0);
    /* Large: nearly normal, skewness 1 / sqrt(mean). */
    assert_near(kstest_poisson_cdf(1e6, 1e6), 0.5 + 2.0 / 3 /
                sqrt(2 * 3.14159265358979 * 1e6), 1e-6);
    assert_near(kstest_poisson_cdf(1e6 + 2000, 1e6), 0.97725, 1e-3);
    assert_true(isnan(kstest_poisson_cdf(NAN, 1)));
    assert_true(isnan(kstest_poisson_cdf(1, 0)));
}

/* A number of a Poisson distribution (Knuth's product). */
static double poisson(struct dice *dice, double mean)
{
    double product = dice_unit(dice), k = 0;

    for (double limit = exp(-mean); product > limit; k++)
        product *= dice_unit(dice);
    return k;
}

/* Poisson counts pass; regular, bursty and uniform ones do not. */
static void test_poisson(void **state)
{
    (void)state;
    struct dice dice = {20261121};
    static double counts[500];
    struct kstest r;
    size_t rejected = 0;

    for (size_t round = 0; round < 200; round++) {
        double mean = 0.5 + (double)(round % 40);
        for (size_t i = 0; i < 500; i++)
            counts[i] = poisson(&dice, mean);
        assert_int_equal(kstest_poisson(counts, 500, round % 2 ? 10 : 0, 0.05,
                                        &r), MODEL_OK);
        rejected += !r.passed;
        assert_int_equal(r.passed, r.p >= 0.05 - 1e-9);
    }
    assert_true(rejected <= 10); /* 5 % of 200; it errs to fewer */

    for (size_t bins = 0; bins <= 10; bins += 10) {
        for (size_t i = 0; i < 500; i++)
            counts[i] = 20 + (double)(i % 3);
        assert_int_equal(kstest_poisson(counts, 500, bins, 0.05, &r), MODEL_OK);
        assert_false(r.passed);
        for (size_t i = 0; i < 500; i++)
            counts[i] = (double)dice_range(&dice, 0, 40);
        assert_int_equal(kstest_poisson(counts, 500, bins, 0.05, &r), MODEL_OK);
        assert_false(r.passed);
        for (size_t i = 0; i < 500; i++)
            counts[i] = poisson(&dice, i % 2 ? 10 : 40);
        assert_int_equal(kstest_poisson(counts, 500, bins, 0.05, &r), MODEL_OK);
        assert_false(r.passed);
        assert_true(r.d > r.critical && r.p < 0.05);
    }
}

/* Categories look at fewer places, so D is no greater. */
static void test_bins(void **state)
{
    (void)state;
    struct dice dice = {3};
    double counts[100];
    struct kstest all, ten;

    for (size_t round = 0; round < 50; round++) {
        for (size_t i = 0; i < 100; i++)
            counts[i] = poisson(&dice, 30);
        assert_int_equal(kstest_poisson(counts, 100, 0, 0.05, &all), MODEL_OK);
        assert_int_equal(kstest_poisson(counts, 100, 10, 0.05, &ten), MODEL_OK);
        assert_true(ten.d <= all.d + 1e-12);
        assert_near(ten.critical, 0.1358, 1e-4);
    }
}

static void test_bad(void **state)
{
    (void)state;
    double a[] = {1, 2, 3}, bad[] = {1, NAN, 3}, half[] = {1, 1.5, 2},
           minus[] = {1, -1, 2}, none[] = {0, 0, 0};
    struct kstest r;

    assert_int_equal(kstest_two(a, 0, a, 3, 0.05, &r), MODEL_EINVAL);
    assert_int_equal(kstest_two(a, 3, a, 0, 0.05, &r), MODEL_EINVAL);
    assert_int_equal(kstest_two(a, 3, bad, 3, 0.05, &r), MODEL_EINVAL);
    assert_int_equal(kstest_two(a, 3, a, 3, 0, &r), MODEL_EINVAL);
    assert_int_equal(kstest_two(a, 3, a, 3, 1, &r), MODEL_EINVAL);
    assert_int_equal(kstest_poisson(a, 1, 0, 0.05, &r), MODEL_EINVAL);
    assert_int_equal(kstest_poisson(bad, 3, 0, 0.05, &r), MODEL_EINVAL);
    assert_int_equal(kstest_poisson(half, 3, 0, 0.05, &r), MODEL_EINVAL);
    assert_int_equal(kstest_poisson(minus, 3, 0, 0.05, &r), MODEL_EINVAL);
    assert_int_equal(kstest_poisson(none, 3, 0, 0.05, &r), MODEL_ENODATA);
    assert_int_equal(kstest_poisson(a, 3, 0, NAN, &r), MODEL_EINVAL);
}

UNIT(test_kstest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),   cmocka_unit_test(test_limit),
        cmocka_unit_test(test_invariance), cmocka_unit_test(test_cdf),
        cmocka_unit_test(test_poisson), cmocka_unit_test(test_bins),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests_name("test_kstest", tests, NULL, NULL);
}
