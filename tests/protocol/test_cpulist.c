/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* CPU sets and their lists. */

#include "tests/protocol/unit.h"

#include "protocol/cpulist.h"

static void test_parse_bad(void **state)
{
    static const struct {
        const char *text;
        int errnum;
    } table[] = {
        {",", EINVAL},      {"-", EINVAL},      {"-1", EINVAL},
        {"1-", EINVAL},     {"1,", EINVAL},     {",1", EINVAL},
        {"1,,2", EINVAL},   {"3-1", EINVAL},    {"1-2-3", EINVAL},
        {"a", EINVAL},      {"1a", EINVAL},     {"0x1", EINVAL},
        {" 1", EINVAL},     {"1 ", EINVAL},     {"1, 2", EINVAL},
        {"+1", EINVAL},     {"1-+2", EINVAL},   {"1.5", EINVAL},
        {"1\n", EINVAL},    {"0-3:2", EINVAL},  {"\xff", EINVAL},
        {"1024", ERANGE},   {"0-1024", ERANGE}, {"4294967296", ERANGE},
        {"99999999999999999999999", ERANGE},
        {"0,18446744073709551616", ERANGE},
    };
    struct cosched_cpuset set, before;
    struct errtext err;

    (void)state;
    memset(&set, 0xa5, sizeof(set));
    before = set;
    for (size_t i = 0; i < COUNT(table); i++) {
        errno = 0;
        err.text[0] = '\0';
        check(cpulist_parse(table[i].text, &set, &err) == -1, table[i].text);
        check(errno == table[i].errnum, table[i].text);
        check(cpuset_equal(&set, &before), table[i].text);
        check(strchr(err.text, ':'), table[i].text);
        check(cpulist_parse(table[i].text, &set, NULL) == -1, table[i].text);
    }
    cpulist_parse("3-1", &set, &err);
    assert_string_equal(err.text, "3-1: not a CPU list like 0-3,8");
    cpulist_parse("0-1024", &set, &err);
    assert_string_equal(err.text, "0-1024: CPU numbers go from 0 to 1023");
}

static void test_parse_and_format(void **state)
{
    static const struct {
        const char *text, *formatted;
        int count;
    } table[] = {
        {"", "", 0},
        {"0", "0", 1},
        {"1023", "1023", 1},
        {"0-1023", "0-1023", 1024},
        {"0-3,8", "0-3,8", 5},
        {"8,0-3", "0-3,8", 5},
        {"0,1,2", "0-2", 3},
        {"0-2,2-4,1", "0-4", 5},
        {"63,64", "63-64", 2},
        {"63-65,127,128", "63-65,127-128", 5},
        {"007", "7", 1},
        {"5-5", "5", 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct cosched_cpuset set, again;
        char text[4096];
        check(cpulist_parse(table[i].text, &set, NULL) == 0, table[i].text);
        check(cpuset_count(&set) == table[i].count, table[i].text);
        check(cpuset_empty(&set) == (table[i].count == 0), table[i].text);
        check(strcmp(cpulist_format(&set, text, sizeof(text)),
                     table[i].formatted) == 0,
              table[i].text);
        check(cpulist_parse(text, &again, NULL) == 0, text);
        check(cpuset_equal(&set, &again), text);
    }
}

static void test_format_small(void **state)
{
    struct cosched_cpuset set;
    char text[4096];

    (void)state;
    cpulist_parse("0-3,10,20", &set, NULL);
    memset(text, 'x', sizeof(text));
    cpulist_format(&set, text, 0);
    assert_int_equal(text[0], 'x');
    assert_string_equal(cpulist_format(&set, text, 1), "");
    assert_string_equal(cpulist_format(&set, text, 4), "0-3");
    assert_string_equal(cpulist_format(&set, text, 6), "0-3");
    assert_string_equal(cpulist_format(&set, text, 7), "0-3,10");
    assert_int_equal(text[7], 'x');
    /* The longest list there is. */
    cpuset_zero(&set);
    for (int cpu = 0; cpu < COSCHED_MAX_CPUS; cpu += 2)
        cpuset_add(&set, cpu);
    struct cosched_cpuset again;
    assert_int_equal(
        cpulist_parse(cpulist_format(&set, text, sizeof(text)), &again, NULL),
        0);
    assert_true(cpuset_equal(&set, &again));
}

static void test_members(void **state)
{
    struct cosched_cpuset set;

    (void)state;
    cpuset_zero(&set);
    assert_int_equal(cpuset_next(&set, -1), -1);
    assert_false(cpuset_has(&set, -1));
    assert_false(cpuset_has(&set, COSCHED_MAX_CPUS));
    for (int cpu = 0; cpu < COSCHED_MAX_CPUS; cpu += 63)
        cpuset_add(&set, cpu);
    int seen = 0;
    for (int c = cpuset_next(&set, -1); c >= 0; c = cpuset_next(&set, c))
        assert_int_equal(c, 63 * seen++);
    assert_int_equal(seen, cpuset_count(&set));
    assert_true(cpuset_has(&set, 1008));
    cpuset_remove(&set, 1008);
    assert_false(cpuset_has(&set, 1008));
    assert_int_equal(cpuset_count(&set), seen - 1);
    assert_int_equal(cpuset_next(&set, COSCHED_MAX_CPUS - 1), -1);
}

static void test_algebra(void **state)
{
    struct cosched_cpuset a, b, c;

    (void)state;
    cpulist_parse("0-3,100", &a, NULL);
    cpulist_parse("2-5,1000", &b, NULL);
    c = a;
    cpuset_or(&c, &b);
    assert_int_equal(cpuset_count(&c), 8);
    assert_true(cpuset_subset(&a, &c) && cpuset_subset(&b, &c));
    assert_false(cpuset_subset(&c, &a));
    c = a;
    cpuset_and(&c, &b);
    assert_int_equal(cpuset_count(&c), 2);
    assert_true(cpuset_has(&c, 2) && cpuset_has(&c, 3));
    assert_true(cpuset_intersects(&a, &b));
    c = a;
    cpuset_andnot(&c, &b);
    assert_int_equal(cpuset_count(&c), 3);
    assert_false(cpuset_intersects(&c, &b));
    assert_false(cpuset_equal(&a, &b));
    cpuset_zero(&b);
    assert_true(cpuset_subset(&b, &a) && cpuset_subset(&b, &b));
    assert_false(cpuset_intersects(&a, &b));
}

static void test_affinity(void **state)
{
    struct cosched_cpuset own, one, got, none;

    (void)state;
    assert_int_equal(cpuset_get_affinity(0, &own), 0);
    assert_false(cpuset_empty(&own));
    cpuset_zero(&none);
    errno = 0;
    assert_int_equal(cpuset_set_affinity(0, &none), -1);
    assert_int_equal(errno, EINVAL);
    cpuset_zero(&one);
    cpuset_add(&one, cpuset_next(&own, -1));
    assert_int_equal(cpuset_set_affinity(0, &one), 0);
    assert_int_equal(cpuset_get_affinity(0, &got), 0);
    assert_true(cpuset_equal(&got, &one));
    assert_int_equal(cpuset_set_affinity(0, &own), 0);
    errno = 0;
    assert_int_equal(cpuset_get_affinity(-2, &got), -1);
    assert_true(errno == EINVAL || errno == ESRCH);
}

UNIT(test_cpulist)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_bad),
        cmocka_unit_test(test_parse_and_format),
        cmocka_unit_test(test_format_small),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_algebra),
        cmocka_unit_test(test_affinity),
    };

    return cmocka_run_group_tests_name("test_cpulist", tests, NULL, NULL);
}
