/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The file of settings: what is refused, and how; where addresses are. */

#include "tests/support/unit.h"

#include "emulator/plugin/settings.h"

static struct settings settings;
static char error[256];

static int read_text(const char *text)
{
    char path[] = "/tmp/settings.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    *error = '\0';
    int result = settings_read(&settings, path, error, sizeof(error));
    unlink(path);
    return result;
}

#define GOOD                                                                                       \
    "page /dev/shm/x # counters\nnode 512 100 0.06 0.05\nnode "                         \
    "1024 100.5 0.06 0.05\n"                                                                       \
    "domain 0-1,3 0\ndomain 2 1\n\nlink 50 0.02 0.01\nroute 0 1 0\nmhz 100\n"

static void a_good_file(void **state)
{
    (void)state;
    assert_int_equal(read_text(GOOD), 0);
    assert_string_equal(settings.page, "/dev/shm/x");
    assert_int_equal(settings.mhz, 100);
    assert_int_equal(settings.quantum_ns, 20000);
    assert_int_equal(settings.cpus, 4);
    assert_int_equal(settings.cpu_domain[3], 0);
    assert_int_equal(settings.cpu_domain[2], 1);
    assert_int_equal(settings.domain[0].route_length[1], 1);
    assert_int_equal(settings.domain[1].route_length[0], 0);
    assert_true(settings.node[1].latency_ns == 100.5);
}

static void bad_files(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        {"", "no NUMA node, or no LLC domain"},
        {GOOD "speed 3\n", "speed: unknown"},
        {GOOD "mhz\n", "mhz: 0 words follow"},
        {GOOD "mhz 0\n", "0: not a number from 1 to 100000"},
        {GOOD "mhz -3\n", "-3: not a number"},
        {GOOD "mhz 3x\n", "3x: not a number"},
        {GOOD "sample 3\n", "sample and private_kib are powers of two"},
        {GOOD "private_kib 33\n", "sample and private_kib are powers of two"},
        {GOOD "link nan 1 1\n", "nan: not a number"},
        {GOOD "node 1 2 3\n", "node: 3 words follow"},
        {GOOD "node 1 2 0 3\n", "0: not a number from 1e-06"},
        {GOOD "domain 3-5 0\n", "CPU 3 is in two LLC domains"},
        {GOOD "domain 5-4 0\n", "4: not a number from 5 to 127"},
        {GOOD "domain 128 0\n", "128: not a number from 0 to 127"},
        {GOOD "domain 5 0\n", "CPU 4 is in no LLC domain"},
        {GOOD "domain 4 2\n", "LLC domain 2: no NUMA node 2"},
        {GOOD "route 1 0 1\n", "1: not a number from 0 to 0"},
        {GOOD "route 0 1 0\n", "a second route from LLC domain 0 to NUMA node 1"},
        {"route 0 0 0\n", "a route before what it joins"},
        {"node 1 1 1 1\ndomain 0 0\n", "no page of counters"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(read_text(bad[i].text), -1);
        if (!strstr(error, bad[i].says))
            fail_msg("%s: %s", bad[i].says, error);
    }
    assert_int_equal(settings_read(&settings, "/nowhere/x", error, sizeof(error)), -1);
    assert_string_equal(error, "/nowhere/x: No such file or directory");
}

static void nodes_of_addresses(void **state)
{
    const uint64_t mib = 1 << 20;

    (void)state;
    assert_int_equal(read_text(GOOD), 0);
    assert_int_equal(settings_node_of(&settings, 512 * mib - 1), 0);
    assert_int_equal(settings_node_of(&settings, 512 * mib), 1);
    assert_int_equal(settings_node_of(&settings, 1 << 30), 1);
    /* More than fits below 4 GiB: the hole of q35 from 2 GiB on. */
    settings.mib[0] = 1536;
    settings.mib[1] = 2048;
    assert_int_equal(settings_node_of(&settings, 1536 * mib), 1);
    assert_int_equal(settings_node_of(&settings, 4096 * mib), 1);
    settings.mib[0] = 3072;
    assert_int_equal(settings_node_of(&settings, 5119 * mib), 0);
    assert_int_equal(settings_node_of(&settings, 5120 * mib), 1);
}

UNIT(test_settings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(nodes_of_addresses),
    };

    return cmocka_run_group_tests_name("test_settings", tests, NULL, NULL);
}
