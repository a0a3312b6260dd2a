/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The station: golden numbers, closed form, laws, and the fit of rho. */

#include "tests/model/near.h"

#include "model/station.h"

static struct station solved(size_t n, double lambda, double mu)
{
    struct station s;

    assert_int_equal(station_solve(n, lambda, mu, &s), MODEL_OK);
    return s;
}

static void test_bad_input(void **state)
{
    static const struct {
        double lambda, mu;
    } bad[] = {
        {-1, 1},  {NAN, 1}, {INFINITY, 1}, {1, 0},
        {1, -1},  {1, NAN}, {1, INFINITY},
    };
    struct station s = {7, 7, 7, 7};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(station_solve(2, bad[i].lambda, bad[i].mu, &s),
                         MODEL_EINVAL);
        assert_true(s.utilisation == 7);
    }
    assert_true(isnan(station_speedup(2, -1)));
    assert_true(isnan(station_speedup(2, NAN)));
    assert_true(isnan(station_speedup(2, INFINITY)));
}

static void test_nobody_asks(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct station s = i ? solved(0, 0.5, 4) : solved(9, 0, 4);
        assert_near(s.response, 0.25, 0);
        assert_near(s.utilisation, 0, 0);
        assert_near(s.throughput, 0, 0);
        assert_near(s.queue, 0, 0);
    }
}

static void test_golden(void **state)
{
    static const double speedup[] = {1, 1.80, 2.37, 2.71, 2.89};

    (void)state;
    assert_near(solved(1, 0.5, 1).utilisation, 1.0 / 3, 1e-15);
    assert_near(solved(2, 0.5, 1).utilisation, 0.6, 1e-15);
    assert_near(solved(3, 0.5, 1).utilisation, 15.0 / 19, 1e-15);
    for (size_t n = 1; n <= 5; n++)
        assert_near(station_speedup(n, 0.5), speedup[n - 1], 0.005);
    for (size_t n = 8; n <= 64; n++)
        assert_near(station_speedup(n, 0.5), 3.00, 0.005);
    assert_near(station_speedup(7, 0), 7, 0);
}

/* Thesis 3.3 and 3.2 (= 4.4 and 4.3), term by term: the quotient of
 * factorials is a product of at most N factors. */
static double closed_utilisation(size_t n, double rho)
{
    long double sum = 1, term = 1;

    for (size_t k = 1; k <= n; k++) {
        term *= (long double)(n - k + 1) * rho;
        sum += term;
    }
    return (double)(1 - 1 / sum);
}

static void test_closed_form(void **state)
{
    static const double rho[] = {1e-4, 0.01, 0.1, 0.5, 1, 3, 100};

    (void)state;
    for (size_t n = 1; n <= 20; n++)
        for (size_t i = 0; i < sizeof(rho) / sizeof(rho[0]); i++) {
            double mu = 3, u = closed_utilisation(n, rho[i]);
            struct station s = solved(n, rho[i] * mu, mu);
            assert_near(s.utilisation, u, 1e-12);
            /* 4.3 subtracts two large numbers where rho is small. */
            assert_near(s.response * mu, (double)n / u - 1 / rho[i],
                        1e-12 * fmax(1, 1 / rho[i]));
        }
}

static void check_laws(size_t n, double rho)
{
    struct station s = solved(n, rho, 1);
    double computing = s.throughput / rho; /* customers that compute */

    assert_true(s.utilisation >= 0 && s.utilisation <= 1);
    assert_true(isfinite(s.response) && s.response >= 1);
    assert_near(s.queue, s.throughput * s.response, 1e-12);
    assert_near(s.queue + computing, (double)n, 1e-9); /* Little, whole loop */
    assert_near(s.utilisation, fmin(1, s.throughput), 1e-12);
    assert_true(s.queue <= (double)n * (1 + 1e-12));
    assert_true(s.response <= (double)n * (1 + 1e-12));
}

static void test_laws(void **state)
{
    (void)state;
    for (double rho = 1e-9; rho < 1.1e6; rho *= 10)
        for (size_t n = 1; n <= 10000; n = n * 3 + 1)
            check_laws(n, rho);
    check_laws(10000, 1e-9);
    check_laws(10000, 0.5);
    check_laws(10000, 1e6);
    /* Saturated: the server is the limit. */
    assert_near(solved(10000, 0.5, 1).utilisation, 1, 1e-12);
    assert_near(solved(10000, 0.5, 1).response, 9998, 1e-9);
}

