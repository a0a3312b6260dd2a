/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent believes of earlier runs, and when it stops. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/core/history.h"

#define GOOD                                                                   \
    "cosched-job/1 runs=5 program=cg done_s=100 done_spread=0.2 "          \
    "steps=1000 steps_spread=0 rho=0.5 alone_s=12.5 class=memory"

static struct history parse(const char *text)
{
    struct history h;
    struct errtext err = {""};

    if (history_parse(&h, text, &err) < 0)
        fail_msg("%s", err.text);
    return h;
}

static void test_parse(void **state)
{
    struct history h = parse(GOOD);

    (void)state;
    assert_true(h.known);
    assert_int_equal(h.runs, 5);
    assert_string_equal(h.program, "cg");
    assert_true(fabs(h.done_s - 100) < 1e-9);
    assert_true(fabs(h.steps - 1000) < 1e-9);
    assert_true(fabs(h.rho - 0.5) < 1e-9);
    assert_true(fabs(h.alone_s - 12.5) < 1e-9);
    assert_true(h.weight == 0);
    h = parse("cosched-job/1"); /* says nothing */
    assert_false(h.known);
    h = parse("cosched-job/1 weight=2.5"); /* nothing of earlier runs */
    assert_false(h.known);
    assert_true(h.weight == 2.5);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "cosched-job/1 runs=0",
        "cosched-job/1 runs=5 done_s=nan",
        "cosched-job/1 runs=5 done_s=-1",
        "cosched-job/1 runs=5 done_s=1x",
        "cosched-job/1 runs=5 done_s=",
        "cosched-job/1 runs=5 steps=1e300",
        "cosched-job/1 runs=5 rho=inf",
        "cosched-job/1 weight=11",
        "cosched-job/1 weight=0",
        "cosched-job/1 runs=5 program=",
        ("cosched-job/1 runs=5 program=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    };
    static const char *const foreign[] = {
        "", "cosched/1 state=final runs=5", "cosched-job/2 runs=5",
        "cosched-job/12 runs=5", "note of the admin",
    };
    struct history h;
    struct errtext err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("%.60s\n", bad[i]);
        assert_int_equal(history_parse(&h, bad[i], &err), -1);
        assert_int_equal(errno, EINVAL);
        assert_false(h.known);
        assert_true(isnan(h.done_s));
    }
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        assert_int_equal(history_parse(&h, foreign[i], &err), -1);
        assert_int_equal(errno, ENODATA);
    }
}

static double expected(const char *text, double done_s, double steps)
{
    struct history h = parse(text);
    struct record r = {.done_s = done_s, .total.steps = steps};

    history_check(&h, &r);
    return history_expected(&h, &r);
}

static void test_expected(void **state)
{
    (void)state;
#define TIME "cosched-job/1 runs=3 done_s=100 done_spread=0.2"
#define STEPS TIME " steps=1000 steps_spread=0.01"
    /* Where times differed, steps tell better than time how far it has got. */
    assert_true(fabs(expected(STEPS, 90, 250) - 165) < 1e-9);
    assert_true(fabs(expected(STEPS, 90, 1000) - 90) < 1e-9);
    assert_true(fabs(expected(STEPS, 90, 1100) - 90) < 1e-9);
    /* Where they did not, it does not matter that steps are of all lengths: half
     * of the time was over after a tenth of them, or nine tenths. */
#define SAME "cosched-job/1 runs=3 done_s=100 done_spread=0.05 steps=1000 " \
             "steps_spread=0"
    assert_true(fabs(expected(SAME, 50, 100) - 100) < 1e-9);
    assert_true(fabs(expected(SAME, 50, 900) - 100) < 1e-9);
    assert_true(fabs(expected(TIME, 30, 77) - 100) < 1e-9);
    assert_true(fabs(expected(TIME " steps=5 steps_spread=0", 30, 1) - 100) <
                1e-9);
    assert_true(fabs(expected(TIME " steps=500 steps_spread=0.5", 30, 1) -
                     100) < 1e-9);
    assert_true(
        expected("cosched-job/1 runs=3 done_s=9 done_spread=1", 3, 0) == 0);
    assert_true(expected("cosched-job/1 runs=3 done_s=9", 3, 0) == 0);
    assert_true(
        expected("cosched-job/1 runs=1 done_s=9 done_spread=0", 3, 0) == 0);
    assert_true(expected("cosched-job/1 runs=3 rho=1", 3, 0) == 0);
}

static void test_dropped(void **state)
{
    struct record same = {.program = "cg", .profiled = true, .rho = 0.6,
                          .parallel_s = 50, .profiled_share = 1, .done_s = 60,
                          .total.steps = 500};
    struct history h = parse(GOOD);

    (void)state;
    history_check(&h, &same);
    assert_null(h.dropped);
    struct record r = same;
    strcpy(r.program, "ep");
    history_check(&h, &r);
    assert_string_equal(h.dropped, "it is another program");
    assert_true(history_expected(&h, &r) == 0);
    history_check(&h, &same); /* for good */
    assert_non_null(h.dropped);

    r = same;
    r.done_s = 151; /* 100 * 1.2 * 1.25 = 150 */
    h = parse(GOOD);
    history_check(&h, &r);
    assert_string_equal(h.dropped, "it takes longer than earlier runs");
    r = same;
    r.total.steps = 1251;
    h = parse(GOOD);
    history_check(&h, &r);
    assert_string_equal(h.dropped, "it does more steps than earlier runs");
    r = same;
    r.rho = 0.2;
    h = parse(GOOD);
    history_check(&h, &r);
    assert_string_equal(h.dropped, "its demand of memory is another one");
    r.parallel_s = 4; /* too early to say */
    h = parse(GOOD);
    history_check(&h, &r);
    assert_null(h.dropped);
    history_init(&h); /* nothing known, nothing to drop */
    history_check(&h, &r);
    assert_null(h.dropped);
}

UNIT(test_history)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_dropped),
    };

    return cmocka_run_group_tests_name("test_history", tests, NULL, NULL);
}
