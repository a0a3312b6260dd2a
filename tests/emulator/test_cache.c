/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Private caches and LLCs. */

#include "tests/support/unit.h"

#include "emulator/plugin/cache.h"

static uint64_t generator = 88172645463325252u;

static void a_private_cache_passes_on_what_it_has_not(void **state)
{
    struct private_cache c;

    (void)state;
    assert_int_equal(private_init(&c, 512), 0);
    assert_true(private_misses(&c, 0, false));
    assert_false(private_misses(&c, 0, false));
    assert_true(private_misses(&c, 0, true)); /* the first store */
    assert_false(private_misses(&c, 0, true));
    assert_false(private_misses(&c, 0, false));
    assert_true(private_misses(&c, 512, false)); /* the same entry */
    assert_true(private_misses(&c, 0, false));
    assert_true(private_misses(&c, 1, true));
    assert_false(private_misses(&c, 1, false));
    cache_forget(&c);
    assert_true(private_misses(&c, 1, false));
    free(c.entry);
}

static unsigned misses(struct llc *c, unsigned domain, uint64_t first, unsigned count, bool write)
{
    unsigned n = 0;

    for (uint64_t line = first; line < first + count; line++)
        n += llc_access(c, domain, line, write, &generator).miss;
    return n;
}

static void an_llc_keeps_what_fits(void **state)
{
    struct llc c;

    (void)state;
    assert_int_equal(llc_init(&c, 2, 4096, 1), 0);
    assert_int_equal(misses(&c, 0, 1000, 1024, false), 1024);
    assert_int_equal(misses(&c, 0, 1000, 1024, false), 0);
    assert_int_equal(misses(&c, 1, 1000, 1024, false), 1024); /* each its own */
    /* A stream of 8 times its size: nearly all miss, again and again. */
    misses(&c, 0, 1 << 20, 32768, false);
    assert_in_range(misses(&c, 0, 1 << 20, 32768, false), 32768 * 98 / 100, 32768);
    free((void *)c.entry);
}

static void changed_lines_are_written_back_once(void **state)
{
    struct llc c;
    unsigned written = 0;

    (void)state;
    assert_int_equal(llc_init(&c, 1, 1024, 1), 0);
    misses(&c, 0, 0, 500, true);
    misses(&c, 0, 0, 500, true);
    for (uint64_t line = 0; line < 100000; line++) {
        struct llc_result r = llc_access(&c, 0, 4096 + line, false, &generator);
        written += r.write_back;
        assert_true(!r.write_back || r.victim < 500);
    }
    assert_int_equal(written, 500);
    free((void *)c.entry);
}

static void a_write_takes_the_line_from_others(void **state)
{
    struct llc c;

    (void)state;
    assert_int_equal(llc_init(&c, 3, 1024, 1), 0);
    misses(&c, 0, 7, 1, false);
    misses(&c, 1, 7, 1, false);
    assert_true(llc_access(&c, 2, 7, true, &generator).miss);
    assert_false(llc_access(&c, 2, 7, true, &generator).miss);
    assert_true(llc_access(&c, 0, 7, false, &generator).miss);
    assert_true(llc_access(&c, 1, 7, false, &generator).miss);
    free((void *)c.entry);
}

static void without_an_llc_all_goes_to_memory(void **state)
{
    struct llc c;

    (void)state;
    assert_int_equal(llc_init(&c, 1, 0, 1), 0);
    assert_true(llc_access(&c, 0, 7, true, &generator).miss);
    assert_true(llc_access(&c, 0, 7, true, &generator).write_back);
    free((void *)c.entry);
}

/* One line of `sample` is followed, also of columns of a matrix. */
static void the_sample_is_fair(void **state)
{
    (void)state;
    for (uint64_t stride = 1; stride <= 4096; stride *= 2) {
        unsigned followed = 0;
        for (uint64_t i = 0; i < 65536; i++)
            followed += cache_follows(0x7f0000 + i * stride, 8);
        assert_in_range(followed, 8192 * 95 / 100, 8192 * 105 / 100);
    }
}

UNIT(test_cache)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_private_cache_passes_on_what_it_has_not),
        cmocka_unit_test(an_llc_keeps_what_fits),
        cmocka_unit_test(changed_lines_are_written_back_once),
        cmocka_unit_test(a_write_takes_the_line_from_others),
        cmocka_unit_test(without_an_llc_all_goes_to_memory),
        cmocka_unit_test(the_sample_is_fair),
    };

    return cmocka_run_group_tests_name("test_cache", tests, NULL, NULL);
}