static void test_monotone(void **state)
{
    (void)state;
    for (double rho = 1e-3; rho < 1e3; rho *= 3)
        for (size_t n = 1; n < 40; n++) {
            struct station a = solved(n, rho, 1), b = solved(n + 1, rho, 1);
            struct station c = solved(n, rho * 1.1, 1);
            double limit = fmin((double)n, (1 + rho) / rho) + 1e-9;
            assert_true(b.utilisation >= a.utilisation - 1e-12);
            assert_true(c.utilisation >= a.utilisation - 1e-12);
            assert_true(b.response > a.response);
            assert_true(station_speedup(n, rho) <= limit);
            assert_true(station_speedup(n, rho * 1.1) <=
                        station_speedup(n, rho) + 1e-9);
        }
}

/* Towards rho 0 nobody waits, towards infinity the server never rests; neither
 * end is lost to rounding, for up to 10000 customers. */
static void test_limits(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 10000; n *= 10) {
        double customers = (double)n;
        struct station low = solved(n, 1e-9, 1), high = solved(n, 1e6, 1);
        /* Two of them seldom meet: U = N rho - N (N - 1) rho^2 ... (3.3) */
        assert_near(low.utilisation / (customers * 1e-9), 1, 2e-9 * customers);
        assert_near((low.response - 1) / 1e-9, customers - 1,
                    2e-6 * customers + 1e-6);
        assert_near(high.utilisation, 1, 1.1e-6);
        assert_near(high.response, customers, 1.1e-6);
        if (n > 1) /* computing takes nearly no time */
            assert_near(customers - high.queue, 1e-6, 1e-9 * customers);
    }
}

/* Throughput never falls with a customer more, over the whole range. */
static void test_throughput_grows(void **state)
{
    (void)state;
    for (double rho = 1e-9; rho < 1.1e6; rho *= 31) {
        double last = 0;
        for (size_t n = 1; n <= 10000; n += 1 + n / 7) {
            struct station s = solved(n, rho, 1);
            assert_true(s.throughput >= last * (1 - 1e-14));
            assert_true(s.utilisation >= 0 && s.utilisation <= 1);
            last = s.throughput;
        }
        assert_true(last <= 1 + 1e-12);
    }
}

static void test_units(void **state)
{
    (void)state;
    struct station us = solved(12, 0.2, 3), ns = solved(12, 0.2e-3, 3e-3);

    assert_near(us.utilisation, ns.utilisation, 1e-12);
    assert_near(us.queue, ns.queue, 1e-12);
    assert_near(us.response * 1e3, ns.response, 1e-12);
    assert_near(us.throughput, ns.throughput * 1e3, 1e-12);
}

static void test_fit_refuses(void **state)
{
    static const struct {
        struct station_sample samples[2];
        size_t count;
        enum model_status status;
    } bad[] = {
        {{{0}}, 0, MODEL_ENODATA},
        {{{4, 2, 1}}, 1, MODEL_ENODATA},
        {{{4, 2, 1}, {4, 3, 1}}, 2, MODEL_ENODATA},
        {{{0, 2, 1}, {4, 3, 1}}, 2, MODEL_EINVAL},
        {{{1, 0, 1}, {4, 3, 1}}, 2, MODEL_EINVAL},
        {{{1, -2, 1}, {4, 3, 1}}, 2, MODEL_EINVAL},
        {{{1, NAN, 1}, {4, 3, 1}}, 2, MODEL_EINVAL},
        {{{1, INFINITY, 1}, {4, 3, 1}}, 2, MODEL_EINVAL},
        {{{1, 2, 0}, {4, 3, 1}}, 2, MODEL_EINVAL},
        {{{1, 2, 1}, {4, 3, NAN}}, 2, MODEL_EINVAL},
    };
    struct station_fit fit = {.rho = 7};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(station_fit_rho(bad[i].samples, bad[i].count, &fit),
                         bad[i].status);
        assert_true(fit.rho == 7);
    }
}

