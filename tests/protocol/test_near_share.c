/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The rule by which interleaved pages follow CPUs. */

#include "tests/support/unit.h"

#include <math.h>

#include "protocol/near_share.h"

#define NODES 4

/* After two thirds of a second it is two fifths of the way; looks as often as they come add up. */
static void test_average(void **state)
{
    const double there[NODES] = {0, 0, 0.5, 0.5};
    double once[NODES] = {0.5, 0.5, 0, 0}, often[NODES] = {0.5, 0.5, 0, 0};

    (void)state;
    cosched_near_average(once, there, NODES, 2 / 3.);
    assert_true(fabs(once[2] - 0.2) < 1e-12 && fabs(once[0] - 0.3) < 1e-12);
    for (int i = 0; i < 600; i++)
        cosched_near_average(often, there, NODES, 0.01);
    assert_true(often[0] < 0.01 && often[2] > 0.49);
    assert_true(fabs(often[0] + often[1] + often[2] + often[3] - 1) < 1e-9);
}

/* Parts are of 1 whatever the share, which says how much is with the CPUs. */
static void test_parts(void **state)
{
    const double mean[NODES] = {0.75, 0.25, 0, 0};

    (void)state;
    double goal[NODES];

    for (uint32_t i = 0; i <= 4; i++) {
        double sum = 0;
        cosched_near_goal(mean, NODES, 1 + i * COSCHED_NEAR_WHOLE / 4, goal);
        for (unsigned k = 0; k < NODES; k++)
            sum += goal[k];
        assert_true(fabs(sum - 1) < 1e-12);
        if (i == 0)
            assert_true(fabs(goal[0] - 0.25) < 1e-12);
        if (i == 2)
            assert_true(fabs(goal[3] - 0.125) < 1e-12);
    }
    assert_true(fabs(goal[0] - 0.75) < 1e-12);
}

static void test_off(void **state)
{
    const double even[NODES] = {0.25, 0.25, 0.25, 0.25}, half[NODES] = {0.5, 0.5, 0, 0};

    (void)state;
    assert_true(cosched_near_off(even, even, NODES) == 0);
    assert_true(fabs(cosched_near_off(even, half, NODES) - 0.5) < 1e-12);
    assert_true(fabs(cosched_near_off(half, even, NODES) - 0.5) < 1e-12);
}

UNIT(test_near_share)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_off),
    };

    return cmocka_run_group_tests_name("test_near_share", tests, NULL, NULL);
}
