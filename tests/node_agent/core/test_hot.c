/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The regions that a record names: which, and what of their names. */

#include "tests/support/unit.h"

#include "node_agent/core/hot.h"

/* Region OFFSET of LIST has run for MS. */
static struct region *run(struct region_list *list, uint64_t offset, uint64_t ms)
{
    struct region *s = offset ? region_find(list, 0x729df73bfc2d7c41, offset)
                              : region_folded(list);

    assert_non_null(s);
    s->run_ns = ms * 1000000;
    return s;
}

static void test_order(void **state)
{
    struct region_list list = {0};
    struct record r = {0};
    struct region *hot[HOT_MOST];
    char text[RECORD_TEXT_MAX];

    (void)state;
    assert_int_equal(hot_regions(&list, hot), 0);
    hot_note(&r, &list);
    assert_string_equal(r.hot, "");
    for (uint64_t i = 1; i <= 500; i++) /* as many as a user likes */
        run(&list, i, 0);
    run(&list, 1, 620);
    run(&list, 0, 100);
    run(&list, 300, 210);
    run(&list, 7, 70);
    hot_name(run(&list, 1, 620), "conj_grad, cg.c:87");
    hot_note(&r, &list);
    assert_string_equal(r.hot,
                        "conj_grad@cg.c:87*0.62,729df73bfc2d7c41+12c*0.21,short*0.1");
    record_format(&r, "final", text);
    assert_non_null(strstr(text, " hot=conj_grad@cg.c:87*0.62,"));
    /* After a restart of the agent: until something has run what was known stays. */
    region_list_clear(&list);
    hot_note(&r, &list);
    assert_non_null(strstr(r.hot, "cg.c:87"));
}

/* What users call their functions is not another entry, and does not take the room of others. */
static void test_hostile(void **state)
{
    static const char *const names[][2] = {
        {"f state=final, x.c:1", "f_state_final@x.c:1*1"},
        {"a,b*0.5|c\n\"'\\;$(id), \xff.c:3", "a_b_0.5_c_______id_@_.c:3*1"},
        {"solver::Grid::smooth, grid.cc:5", "solver::Grid::smooth@grid.cc:5*1"},
        {"", "729df73bfc2d7c41+1*1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct region_list list = {0};
        struct record r = {0};
        struct region *s = run(&list, 1, 5);
        hot_name(s, names[i][0]);
        assert_true(s->asked);
        hot_note(&r, &list);
        assert_string_equal(r.hot, names[i][1]);
        region_list_clear(&list);
    }
}

static void test_length(void **state)
{
    char label[200], text[RECORD_TEXT_MAX];
    struct region_list list = {0};
    struct record r = {.policy = "nupoco", .attached = true, .profiled = true, .granted = 1024};

    (void)state;
    memset(label, 'x', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    for (uint64_t i = 1; i <= 3; i++)
        hot_name(run(&list, i, i == 1 ? 1 : 1000000), label);
    hot_note(&r, &list);
    assert_true(strlen(r.hot) < RECORD_HOT_MAX);
    assert_int_equal(strspn(r.hot, "x"), HOT_NAME_MAX - 1);
    /* It is the last entry, and goes first where there is no room. */
    for (size_t i = 0; i < RECORD_PARTNERS; i++)
        record_add_partner(&r, (uint32_t)(4000000000u + i));
    memset(r.program, 'p', sizeof(r.program) - 1);
    memset(r.follow, 'f', sizeof(r.follow) - 1);
    r.work_s = r.done_s = r.total.steps = r.core_s = r.parallel_s = 1e15;
    r.moves = r.decisions = UINT64_MAX;
    record_format(&r, "final", text);
    assert_true(strlen(text) < RECORD_TEXT_MAX);
    assert_non_null(strstr(text, " steps="));
    region_list_clear(&list);
}

UNIT(test_hot)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_length),
    };

    return cmocka_run_group_tests_name("test_hot", tests, NULL, NULL);
}
