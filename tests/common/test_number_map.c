/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* number_map: what was put is found, what was removed is not, at a constant
 * cost. */

#include "tests/protocol/unit.h"

#include "common/number_map.h"

#define MANY 50000

static int values[MANY];

static void test_empty(void **state)
{
    struct number_map m = {0};

    (void)state;
    assert_null(number_map_find(&m, 1));
    number_map_remove(&m, 1);
    number_map_clear(&m);
    assert_int_equal(m.count, 0);
}

/* Any order of putting and removing, against an array. */
static void test_against_array(void **state)
{
    struct number_map m = {0};
    int *known[512] = {NULL};
    uint32_t dice = 1;
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        dice = dice * 1664525 + 1013904223;
        uint32_t n = (dice >> 12) % 511 + 1;
        if (dice >> 31) {
            count += !known[n];
            known[n] = &values[i % MANY];
            assert_int_equal(number_map_put(&m, n, known[n]), 0);
        } else {
            count -= known[n] != NULL;
            known[n] = NULL;
            number_map_remove(&m, n);
        }
        assert_int_equal(m.count, count);
        n = (dice >> 3) % 511 + 1;
        assert_ptr_equal(number_map_find(&m, n), known[n]);
    }
    for (uint32_t n = 1; n < 512; n++)
        assert_ptr_equal(number_map_find(&m, n), known[n]);
    number_map_clear(&m);
    assert_null(number_map_find(&m, 5));
}

/* Process ids as the kernel gives them out, and with a stride. */
static void test_cost(void **state)
{
    (void)state;
    for (uint64_t stride = 1; stride <= 4096; stride *= 64) {
        struct number_map m = {0};
        for (uint64_t i = 1; i <= MANY; i++)
            assert_int_equal(number_map_put(&m, i * stride, values), 0);
        m.compared = 0;
        for (uint64_t i = 1; i <= 2 * MANY; i++)
            assert_int_equal(number_map_find(&m, i * stride) != NULL,
                             i <= MANY);
        assert_true(m.compared < 4 * 2 * MANY);
        m.compared = 0;
        for (uint64_t i = 1; i <= MANY; i++)
            number_map_remove(&m, i * stride);
        assert_int_equal(m.count, 0);
        assert_true(m.compared < 8 * MANY);
        number_map_clear(&m);
    }
}

UNIT(test_number_map)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_against_array),
        cmocka_unit_test(test_cost),
    };

    return cmocka_run_group_tests_name("test_number_map", tests, NULL, NULL);
}
