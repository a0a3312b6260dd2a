/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fits: what went in comes out, and what cannot be told is refused. */

#include "tests/model/near.h"

#include <string.h>

#include "model/analysis/fit.h"

/* Roughly normal, of variance 1. */
static double noise(struct dice *dice)
{
    double sum = -6;

    for (int k = 0; k < 12; k++)
        sum += dice_unit(dice);
    return sum;
}

static const struct machine_service truth = {0.006, 0.004, 0.003};

/* A run of this mix, ERROR (relative) too long. */
static struct fit_run run_of(double reads, double writes, double prefetches,
                             double error)
{
    double busy = reads * truth.read_us + writes * truth.write_us +
                  prefetches * truth.prefetch_us;

    return (struct fit_run){1e6 * reads, 1e6 * writes, 1e6 * prefetches,
                            1e6 * busy * (1 + error), 1};
}

/* The thesis' four synthetic loops at five strides. */
static size_t calibration(struct fit_run *runs, struct dice *dice,
                          double error)
{
    static const double writes[] = {0.5, 0, 1.0 / 3, 0.25};
    size_t count = 0;

    for (size_t loop = 0; loop < 4; loop++)
        for (size_t stride = 0; stride < 5; stride++) {
            double rest = 1 - writes[loop];
            double prefetch = rest * (0.6 - 0.1 * (double)stride);
            runs[count++] = run_of(rest - prefetch, writes[loop], prefetch,
                                   error * (dice ? noise(dice) : 0));
        }
    return count;
}

static void test_service_exact(void **state)
{
    (void)state;
    struct fit_run runs[20];
    struct fit_service fit;
    size_t count = calibration(runs, NULL, 0);

    assert_int_equal(fit_service(runs, count, &fit), MODEL_OK);
    assert_near(fit.service.read_us / truth.read_us, 1, 1e-9);
    assert_near(fit.service.write_us / truth.write_us, 1, 1e-9);
    assert_near(fit.service.prefetch_us / truth.prefetch_us, 1, 1e-9);
    assert_near(fit.residual, 0, 1e-9);
    assert_true(fit.has_read && fit.has_write && fit.has_prefetch);
    assert_true(fit.rcond > FIT_MIN_RCOND && fit.rcond <= 1);
    /* Longer runs of the same mixes, other units. */
    for (size_t r = 0; r < count; r++) {
        runs[r].reads *= 7;
        runs[r].writes *= 7;
        runs[r].prefetches *= 7;
        runs[r].busy_us *= 7 * 1000;
    }
    assert_int_equal(fit_service(runs, count, &fit), MODEL_OK);
    assert_near(fit.service.write_us / truth.write_us, 1000, 1e-9);
}

/* With noise the errors are as large as the standard errors say. */
static void test_service_noise(void **state)
{
    (void)state;
    struct dice dice = {99};
    double scaled = 0;

    for (int round = 0; round < 300; round++) {
        struct fit_run runs[20];
        struct fit_service fit;
        size_t count = calibration(runs, &dice, 0.02);

        assert_int_equal(fit_service(runs, count, &fit), MODEL_OK);
        double errors[] = {
            (fit.service.read_us - truth.read_us) / fit.error.read_us,
            (fit.service.write_us - truth.write_us) / fit.error.write_us,
            (fit.service.prefetch_us - truth.prefetch_us) /
                fit.error.prefetch_us};
        for (size_t k = 0; k < 3; k++)
            scaled += errors[k] * errors[k] / 900;
        assert_true(fit.residual > 0.005 && fit.residual < 0.04);
    }
    assert_true(scaled > 0.8 && scaled < 1.5); /* Student's variance: 1.13 */
}

