/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Throughputs: noise, outliers, drift, and when they say enough.  The truth of
 * simulated loops is tests/simulator/test_progress.c. */

#include "tests/model/near.h"

#include "model/throughput.h"

#define EPOCH_S 0.05

/* About normal: the sum of twelve dice. */
static double normal(struct dice *dice)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += dice_unit(dice);
    return sum;
}

/* COUNT epochs of RATE units a second; number of drifts. */
static size_t feed(struct throughput_series *s, struct dice *dice,
                   size_t count, double rate, double noise)
{
    size_t drifts = 0;

    for (size_t i = 0; i < count; i++)
        drifts += throughput_add(
            s, floor(rate * EPOCH_S * (1 + noise * normal(dice))), EPOCH_S);
    return drifts;
}

static struct throughput_rate rate_of(const struct throughput_series *s)
{
    struct throughput_rate rate;

    assert_int_equal(throughput_rate(s, &rate), MODEL_OK);
    return rate;
}

static void test_student(void **state)
{
    static const double table[][2] = {
        {1, 12.706}, {2, 4.303}, {3, 3.182},  {5, 2.571},  {6, 2.447},
        {8, 2.306},  {10, 2.228}, {20, 2.086}, {30, 2.042}, {1000, 1.962}};

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_near(throughput_student(table[i][0]), table[i][1], 0.002);
    for (double f = 1; f < 50; f += 0.1)
        assert_true(throughput_student(f) > throughput_student(f + 0.1));
}

static void test_samples(void **state)
{
    struct throughput_series s = {0};
    struct throughput_rate rate;

    (void)state;
    /* One unit in two epochs: 32 epochs are one sample. */
    for (int i = 0; i < 63; i++)
        throughput_add(&s, i % 2, EPOCH_S);
    assert_int_equal(s.count, 1);
    assert_int_equal(throughput_rate(&s, &rate), MODEL_ENODATA);
    throughput_add(&s, 1, EPOCH_S);
    assert_near(rate_of(&s).rate, 10, 1e-9);
    assert_true(rate_of(&s).error > 1.0 / 32);
    s = (struct throughput_series){0};
    for (int i = 0; i < 1000; i++)
        assert_false(throughput_add(&s, 0, EPOCH_S));
    assert_int_equal(throughput_rate(&s, &rate), MODEL_ENODATA);
}

/* However long: the same memory, and an error that shrinks with the root. */
static void test_batches(void **state)
{
    struct dice dice = {3};
    struct throughput_series s = {0};
    double before = INFINITY;

    (void)state;
    for (size_t n = 10; n <= 1000; n *= 10) {
        feed(&s, &dice, n, 1e6, 0.05);
        struct throughput_rate r = rate_of(&s);
        assert_true(s.count < THROUGHPUT_BATCHES);
        assert_true(r.error < before && r.error >= THROUGHPUT_FLOOR);
        assert_true(fabs(r.rate / 1e6 - 1) <= 4 * r.error);
        before = r.error;
    }
    assert_true(before < 0.008);
    assert_true(s.group >= 32);
}

/* Neighbours that resemble each other know less than they seem to. */
static void test_correlated(void **state)
{
    struct throughput_series together = {0}, apart = {0};
    struct dice dice = {5};

    (void)state;
    for (int i = 0; i < 24; i++) {
        double up = i / 6 % 2 ? 1.05 : 0.95;
        throughput_add(&together, 1e5 * up, EPOCH_S);
        up = dice_unit(&dice) < 0.5 ? 1.05 : 0.95;
        throughput_add(&apart, 1e5 * up, EPOCH_S);
    }
    assert_true(rate_of(&together).error > 1.5 * rate_of(&apart).error);
}

/* One epoch in ten loses half of its time to something else. */
static void test_outliers(void **state)
{
    (void)state;
    for (size_t n = 20; n <= 320; n *= 4) {
        struct throughput_series s = {0};
        struct dice dice = {7};
        for (size_t i = 0; i < n; i++)
            assert_false(throughput_add(
                &s, 1e5 * (i % 10 == 4 ? 0.5 : 1 + 0.01 * normal(&dice)),
                EPOCH_S));
        /* The mean of all is 5 % low. */
        assert_near(rate_of(&s).rate / 2e6, 1, 0.01);
        assert_true(rate_of(&s).error < 0.02);
    }
}

static void test_drift(void **state)
{
    struct dice dice = {11};
    size_t late = 0;

    (void)state;
    for (int run = 0; run < 20; run++) {
        struct throughput_series s = {0};
        assert_int_equal(feed(&s, &dice, 2000, 1e6, 0.03), 0);
        double change = run % 2 ? 0.8 : 1.25;
        for (late = 1; !feed(&s, &dice, 1, 1e6 * change, 0.03); late++)
            assert_true(late < 12);
        assert_true(late > 2); /* one or two may be an accident */
    }
    /* A change by 2 % is none. */
    struct throughput_series s = {0};
    assert_int_equal(feed(&s, &dice, 100, 1e6, 0.01), 0);
    assert_int_equal(feed(&s, &dice, 100, 0.98e6, 0.01), 0);
}

