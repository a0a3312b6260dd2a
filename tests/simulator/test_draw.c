/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The simulators' random numbers, choices and pending events. */

#include "tests/support/unit.h"

#include <math.h>

#include "tests/simulator/choice.h"
#include "tests/simulator/events.h"
#include "simulator/random.h"

#define DRAWS 200000

/* The reference implementation's numbers for state 1, 2, 3, 4. */
static void test_reference(void **state)
{
    struct random r = {{1, 2, 3, 4}};

    (void)state;
    assert_true(random_bits(&r) == UINT64_C(41943041));
    assert_true(random_bits(&r) == UINT64_C(58720359));
    assert_true(random_bits(&r) == UINT64_C(3588806011781223));
}

static void test_moments(void **state)
{
    struct random r;
    double u = 0, e = 0, e2 = 0, least = 1, most = 0;
    double tolerance = 5 / sqrt(DRAWS); /* five standard deviations */

    (void)state;
    random_seed(&r, 0);
    for (int i = 0; i < DRAWS; i++) {
        double x = random_uniform(&r), y = random_exponential(&r, 3) / 3;
        least = fmin(least, x);
        most = fmax(most, x);
        u += x / DRAWS;
        e += y / DRAWS;
        e2 += y * y / DRAWS;
    }
    assert_true(least > 0 && most <= 1);
    assert_true(fabs(u - 0.5) < 0.29 * tolerance);
    assert_true(fabs(e - 1) < tolerance);
    assert_true(fabs(e2 - 2) < 4.5 * tolerance);
}

static void check_choice(const double *weight, uint32_t count)
{
    struct choice choice;
    struct random r;
    double drawn[8] = {0};

    random_seed(&r, count);
    assert_true(choice_init(&choice, weight, count));
    for (int i = 0; i < DRAWS; i++) {
        uint32_t k = choice_draw(&choice, &r);
        assert_true(k < count);
        drawn[k]++;
    }
    for (uint32_t k = 0; k < count; k++) {
        double p = weight[k] / choice.total;
        if (p == 0)
            assert_true(drawn[k] == 0);
        assert_true(fabs(drawn[k] / DRAWS - p) <=
                    5 * sqrt(p * (1 - p) / DRAWS));
    }
    choice_release(&choice);
}

static void test_choice(void **state)
{
    static const double even[] = {2, 2, 2, 2};
    static const double steep[] = {0, 1e-3, 10, 0, 3, 0.5, 0, 1};
    static const double one[] = {0, 0, 7};
    static const double none[] = {0, 0};
    struct choice choice;

    (void)state;
    check_choice(even, 4);
    check_choice(steep, 8);
    check_choice(one, 3);
    check_choice(one + 2, 1);
    assert_true(choice_init(&choice, none, 2));
    assert_true(choice.total == 0);
    choice_release(&choice);
}

static void test_events(void **state)
{
    struct events events = {0};
    struct random r;
    double last = -1;
    uint32_t last_who = 0;

    (void)state;
    random_seed(&r, 5);
    assert_true(events_init(&events, 500));
    /* Few different times, so that many are equal: those keep their order. */
    for (uint32_t i = 0; i < 500; i++)
        events_put(&events, (double)random_index(&r, 20), i);
    for (int i = 0; i < 500; i++) {
        assert_true(events_first(&events)->time >= last);
        struct event e = events_take(&events);
        if (e.time == last)
            assert_true(e.who > last_who);
        last = e.time;
        last_who = e.who;
    }
    assert_int_equal(events.count, 0);
    /* Taking and putting mixed. */
    for (uint32_t i = 0; i < 100; i++)
        events_put(&events, random_uniform(&r), i);
    last = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        struct event e = events_take(&events);
        assert_true(e.time >= last);
        last = e.time;
        events_put(&events, last + random_uniform(&r), e.who);
    }
    events_release(&events);
}

UNIT(test_draw)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests_name("test_draw", tests, NULL, NULL);
}
