/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Shares of the agent's time. */

#include "tests/support/unit.h"

#include "node_agent/daemon/user_time.h"

#define SECOND UINT64_C(1000000000)

static void test_burst(void **state)
{
    struct user_time time = {0};

    (void)state;
    assert_true(user_time_left(&time, 7, SECOND) == USER_TIME_BURST_NS);
    assert_true(user_time_charge(&time, 7, USER_TIME_BURST_NS - 5, SECOND) ==
                5);
    assert_true(user_time_charge(&time, 7, 100, SECOND) == 0);
    /* Debts are not kept, others do not pay. */
    assert_true(user_time_left(&time, 7, SECOND) == 0);
    assert_true(user_time_left(&time, 8, SECOND) == USER_TIME_BURST_NS);
}

static void test_income(void **state)
{
    struct user_time time = {0};

    (void)state;
    user_time_charge(&time, 7, USER_TIME_BURST_NS, SECOND);
    uint64_t left = user_time_left(&time, 7, 2 * SECOND);
    assert_true(left >= (uint64_t)(0.99 * USER_TIME_SHARE * 1e9) &&
                left <= (uint64_t)(1.01 * USER_TIME_SHARE * 1e9));
    /* The same instant brings nothing. */
    assert_true(user_time_left(&time, 7, 2 * SECOND) == left);
    assert_true(user_time_left(&time, 7, 1000 * SECOND) == USER_TIME_BURST_NS);
}

/* Of more users than are remembered the one who asked longest ago is new. */
static void test_many(void **state)
{
    struct user_time time = {0};

    (void)state;
    for (uid_t uid = 1; uid <= USER_TIME_USERS; uid++)
        user_time_charge(&time, uid, USER_TIME_BURST_NS, SECOND + uid);
    assert_true(user_time_left(&time, 1, SECOND + 100) < 100);
    user_time_charge(&time, 1000, USER_TIME_BURST_NS, SECOND + 101);
    assert_true(user_time_left(&time, 1, SECOND + 102) < 100);
    assert_true(user_time_left(&time, 1000, SECOND + 103) < 100);
    assert_true(user_time_left(&time, 2, SECOND + 104) == USER_TIME_BURST_NS);
}

UNIT(test_user_time)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_income),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("test_user_time", tests, NULL, NULL);
}