/* N points of RHO known to ERROR. */
static enum model_status fit(double rho, const size_t *cores, size_t n,
                             double error, struct throughput_rho *result)
{
    struct throughput_point point[4];

    for (size_t i = 0; i < n; i++)
        point[i] = (struct throughput_point){
            cores[i], {1e5 * station_speedup(cores[i], rho), error, 10}};
    return throughput_fit(point, n, result);
}

static void test_fit(void **state)
{
    static const size_t cores[] = {8, 4, 1};
    struct throughput_rho r, wide;

    (void)state;
    for (double rho = 0.05; rho < 2; rho *= 2) {
        assert_int_equal(fit(rho, cores, 3, 0.005, &r), MODEL_OK);
        assert_near(r.rho, rho, 1e-3);
        assert_true(r.low < rho && rho < r.high);
        assert_int_equal(fit(rho, cores, 3, 0.02, &wide), MODEL_OK);
        assert_true(wide.low < r.low && wide.high > r.high);
    }
    /* At what the limit allows, the sum of squares is t^2. */
    assert_int_equal(fit(0.3, cores, 2, 0.01, &r), MODEL_OK);
    double ratio = station_speedup(8, 0.3) / station_speedup(4, 0.3);
    double off = station_speedup(8, r.high) / station_speedup(4, r.high);
    assert_near(fabs(off / ratio - 1), throughput_student(20) * 0.01 * sqrt(2),
                2e-3);
}

static void test_fit_refuses(void **state)
{
    static const size_t same[] = {4, 4};
    struct throughput_rho r;
    struct throughput_point bad[2] = {{1, {1, 0.1, 5}}, {2, {2, 0, 5}}};

    (void)state;
    assert_int_equal(fit(0.1, same, 2, 0.01, &r), MODEL_ENODATA);
    assert_int_equal(fit(0.1, same, 1, 0.01, &r), MODEL_ENODATA);
    assert_int_equal(throughput_fit(bad, 2, &r), MODEL_EINVAL);
    bad[1].rate.error = 0.1;
    assert_int_equal(throughput_fit(bad, 2, &r), MODEL_OK);
    assert_int_equal(
        throughput_fit(bad, THROUGHPUT_POINTS_MAX + 1, &r), MODEL_EINVAL);
}

static void test_judge(void **state)
{
    static const struct {
        struct throughput_rho fit;
        size_t most;
        enum throughput_verdict verdict;
        bool matters;
    } cases[] = {
        {{0, 0, 0.02}, 8, THROUGHPUT_COMPUTE, false},
        {{0, 0, 0.2}, 2, THROUGHPUT_COMPUTE, false},
        {{0, 0, 0.2}, 16, THROUGHPUT_OPEN, true}, /* fine on few cores only */
        {{0.1, 0.01, 0.3}, 16, THROUGHPUT_OPEN, true},
        {{0.1, 0.06, 0.15}, 16, THROUGHPUT_ROUGH, true},
        {{0.1, 0.09, 0.11}, 16, THROUGHPUT_PRECISE, true},
        {{0.5, 0.49, 0.51}, 16, THROUGHPUT_PRECISE, false},
        {{9, 0.3, INFINITY}, 16, THROUGHPUT_OPEN, true}, /* saturated */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(throughput_judge(&cases[i].fit, cases[i].most),
                         cases[i].verdict);
        assert_true(throughput_matters(&cases[i].fit, cases[i].most) ==
                    cases[i].matters);
    }
}

static void test_next(void **state)
{
    static const struct throughput_rho saturated = {5, 0.3, INFINITY};
    static const struct throughput_rho light = {0.01, 0, 0.1};
    size_t cores[] = {8, 16, 4, 2, 1};

    (void)state;
    assert_int_equal(throughput_next(NULL, NULL, 0, 16), 16);
    /* What is perhaps light shows on many cores; where these are saturated,
     * few must tell. */
    assert_int_equal(throughput_next(&light, cores, 1, 16), 16);
    assert_true(throughput_next(&saturated, cores, 2, 16) <= 2);
    assert_int_equal(throughput_next(&saturated, cores, 5, 16), 0);
    cores[0] = 1;
    assert_int_equal(throughput_next(NULL, cores, 1, 2), 2);
    assert_int_equal(throughput_next(NULL, cores, 1, 1), 0);
}

UNIT(test_throughput)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student),     cmocka_unit_test(test_samples),
        cmocka_unit_test(test_batches),     cmocka_unit_test(test_correlated),
        cmocka_unit_test(test_outliers),    cmocka_unit_test(test_drift),
        cmocka_unit_test(test_fit),         cmocka_unit_test(test_fit_refuses),
        cmocka_unit_test(test_judge),       cmocka_unit_test(test_next),
    };

    return cmocka_run_group_tests_name("test_throughput", tests, NULL, NULL);
}