/* Intel's counters know no prefetches; a read-only run is one kind. */
static void test_service_kinds(void **state)
{
    (void)state;
    struct fit_run runs[] = {run_of(1, 0, 0, 0), run_of(1, 1, 0, 0),
                             run_of(3, 1, 0, 0)};
    struct fit_service fit;

    assert_int_equal(fit_service(runs, 3, &fit), MODEL_OK);
    assert_false(fit.has_prefetch);
    assert_near(fit.service.write_us, truth.write_us, 1e-12);
    assert_near(fit.service.prefetch_us, truth.read_us, 1e-12);
    assert_int_equal(fit_service(runs, 1, &fit), MODEL_OK);
    assert_near(fit.service.write_us, truth.read_us, 1e-12);
    assert_near(fit.error.read_us, 0, 0);
    runs[0] = run_of(0, 2, 0, 0);
    assert_int_equal(fit_service(runs, 1, &fit), MODEL_OK);
    assert_near(fit.service.read_us, truth.write_us, 1e-12);
}

/* A run of greater weight counts as so many of it. */
static void test_service_weight(void **state)
{
    (void)state;
    struct dice dice = {4};
    struct fit_run many[24], few[20];
    struct fit_service a, b;
    size_t count = calibration(few, &dice, 0.05);

    memcpy(many, few, sizeof(few));
    for (size_t k = 0; k < 4; k++)
        many[count + k] = few[3];
    few[3].weight = 5;
    assert_int_equal(fit_service(many, count + 4, &a), MODEL_OK);
    assert_int_equal(fit_service(few, count, &b), MODEL_OK);
    assert_near(a.service.read_us / b.service.read_us, 1, 1e-9);
    assert_near(a.residual / b.residual, 1, 1e-9);
}

static void test_service_refused(void **state)
{
    (void)state;
    const double bad[] = {-1, NAN, INFINITY, 0};
    struct fit_run alike[] = {run_of(5, 3, 2, 0), run_of(5, 3, 2, 0.01),
                              run_of(10, 6, 4, -0.01), run_of(5, 3, 2.0001, 0)};
    struct fit_run few[] = {run_of(1, 1, 1, 0), run_of(2, 1, 1, 0)};
    struct fit_run negative[] = {run_of(1, 0, 0, 0), run_of(1, 1, 0, -0.7)};
    struct fit_service fit;

    assert_int_equal(fit_service(alike, 4, &fit), MODEL_ENODATA);
    assert_int_equal(fit_service(few, 2, &fit), MODEL_ENODATA);
    assert_int_equal(fit_service(few, 0, &fit), MODEL_ENODATA);
    assert_int_equal(fit_service(negative, 2, &fit), MODEL_ENODATA);
    for (size_t b = 0; b < 4; b++) {
        struct fit_run one = run_of(1, 1, 1, 0);
        double *numbers[] = {&one.busy_us, &one.weight, &one.reads};
        for (size_t n = 0; n < (bad[b] == 0 ? 2 : 3); n++) {
            one = run_of(1, 1, 1, 0);
            *numbers[n] = bad[b];
            assert_int_equal(fit_service(&one, 1, &fit), MODEL_EINVAL);
        }
    }
    struct fit_run nothing = {0, 0, 0, 1, 1};
    assert_int_equal(fit_service(&nothing, 1, &fit), MODEL_EINVAL);
}

/* Throughputs on these numbers of cores of a loop of RHO, ERROR of noise. */
static void measure(struct station_sample *samples, const size_t *cores,
                    size_t count, double rho, double error, struct dice *dice)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = (struct station_sample){
            cores[i],
            250 * station_speedup(cores[i], rho) * (1 + error * noise(dice)),
            1};
}

static const size_t dops[] = {1, 2, 4, 6, 8, 12, 16};
#define DOPS (sizeof(dops) / sizeof(*dops))

static void test_rho_exact(void **state)
{
    (void)state;
    struct dice dice = {1};
    struct station_sample samples[DOPS];
    struct fit_rho_input in = {samples, DOPS, 0.95, 0};
    struct fit_rho fit;

    for (double rho = 0.02; rho < 1; rho *= 2) {
        measure(samples, dops, DOPS, rho, 0, &dice);
        assert_int_equal(fit_rho(&in, &fit), MODEL_OK);
        assert_near(fit.rho / rho, 1, 1e-3);
        assert_near(fit.unit_rate, 250, 1e-3);
        assert_true(fit.low <= fit.rho && fit.rho <= fit.high);
        assert_true(fit.high < 1.01 * fit.low);
    }
}

