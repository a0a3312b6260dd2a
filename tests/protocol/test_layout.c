/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The byte layout of version 1, member by member.  A change here is a change of
 * COSCHED_LAYOUT_VERSION. */

#include "tests/protocol/unit.h"

#include "protocol/layout.h"

struct member {
    const char *name;
    size_t offset, size, want_offset, want_size;
};

#define MEMBER(type, name, offset, size)                                       \
    {#name, offsetof(struct type, name), sizeof(((struct type *)0)->name),     \
     offset, size}

static void compare(const struct member *table, size_t count, size_t total)
{
    size_t end = 0;

    for (size_t i = 0; i < count; i++) {
        check(table[i].offset == table[i].want_offset, table[i].name);
        check(table[i].size == table[i].want_size, table[i].name);
        /* No byte that neither side has written. */
        check(table[i].offset == end, table[i].name);
        end = table[i].offset + table[i].size;
    }
    assert_int_equal(end, total);
}

static void test_allotment(void **state)
{
    static const struct member table[] = {
        MEMBER(cosched_allotment, magic, 0, 4),
        MEMBER(cosched_allotment, version, 4, 4),
        MEMBER(cosched_allotment, size, 8, 4),
        MEMBER(cosched_allotment, generation, 12, 4),
        MEMBER(cosched_allotment, heartbeat_ns, 16, 8),
        MEMBER(cosched_allotment, lease_ns, 24, 8),
        MEMBER(cosched_allotment, flags, 32, 4),
        MEMBER(cosched_allotment, llc_domains, 36, 4),
        MEMBER(cosched_allotment, changed_ns, 40, 8),
        MEMBER(cosched_allotment, near_share, 48, 4),
        MEMBER(cosched_allotment, grows, 52, 4),
        MEMBER(cosched_allotment, pad, 56, 8),
        MEMBER(cosched_allotment, cpus, 64, 128),
        MEMBER(cosched_allotment, granted, 192, 128),
        MEMBER(cosched_allotment, llc_domain, 320, 2048),
    };

    (void)state;
    compare(table, COUNT(table), sizeof(struct cosched_allotment));
    assert_int_equal(sizeof(struct cosched_allotment), 2368);
}

static void test_report(void **state)
{
    static const struct member table[] = {
        MEMBER(cosched_report, magic, 0, 4),
        MEMBER(cosched_report, version, 4, 4),
        MEMBER(cosched_report, size, 8, 4),
        MEMBER(cosched_report, pid, 12, 4),
        MEMBER(cosched_report, mode, 16, 4),
        MEMBER(cosched_report, team, 20, 4),
        MEMBER(cosched_report, region, 24, 4),
        MEMBER(cosched_report, regions_used, 28, 4),
        MEMBER(cosched_report, region_begin_ns, 32, 8),
        MEMBER(cosched_report, applied_generation, 40, 4),
        MEMBER(cosched_report, workers, 44, 4),
        MEMBER(cosched_report, applied_ns, 48, 8),
        MEMBER(cosched_report, extra_workers, 56, 8),
        MEMBER(cosched_report, steals, 64, 8),
        MEMBER(cosched_report, preempted, 72, 8),
        MEMBER(cosched_report, interleaved, 80, 4),
        MEMBER(cosched_report, pad, 84, 44),
        MEMBER(cosched_report, regions, 128, 64 * 256),
    };

    (void)state;
    compare(table, COUNT(table), sizeof(struct cosched_report));
}

static void test_region(void **state)
{
    static const struct member table[] = {
        MEMBER(cosched_region, object_id, 0, 8),
        MEMBER(cosched_region, offset, 8, 8),
        MEMBER(cosched_region, entries, 16, 8),
        MEMBER(cosched_region, time_ns, 24, 8),
        MEMBER(cosched_region, barriers, 32, 8),
        MEMBER(cosched_region, iterations, 40, 8),
        MEMBER(cosched_region, ults, 48, 8),
        MEMBER(cosched_region, idle_ns, 56, 8),
    };

    (void)state;
    compare(table, COUNT(table), 64);
}

static void test_constants(void **state)
{
    (void)state;
    assert_int_equal(COSCHED_LAYOUT_VERSION, 1);
    assert_int_equal(COSCHED_MODE_NONE, 0);
    assert_int_equal(COSCHED_MODE_DONOR, 1);
    assert_int_equal(COSCHED_MODE_ULT, 2);
    assert_int_equal(COSCHED_MODE_KTHREAD, 3);
    assert_int_equal(COSCHED_REGION_OVERFLOW, 255);
    assert_true(COSCHED_REGION_SERIAL == UINT32_MAX);
    assert_int_equal(COSCHED_ALLOTMENT_PARKED, 1);
    /* As a hex dump of the pages shows them on a little-endian machine. */
    assert_int_equal(COSCHED_ALLOTMENT_MAGIC,
                     'C' | 'o' << 8 | 'A' << 16 | '1' << 24);
    assert_int_equal(COSCHED_REPORT_MAGIC,
                     'C' | 'o' << 8 | 'R' << 16 | '1' << 24);
}

UNIT(test_layout)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allotment),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_region),
        cmocka_unit_test(test_constants),
    };

    return cmocka_run_group_tests_name("test_layout", tests, NULL, NULL);
}
