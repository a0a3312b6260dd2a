/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A whole machine as one closed network. */

#include "tests/model/near.h"

#include <stdlib.h>

#include "model/analysis/closed.h"
#include "tests/support/uniform_machine.h"

struct world {
    struct machine *machine;
    struct workload *a, *b;
    const struct workload *profile[2];
    size_t cores[16];
    struct system_input input;
};

/* LLC_DOMAINS of 4 cores, two NUMA nodes, and jobs of rho 0.2 and 0.02. */
static void setup(struct world *w, size_t llc_domains, size_t numa_nodes)
{
    *w = (struct world){.machine =
                            machine_new_uniform(llc_domains, 4, numa_nodes)};
    w->a = workload_new_rho(numa_nodes, 0.2, MACHINE_DEFAULT_SERVICE_US);
    w->b = workload_new_rho(numa_nodes, 0.02, MACHINE_DEFAULT_SERVICE_US);
    assert_true(w->machine && w->a && w->b);
    w->profile[0] = w->a;
    w->profile[1] = w->b;
    for (size_t i = 0; i < 2 * llc_domains; i++)
        w->cores[i] = 2;
    w->input = (struct system_input){.machine = w->machine,
                                     .jobs = 2,
                                     .profile = w->profile,
                                     .cores = w->cores};
}

static void teardown(struct world *w)
{
    machine_free(w->machine);
    workload_free(w->a);
    workload_free(w->b);
}

/* One controller: exact multi-class MVA is the solution, wherever the cores
 * are. */
static void test_one_controller(void **state)
{
    (void)state;
    for (size_t nodes = 1; nodes <= 4; nodes += 3) {
        struct world w;
        double speed[2], utilisation, response[4];
        struct closed_result result = {speed, &utilisation, response};
        struct mva_result exact[2];

        setup(&w, nodes, 1);
        struct mva_class classes[] = {{2 * nodes, w.a->rate[0].read_per_us},
                                      {2 * nodes, w.b->rate[0].read_per_us}};
        assert_int_equal(mva_solve(MVA_EXACT, classes, 2,
                                   MACHINE_DEFAULT_SERVICE_US, exact),
                         MODEL_OK);
        assert_int_equal(closed_solve(NETWORK_LINEARIZER, &w.input, &result),
                         MODEL_OK);
        for (size_t j = 0; j < 2; j++)
            assert_near(speed[j], exact[j].throughput / classes[j].lambda,
                        0.003);
        assert_near(utilisation,
                    (exact[0].throughput + exact[1].throughput) *
                        MACHINE_DEFAULT_SERVICE_US,
                    0.003);
        double mean = (exact[0].throughput * exact[0].response +
                       exact[1].throughput * exact[1].response) /
                      (exact[0].throughput + exact[1].throughput);
        assert_near(response[0] / mean, 1, 0.01);
        teardown(&w);
    }
}

/* Links take time and carry what crosses them, posted requests too. */
static void test_links(void **state)
{
    struct world w;
    double speed[2], without[2], utilisation[4], response[4];
    struct closed_result plain = {.job_speed = without};
    struct closed_result result = {speed, utilisation, response};

    (void)state;
    setup(&w, 2, 2);
    assert_int_equal(closed_solve(NETWORK_LINEARIZER, &w.input, &plain),
                     MODEL_OK);
    w.a->rate[0].mrr_per_us *= 2;
    w.a->rate[1].mrr_per_us *= 2;
    assert_int_equal(machine_connect_all(w.machine, 0.003), MODEL_OK);
    assert_int_equal(w.machine->links, 2);
    assert_int_equal(closed_solve(NETWORK_LINEARIZER, &w.input, &result),
                     MODEL_OK);
    assert_true(speed[0] < without[0] && speed[1] < without[1]);
    double crossing = 0, served = 0;
    for (size_t j = 0; j < 2; j++) {
        crossing += speed[j] / 2 * w.profile[j]->rate[1].mrr_per_us;
        served += speed[j] * w.profile[j]->rate[1].mrr_per_us;
    }
    assert_near(utilisation[2], crossing * 0.003, 1e-9);
    assert_near(utilisation[3], crossing * 0.003, 1e-9);
    assert_near(utilisation[0], served * MACHINE_DEFAULT_SERVICE_US, 1e-9);
    /* Remote reads take longer, both ways alike. */
    assert_true(response[1] > response[0] + 0.003);
    assert_near(response[1] / response[2], 1, 1e-6);
    teardown(&w);
}

/* Where nobody reads a request takes as long as a lone one. */
static void test_nobody(void **state)
{
    struct world w;
    double speed[2], response[4];
    struct closed_result result = {.job_speed = speed, .response_us = response};

    (void)state;
    setup(&w, 2, 2);
    assert_int_equal(machine_connect_all(w.machine, 0.003), MODEL_OK);
    memset(w.cores, 0, sizeof(w.cores));
    w.cores[0] = 1;
    assert_int_equal(closed_solve(NETWORK_SCHWEITZER, &w.input, &result),
                     MODEL_OK);
    assert_near(speed[0], 1 / (1.2 + 0.003 * w.a->rate[1].read_per_us), 1e-9);
    assert_true(speed[1] == 0);
    assert_near(response[3], MACHINE_DEFAULT_SERVICE_US, 0);
    assert_near(response[2], MACHINE_DEFAULT_SERVICE_US + 0.003, 0);
    assert_near(response[1], MACHINE_DEFAULT_SERVICE_US + 0.003, 1e-12);
    teardown(&w);
}

static void test_bad_input(void **state)
{
    struct world w;
    struct closed_result none = {0};
    struct workload *other = workload_new(3);

    (void)state;
    setup(&w, 2, 2);
    w.input.jobs = 0;
    assert_int_equal(closed_solve(NETWORK_SCHWEITZER, &w.input, &none),
                     MODEL_EINVAL);
    w.input.jobs = 2;
    w.profile[1] = other;
    assert_int_equal(closed_solve(NETWORK_SCHWEITZER, &w.input, &none),
                     MODEL_EINVAL);
    w.profile[1] = w.b;
    w.b->rate[1].read_per_us = NAN;
    assert_int_equal(closed_solve(NETWORK_SCHWEITZER, &w.input, &none),
                     MODEL_EINVAL);
    workload_free(other);
    teardown(&w);
}

UNIT(test_closed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_one_controller),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_nobody),
    };

    return cmocka_run_group_tests_name("test_closed", tests, NULL, NULL);
}