/* The interval holds the true rho about as often as it says, whether the
 * noise is known or not; more data make it narrower. */
static void test_rho_confidence(void **state)
{
    (void)state;
    const double rhos[] = {0.03, 0.1, 0.3};
    struct dice dice = {20261121};

    for (size_t k = 0; k < 3; k++)
        for (int known = 0; known < 2; known++) {
            size_t holds = 0;
            for (int round = 0; round < 200; round++) {
                struct station_sample samples[DOPS];
                struct fit_rho_input in = {samples, DOPS, 0.9,
                                           known ? 0.02 : 0};
                struct fit_rho fit;

                measure(samples, dops, DOPS, rhos[k], 0.02, &dice);
                enum model_status status = fit_rho(&in, &fit);
                assert_true(status == MODEL_OK ||
                            (status == MODEL_ENODATA && rhos[k] < 0.1));
                holds += fit.low <= rhos[k] && rhos[k] <= fit.high;
                double low = fit.low, high = fit.high;
                in.confidence = 0.5;
                fit_rho(&in, &fit);
                assert_true(fit.low >= low && fit.high <= high);
            }
            /* Of 200 at 90 %: 180 +- 4.2. */
            assert_true(holds >= 166 && holds <= 194);
        }
}

/* Saturated by two cores, all curves look alike; noise hides a small rho. */
static void test_rho_refused(void **state)
{
    (void)state;
    struct dice dice = {8};
    const size_t two[] = {4, 8}, same[] = {4, 4, 4}, many[] = {8, 10, 12, 16};
    struct station_sample samples[DOPS];
    struct fit_rho_input in = {samples, 2, 0.95, 0};
    struct fit_rho fit;

    measure(samples, two, 2, 0.1, 0, &dice);
    assert_int_equal(fit_rho(&in, &fit), MODEL_ENODATA); /* noise unknown */
    in.noise = 0.01;
    assert_int_equal(fit_rho(&in, &fit), MODEL_OK);
    assert_near(fit.rho, 0.1, 1e-3);
    in.count = 3;
    measure(samples, same, 3, 0.1, 0.01, &dice);
    assert_int_equal(fit_rho(&in, &fit), MODEL_ENODATA);
    in.count = 4;
    measure(samples, many, 4, 5, 0.01, &dice); /* flat: rho large, unknown */
    assert_int_equal(fit_rho(&in, &fit), MODEL_ENODATA);
    assert_true(isinf(fit.high));
}

/* No rho at all is an answer where nothing else is possible. */
static void test_rho_zero(void **state)
{
    (void)state;
    struct dice dice = {3};
    struct station_sample samples[DOPS];
    struct fit_rho_input in = {samples, DOPS, 0.95, 0.001};
    struct fit_rho fit;

    measure(samples, dops, DOPS, 0, 0, &dice);
    assert_int_equal(fit_rho(&in, &fit), MODEL_OK);
    assert_near(fit.low, 0, 0);
    assert_true(fit.rho <= fit.high && fit.high < 0.02);
    in.noise = 0.2; /* then it may be anything */
    assert_int_equal(fit_rho(&in, &fit), MODEL_ENODATA);
    in.noise = -1;
    assert_int_equal(fit_rho(&in, &fit), MODEL_EINVAL);
    in.noise = 0;
    in.confidence = 1;
    assert_int_equal(fit_rho(&in, &fit), MODEL_EINVAL);
    in.confidence = 0.9;
    samples[1].throughput = NAN;
    assert_int_equal(fit_rho(&in, &fit), MODEL_EINVAL);
}

UNIT(test_fit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_service_exact),
        cmocka_unit_test(test_service_noise),
        cmocka_unit_test(test_service_kinds),
        cmocka_unit_test(test_service_weight),
        cmocka_unit_test(test_service_refused),
        cmocka_unit_test(test_rho_exact),
        cmocka_unit_test(test_rho_confidence),
        cmocka_unit_test(test_rho_refused),
        cmocka_unit_test(test_rho_zero),
    };

    return cmocka_run_group_tests_name("test_fit", tests, NULL, NULL);
}
