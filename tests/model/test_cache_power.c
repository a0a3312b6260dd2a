/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The exponent of the power law of cache misses, from what was counted. */

#include "tests/model/near.h"

#include "model/cache_power.h"
#include "model/workload.h"

/* An interval of MS with CORES on each of two LLC domains and so many REQUESTS per cycle. */
static void add(struct cache_power *p, double ms, size_t cores, double requests)
{
    struct loop *loop = loop_new(2, 1);

    loop->total_us = ms * 1e3;
    for (size_t i = 0; i < 2; i++) {
        loop->cores[i] = cores;
        loop->useful_cycles[i] = 1e6 * (double)cores;
        loop->requests[i] = (struct loop_requests){requests * 5e5 * (double)cores,
                                                   requests * 5e5 * (double)cores, 0};
    }
    assert_int_equal(loop_check(loop, NULL), MODEL_OK);
    cache_power_add(p, loop);
    loop_free(loop);
}

static double slope(const struct cache_power *p, double usual)
{
    struct cache_power_line line = cache_power_line(p);

    return cache_power_slope(&line, usual);
}

static bool known(const struct cache_power *p)
{
    struct cache_power_line line = cache_power_line(p);

    return cache_power_known(&line);
}

/* The law is found, and the better the longer it was seen. */
static void test_law(void **state)
{
    static const double ms[] = {10, 50, 100, 1000, 100000};
    double before = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct cache_power p = {0};
        add(&p, ms[i], 1, 2 * pow(1, 0.6));
        assert_near(slope(&p, 0.25), 0.25, 1e-12); /* nothing to compare with */
        assert_false(known(&p));
        add(&p, ms[i], 2, 2 * pow(2, 0.6));
        assert_int_equal(known(&p), ms[i] >= 100);
        assert_true(slope(&p, 0) > before && slope(&p, 0) < 0.6);
        assert_near(slope(&p, 0.6), 0.6, 1e-12);
        before = slope(&p, 0);
    }
    assert_near(before, 0.6, 1e-3);
}

/* Slopes of programs with phases are off by the standard error that is taken for theirs. */
static void test_phases(void **state)
{
    struct dice dice = {3};
    double squares = 0, expected = 0;

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct cache_power p = {0};
        for (int i = 0; i < 40; i++) {
            size_t cores = 1 + (size_t)i % 2;
            double phase = dice_unit(&dice) + dice_unit(&dice) + dice_unit(&dice) - 1.5;
            add(&p, 50, cores, pow((double)cores, 0.5) * exp(phase));
        }
        struct cache_power_line line = cache_power_line(&p);
        squares += pow(line.nr / line.nn - 0.5, 2);
        expected += line.noise / line.nn;
        assert_false(known(&p)); /* 0.23 */
        assert_true(fabs(cache_power_slope(&line, 0.5) - 0.5) <=
                    fabs(line.nr / line.nn - 0.5) + 1e-12);
    }
    assert_near(sqrt(squares / expected), 1, 0.1);
}

/* Regions that miss more or less often in all add up to what they have in common. */
static void test_regions(void **state)
{
    struct cache_power a = {0}, b = {0};

    (void)state;
    add(&a, 1e6, 1, 0.1);
    add(&a, 1e6, 4, 0.1 * pow(4, 0.5));
    add(&b, 1e6, 4, 7);
    add(&b, 1e6, 8, 7 * pow(2, 0.5));
    struct cache_power_line line = cache_power_line(&a), more = cache_power_line(&b);
    cache_power_join(&line, &more);
    assert_near(cache_power_slope(&line, 0), 0.5, 1e-3);
}

static void test_limits(void **state)
{
    struct cache_power p = {0}, less = {0}, none = {0};

    (void)state;
    add(&p, 1e6, 1, 1);
    add(&p, 1e6, 2, 5);
    assert_near(slope(&p, 0), 1, 0);
    add(&less, 1e6, 1, 2);
    add(&less, 1e6, 2, 1);
    assert_near(slope(&less, 0), 0, 0);
    add(&none, 1e6, 1, 0); /* no requests, or none counted */
    add(&none, 1e6, 2, 0);
    assert_near(none.time, 0, 0);
    assert_near(slope(&none, 0.3), 0.3, 1e-12);
}

/* Cores where most are count most. */
static void test_cores(void **state)
{
    static const size_t none[3] = {0}, some[3] = {6, 0, 2};

    (void)state;
    assert_near(cache_power_cores(none, 3), 0, 0);
    assert_near(cache_power_cores(some, 3), 5, 1e-12);
}

static void test_crowd(void **state)
{
    struct workload *w = workload_new(2);

    (void)state;
    assert_near(workload_crowd(w, 7), 1, 0);
    w->llc_power = 0.5;
    assert_int_equal(workload_check(w), MODEL_EINVAL); /* of how many? */
    w->llc_cores = 4;
    assert_int_equal(workload_check(w), MODEL_OK);
    assert_near(workload_crowd(w, 1), 0.5, 1e-12);
    assert_near(workload_crowd(w, 4), 1, 1e-12);
    assert_near(workload_crowd(w, 9), 1.5, 1e-12);
    w->llc_power = 1.01;
    assert_int_equal(workload_check(w), MODEL_EINVAL);
    w->llc_power = NAN;
    assert_int_equal(workload_check(w), MODEL_EINVAL);
    w->llc_power = 1;
    w->llc_cores = INFINITY;
    assert_int_equal(workload_check(w), MODEL_EINVAL);
    workload_free(w);
}

UNIT(test_cache_power)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),     cmocka_unit_test(test_phases),
        cmocka_unit_test(test_regions), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_cores),   cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests_name("test_cache_power", tests, NULL, NULL);
}
