/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Max-min fair division: its level. */

#include "tests/model/near.h"

#include "model/maxmin.h"

static void test_level(void **state)
{
    static const double d[] = {10, 200, 600}, one[] = {1, 1, 1};
    static const double w[] = {1, 1, 3};

    (void)state;
    assert_near(maxmin_level(d, one, 3, 610), 400, 1e-12);
    assert_near(maxmin_level(d, one, 3, 300), 145, 1e-12);
    assert_near(maxmin_level(d, w, 3, 610), 150, 1e-12);
    assert_true(isinf(maxmin_level(d, one, 3, 810)));
    assert_true(isinf(maxmin_level(d, one, 0, 1)));
    assert_near(maxmin_level(d, one, 3, 0), 0, 0);
}

static void test_level_of_any(void **state)
{
    struct dice dice = {4711};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        size_t count = dice_range(&dice, 1, 8);
        double d[8], w[8], sum = 0, given = 0;
        for (size_t j = 0; j < count; j++) {
            sum += d[j] = 100 * dice_unit(&dice);
            w[j] = 0.1 + dice_unit(&dice);
        }
        double amount = sum * dice_unit(&dice);
        double level = maxmin_level(d, w, count, amount);
        for (size_t j = 0; j < count; j++)
            given += fmin(d[j], level * w[j]);
        assert_near(given, amount, 1e-9);
    }
}

UNIT(test_maxmin)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_level),
        cmocka_unit_test(test_level_of_any),
    };

    return cmocka_run_group_tests_name("test_maxmin", tests, NULL, NULL);
}
