/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Entries of ours in the user's lists. */

#include "tests/support/unit.h"

#include "protocol/job_library.h"

#define D       "/lib/c"
#define AUDIT   D "/coschedule-audit.so"
#define TLS     "glibc.rtld.optional_static_tls=2048"
#define FREERES "--run-libc-freeres=no"
#define PATH    D "/before-2.35"

static const struct {
    size_t variable;
    const char *without, *with;
} table[] = {
    {0, "", AUDIT},
    {0, "/a.so", "/a.so:" AUDIT},
    {0, "/a.so:/b.so", "/a.so:/b.so:" AUDIT},
    {0, D "/coschedule-audit.so.1", D "/coschedule-audit.so.1:" AUDIT},
    {1, "", PATH},
    {1, "/a", PATH ":/a"},
    {1, D, PATH ":" D}, /* the directory itself is the user's own affair */
    {2, "", FREERES},
    {3, "glibc.malloc.check=1", TLS ":glibc.malloc.check=1"},
    {2, "-q --run-libc-freeres=yes", FREERES " -q --run-libc-freeres=yes"},
    {1, "/lib/cc/before-2.35:/a", PATH ":/lib/cc/before-2.35:/a"},
};

#define ROWS (sizeof(table) / sizeof(table[0]))

static void job_library__adds_and_removes_one_entry(void **state)
{
    char result[128];

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        size_t v = table[i].variable;
        const char *without = table[i].without, *with = table[i].with;
        assert_int_equal(job_library_value(v, D, without, true, result, 128),
                         0);
        assert_string_equal(result, with);
        assert_int_equal(job_library_value(v, D, with, false, result, 128), 0);
        assert_string_equal(result, without);
        assert_int_equal(job_library_value(v, D, with, true, result, 128), 1);
        assert_int_equal(job_library_value(v, D, without, false, result, 128),
                         1);
    }
    assert_int_equal(job_library_value(0, D, NULL, true, result, 128), 0);
    assert_string_equal(result, AUDIT);
}

static void job_library__removes_wherever_it_is(void **state)
{
    static const struct {
        const char *with, *without;
    } places[] = {
        {AUDIT ":/a", "/a"},
        {"/a:" AUDIT ":/b", "/a:/b"},
        {"/a:" AUDIT, "/a"},
    };
    char result[128];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            job_library_value(0, D, places[i].with, false, result, 128), 0);
        assert_string_equal(result, places[i].without);
    }
}

static void job_library__too_long(void **state)
{
    char result[sizeof(AUDIT)];

    (void)state;
    assert_int_equal(job_library_value(0, D, "", true, result, sizeof(AUDIT)),
                     0);
    errno = 0;
    assert_int_equal(
        job_library_value(0, D, "", true, result, sizeof(AUDIT) - 1), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

UNIT(test_job_library)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_library__adds_and_removes_one_entry),
        cmocka_unit_test(job_library__removes_wherever_it_is),
        cmocka_unit_test(job_library__too_long),
    };

    return cmocka_run_group_tests_name("test_job_library", tests, NULL, NULL);
}
