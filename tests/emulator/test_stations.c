/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Waiting at memory controllers and links. */

#include "tests/support/unit.h"

#include "emulator/plugin/stations.h"

#define QUANTUM_NS 20000

static struct settings settings;
static struct stations stations;
static double backlog_ns[EMULATED_CPUS];

/* 8 CPUs, two LLC domains and NUMA nodes, a link of both directions: 16
 * lines/us, the link 8. */
static void machine(void)
{
    settings = (struct settings){
        .quantum_ns = QUANTUM_NS, .overlap = 16, .cpus = 8, .nodes = 2, .domains = 2, .links = 1};
    for (unsigned n = 0; n < 2; n++) {
        settings.node[n] = (struct station_settings){.read_us = 1. / 16, .write_us = 1. / 32};
        settings.domain[n].node = n;
        settings.domain[n].route_length[1 - n] = 1;
    }
    settings.link[0] = (struct station_settings){.read_us = 1. / 8, .write_us = 1. / 8};
    for (unsigned c = 0; c < 8; c++)
        settings.cpu_domain[c] = c / 4;
    stations_init(&stations, &settings);
    memset(backlog_ns, 0, sizeof(backlog_ns));
}

/* One quantum of a CPU that does one read of NODE, and WRITES, per THINK ns. */
static struct station_use use(unsigned cpu, unsigned node, double think, double writes)
{
    double each = think + stations.wait_ns[settings.cpu_domain[cpu]][node];
    double reads = (double)(long)((QUANTUM_NS + backlog_ns[cpu]) / each);
    struct station_use u = {.active_ns = QUANTUM_NS};

    backlog_ns[cpu] += QUANTUM_NS - reads * each;
    u.reads[node] = reads;
    u.writes[node] = reads * writes;
    return u;
}

/* Lines per us that CPUs first..last read from NODE in 1000 quanta, after 100.
 */
static double rate(unsigned first, unsigned last, unsigned node, double think, double writes)
{
    double reads = 0;

    machine();
    for (int i = 0; i < 1100; i++) {
        struct station_use all[8] = {0};
        for (unsigned c = first; c <= last; c++) {
            all[c] = use(c, node, think, writes);
            reads += i < 100 ? 0 : all[c].reads[node];
        }
        stations_solve(&stations, all);
    }
    return reads / 1000 / (QUANTUM_NS / 1e3);
}

static void near(double is, double should, double part)
{
    if (!(is > should * (1 - part) && is < should * (1 + part)))
        fail_msg("%g is not %g", is, should);
}

static void a_lone_cpu_does_not_wait(void **state)
{
    (void)state;
    near(rate(0, 0, 0, 1000, 0), 1, 0.01);
    near(rate(0, 0, 0, 200, 0), 5, 0.01);
}

static void a_controller_saturates(void **state)
{
    (void)state;
    near(rate(0, 7, 0, 1000, 0), 8, 0.02); /* half loaded */
    near(rate(4, 7, 1, 125, 0), 16, 0.04); /* twice what there is */
    near(rate(4, 7, 1, 50, 0), 16, 0.02);
    assert_true(rate(4, 7, 1, 50, 0) <= 16.01);
}

static void writes_take_service_and_time(void **state)
{
    (void)state;
    /* 1/16 and half of 1/32 per read */
    near(rate(0, 3, 0, 50, 0.5), 12.8, 0.02);
}

static void a_link_saturates(void **state)
{
    (void)state;
    near(rate(0, 3, 1, 50, 0), 8, 0.02);
    assert_true(stations.at[2].wait_ns > stations.at[1].wait_ns);
    assert_true(stations.at[0].busy_ns == 0);
}

/* Two share a node: each gets what a queue in common leaves it. */
static void the_fast_wait_as_long_as_the_slow(void **state)
{
    double reads[2] = {0};

    (void)state;
    machine();
    for (int i = 0; i < 2000; i++) {
        struct station_use all[8] = {0};
        for (unsigned c = 0; c < 4; c++) {
            all[c] = use(c, 0, c < 2 ? 50 : 400, 0);
            reads[c / 2] += i < 100 ? 0 : all[c].reads[0];
        }
        stations_solve(&stations, all);
    }
    double wait = stations.at[0].wait_ns;
    near((reads[0] + reads[1]) / 1900 / (QUANTUM_NS / 1e3), 16, 0.03);
    near(reads[0] / reads[1], (400 + wait) / (50 + wait), 0.02);
}

/* CPUs that come and go each quantum: never more than there is, over a longer
 * time. */
static void bursts_are_paid_back(void **state)
{
    double reads = 0;

    (void)state;
    machine();
    for (int i = 0; i < 4000; i++) {
        struct station_use all[8] = {0};
        for (unsigned c = 0; c < 4 && i / 8 % 2; c++) {
            backlog_ns[c] = 0;
            all[c] = use(c, 0, 100, 0);
            reads += all[c].reads[0];
        }
        stations_solve(&stations, all);
    }
    assert_true(reads / 4000 / (QUANTUM_NS / 1e3) < 16);
    assert_int_equal((int)(stations.at[0].busy_ns / 1e3), (int)(reads / 16));
}

/* Four CPUs read one node and write lines of the other one back, three times what it and the link
 * can take; a fifth reads a line there now and then: not for seconds. */
static void writes_alone_stop_nobody(void **state)
{
    double longest = 5 * (1e3 / 16 + 1e3 / 32) / 0.25, link = 5 * (1e3 / 8 + 1e3 / 8) / 0.25;

    (void)state;
    machine();
    for (int i = 0; i < 1000; i++) {
        struct station_use all[8] = {0};
        for (unsigned c = 0; c < 5; c++)
            all[c].active_ns = QUANTUM_NS;
        for (unsigned c = 0; c < 4; c++) {
            all[c].reads[0] = 40;
            all[c].writes[1] = 480;
        }
        all[4].reads[1] = i % 100 == 0;
        stations_solve(&stations, all);
        assert_true(stations.at[1].wait_ns < longest * 1.01);
        assert_true(stations.at[2].wait_ns < link * 1.01);
    }
    assert_true(stations.at[1].wait_ns > longest / 5); /* but for its turn */
}

UNIT(test_stations)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_cpu_does_not_wait),
        cmocka_unit_test(a_controller_saturates),
        cmocka_unit_test(writes_take_service_and_time),
        cmocka_unit_test(a_link_saturates),
        cmocka_unit_test(the_fast_wait_as_long_as_the_slow),
        cmocka_unit_test(bursts_are_paid_back),
        cmocka_unit_test(writes_alone_stop_nobody),
    };

    return cmocka_run_group_tests_name("test_stations", tests, NULL, NULL);
}
