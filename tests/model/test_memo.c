/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Numbers of layouts, against a list that is searched from end to end. */

#include "tests/model/near.h"

#include <string.h>

#include "model/policy/search/memo.h"

#define CELLS 6
#define LAYOUTS 50

struct list {
    size_t layout[LAYOUTS][CELLS];
    size_t count;
};

/* Ask both for COUNTS[cells]. */
static void ask(struct memo *memo, struct list *list, const size_t *counts,
                size_t cells)
{
    size_t expected = 0;
    bool known;

    if (list->count == LAYOUTS) /* full: begins anew */
        list->count = 0;
    while (expected < list->count &&
           memcmp(list->layout[expected], counts, cells * sizeof(*counts)))
        expected++;
    assert_int_equal(memo_number(memo, counts, &known), expected);
    assert_int_equal(known, expected < list->count);
    if (!known)
        memcpy(list->layout[list->count++], counts, cells * sizeof(*counts));
}

static void test_random(void **state)
{
    struct memo *memo = memo_new(CELLS, LAYOUTS);
    struct dice dice = {3};

    (void)state;
    for (size_t round = 0; round < 60; round++) {
        struct list list = {.count = 0};
        size_t cells = dice_range(&dice, 1, CELLS), most = round % 5 + 1;
        memo_forget(memo, cells);
        for (size_t n = 0; n < 400; n++) {
            size_t counts[CELLS];
            for (size_t c = 0; c < cells; c++)
                counts[c] = dice_range(&dice, 0, most);
            ask(memo, &list, counts, cells);
        }
    }
    memo_free(memo);
}

/* All values that a cell may have are told apart. */
static void test_values(void **state)
{
    struct memo *memo = memo_new(1, UINT16_MAX + 1);
    bool known;

    (void)state;
    for (size_t round = 0; round < 2; round++)
        for (size_t value = 0; value < UINT16_MAX; value++) {
            assert_int_equal(memo_number(memo, &value, &known), value);
            assert_int_equal(known, round);
        }
    memo_free(memo);
    memo_free(NULL);
}

UNIT(test_memo)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests_name("test_memo", tests, NULL, NULL);
}