/* Samples on 1, 2, 4, ... cores as RHO and a unit rate of 250 make them. */
static void make_samples(struct station_sample *samples, size_t count,
                         double rho)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = (struct station_sample){
            (size_t)1 << i, 250 * station_speedup((size_t)1 << i, rho), 1};
}

static void test_fit_exact(void **state)
{
    (void)state;
    for (double rho = 2e-3; rho < 20; rho *= 1.37)
        for (size_t count = 2; count <= 5; count++) {
            struct station_sample samples[5];
            struct station_fit fit;
            make_samples(samples, count, rho);
            assert_int_equal(station_fit_rho(samples, count, &fit), MODEL_OK);
            assert_near(fit.rho / rho, 1, 1e-4);
            assert_near(fit.unit_rate, 250, 1e-4);
            assert_near(fit.residual, 0, 1e-6);
        }
}

static void test_fit_noisy(void **state)
{
    struct dice dice = {20260704};

    (void)state;
    for (int round = 0; round < 200; round++) {
        double rho = 0.05 * pow(20, dice_unit(&dice));
        struct station_sample samples[5];
        struct station_fit fit;
        make_samples(samples, 5, rho);
        for (size_t i = 0; i < 5; i++)
            samples[i].throughput *= 0.98 + 0.04 * dice_unit(&dice);
        assert_int_equal(station_fit_rho(samples, 5, &fit), MODEL_OK);
        assert_near(fit.rho / rho, 1, 0.2);
        assert_near(fit.unit_rate, 250, 0.08);
        assert_true(fit.residual <= 0.02);
    }
}

static void test_fit_compute_bound(void **state)
{
    struct station_sample linear[] = {{1, 10, 1}, {2, 20, 1}, {8, 80, 1}};
    struct station_sample super[] = {{1, 10, 1}, {2, 24, 1}, {8, 120, 1}};
    struct station_fit fit;

    (void)state;
    assert_int_equal(station_fit_rho(linear, 3, &fit), MODEL_OK);
    assert_true(fit.rho == 0);
    assert_near(fit.unit_rate, 10, 1e-12);
    assert_int_equal(station_fit_rho(super, 3, &fit), MODEL_OK);
    assert_true(fit.rho == 0);
}

/* Speed that does not grow at all is the largest rho, not an error. */
static void test_fit_flat(void **state)
{
    struct station_sample flat[] = {{1, 10, 1}, {2, 10, 1}, {8, 10, 1}};
    struct station_sample falling[] = {{1, 10, 1}, {2, 8, 1}, {8, 5, 1}};
    struct station_fit fit;

    (void)state;
    assert_int_equal(station_fit_rho(flat, 3, &fit), MODEL_OK);
    assert_true(fit.rho > 100 && fit.rho <= STATION_RHO_MAX * 1.0000001);
    assert_near(fit.unit_rate, 10, 0.01);
    assert_int_equal(station_fit_rho(falling, 3, &fit), MODEL_OK);
    assert_true(fit.rho > 100 && fit.rho <= STATION_RHO_MAX * 1.0000001);
    assert_true(fit.residual > 0.1);
}

/* A sample with much weight counts for more than one with little. */
static void test_fit_weights(void **state)
{
    struct station_sample samples[3];
    struct station_fit even, heavy;

    (void)state;
    make_samples(samples, 3, 0.5);
    samples[2].throughput *= 1.2;
    assert_int_equal(station_fit_rho(samples, 3, &even), MODEL_OK);
    samples[2].weight = 1e-3;
    assert_int_equal(station_fit_rho(samples, 3, &heavy), MODEL_OK);
    assert_true(fabs(heavy.rho - 0.5) < fabs(even.rho - 0.5) / 10);
}

UNIT(test_station)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_nobody_asks),
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_throughput_grows),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_fit_refuses),
        cmocka_unit_test(test_fit_exact),
        cmocka_unit_test(test_fit_noisy),
        cmocka_unit_test(test_fit_compute_bound),
        cmocka_unit_test(test_fit_flat),
        cmocka_unit_test(test_fit_weights),
    };

    return cmocka_run_group_tests_name("test_station", tests, NULL, NULL);
}
