/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Events from sysfs: terms, formats, scales, and descriptions that make no
 * sense. */

#include "tests/support/unit.h"

#include "node_agent/counters/perf_sysfs.h"
#include "protocol/cpulist.h"
#include "tests/support/tree.h"

static int setup(void **state)
{
    struct tree *t = tree_new();

    *state = t;
    tree_write(t, "bus/event_source/devices/uncore_imc_0/type", "24\n");
    tree_write(t, "bus/event_source/devices/uncore_imc_0/cpumask", "0,8\n");
    tree_write(t, "bus/event_source/devices/uncore_imc_0/format/event",
               "config:0-7\n");
    tree_write(t, "bus/event_source/devices/uncore_imc_0/format/umask",
               "config:8-15\n");
    tree_write(t, "bus/event_source/devices/uncore_imc_0/format/split",
               "config1:0-3,32-35\n");
    tree_write(t, "bus/event_source/devices/uncore_imc_0/format/flag",
               "config2:63\n");
    return 0;
}

static int teardown(void **state)
{
    tree_free(*state);
    return 0;
}

static void event(struct tree *t, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "bus/event_source/devices/uncore_imc_0/events/%s",
             name);
    tree_write(t, path, text);
}

static void test_events(void **state)
{
    struct tree *t = *state;
    struct perf_pmu_event e;

    event(t, "cas_count_read", "event=0x04,umask=0x03\n");
    event(t, "strange", "event=255,split=0xa5,flag\n");
    assert_int_equal(perf_sysfs_event(t->root, "uncore_imc_0", "cas_count_read",
                                      &e, NULL),
                     0);
    assert_int_equal(e.type, 24);
    assert_int_equal(e.config[0], 0x304);
    assert_int_equal(
        perf_sysfs_event(t->root, "uncore_imc_0", "strange", &e, NULL), 0);
    assert_int_equal(e.config[0], 0xff);
    assert_int_equal(e.config[1], UINT64_C(0xa00000005));
    assert_true(e.config[2] == UINT64_C(1) << 63);
    assert_int_equal(perf_sysfs_terms(t->root, "uncore_imc_0", "event=0x04,flag", &e, NULL), 0);
    assert_int_equal(e.type, 24);
    assert_int_equal(e.config[0], 4);
    assert_true(e.config[2] == UINT64_C(1) << 63);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *name, *text;
    } bad[] = {
        {"unknown-term", "event=4,colour=3\n"},
        {"no-number", "event=four\n"},
        {"trailing", "event=4x\n"},
        {"too-large", "event=0x100\n"},
        {"escape", "../type=1\n"},
    };
    struct tree *t = *state;
    struct perf_pmu_event e;
    struct errtext err;

    assert_int_equal(perf_sysfs_event(t->root, "nothing", "x", &e, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(perf_sysfs_terms(t->root, "uncore_imc_0", "event=4,colour", &e, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(perf_sysfs_event(t->root, "uncore_imc_0", "x", &e, &err),
                     -1);
    assert_int_equal(errno, ENOENT);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        event(t, bad[i].name, bad[i].text);
        assert_int_equal(perf_sysfs_event(t->root, "uncore_imc_0", bad[i].name,
                                          &e, &err),
                         -1);
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(err.text, bad[i].name));
    }
}

static void note(void *arg, const char *pmu)
{
    strcat(arg, pmu);
    strcat(arg, " ");
}

static void test_list(void **state)
{
    struct tree *t = *state;
    struct cosched_cpuset cpus = {{0}};
    char names[256] = "";

    tree_write(t, "bus/event_source/devices/uncore_imc_10/type", "30\n");
    tree_write(t, "bus/event_source/devices/uncore_imc_2/type", "31\n");
    tree_write(t, "bus/event_source/devices/power/type", "9\n");
    assert_int_equal(perf_sysfs_list(t->root, "uncore_imc", note, names), 3);
    assert_string_equal(names, "uncore_imc_0 uncore_imc_2 uncore_imc_10 ");
    assert_int_equal(perf_sysfs_cpus(t->root, "uncore_imc_0", &cpus), 0);
    assert_true(cpus.word[0] == 0x101);
    assert_int_equal(perf_sysfs_cpus(t->root, "power", &cpus), -1);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_perf_sysfs)
{
    const struct CMUnitTest tests[] = {T(test_events), T(test_refusals),
                                       T(test_list)};

    return cmocka_run_group_tests_name("test_perf_sysfs", tests, NULL, NULL);
}
