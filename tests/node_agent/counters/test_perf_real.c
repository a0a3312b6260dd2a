/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The perf backend against the kernel that is here. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/counters/perf.h"
#include "tests/node_agent/counters/fake_node.h"
#include "tests/support/uniform_machine.h"

#define CPUS 8

static int setup(void **state)
{
    struct fake_node *n = calloc(1, sizeof(*n));

    fake_node_init(n, machine_new_uniform(2, CPUS / 2, 2), 1);
    n->setup.procfs = n->tree->root;
    n->cpus = (struct cosched_cpuset){{1}}; /* CPU 0, which everybody has */
    *state = n;
    return 0;
}

static int teardown(void **state)
{
    fake_node_clear(*state, &counters_perf);
    free(*state);
    return 0;
}

/* It opens, and says what it counts with; or it says why not. */
static void test_this_machine(void **state)
{
    struct fake_node *n = *state;
    struct errtext err = {""};

    n->setup.sysfs = "/sys";
    n->setup.procfs = "/proc";
    if (counters_perf.open(&n->setup, &n->state, &err) < 0) {
        assert_int_equal(strncmp(err.text, "perf: ", 6), 0);
        assert_null(n->state);
        return;
    }
    struct counters_ability ability[COUNTERS_METRICS] = {{0}};
    counters_perf.describe(n->state, ability);
    for (size_t m = 0; m < COUNTERS_METRICS; m++)
        assert_true(m == COUNTERS_WORK || ability[m].why[0]);
}

static int software_open(void *arg, struct perf_event_attr *attr, int cpu,
                         int group)
{
    (void)arg;
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_CPU_CLOCK;
    return perf_kernel.open(NULL, attr, cpu, group);
}

/* The real system calls, with events that every kernel has. */
static void test_real_calls(void **state)
{
    static struct perf_source source; /* outlives the test's state */
    struct fake_node *n = *state;
    struct errtext err = {""};
    int tries = 0;

    source = (struct perf_source){software_open, perf_kernel.read,
                                  perf_kernel.close, NULL};
    if (perf_open(&source, &n->setup, &n->state, &err) < 0) {
        print_message("skipped: %s\n", err.text); /* not permitted here */
        skip();
    }
    do { /* the clock of CPU 0 goes on, whatever runs there */
        usleep(1000);
        sample_clear(n->sample);
        assert_int_equal(perf_sample(n->state, n->sample, &err), 0);
    } while (!(n->sample->cpu[0].cycles > 0) && ++tries < 1000);
    assert_true(n->sample->cpu[0].cycles > 0);
    assert_true(n->sample->cpu[0].read_misses > 0);
    assert_true(isnan(n->sample->cpu[1].cycles));
}

UNIT(test_perf_real)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_this_machine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_real_calls, setup, teardown),
    };

    return cmocka_run_group_tests_name("test_perf_real", tests, NULL, NULL);
}
