/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Response times of controllers, links and LLC misses. */

#include "tests/model/near.h"

#include <stdlib.h>
#include <string.h>

#include "model/hierarchy.h"
#include "model/station.h"
#include "tests/support/uniform_machine.h"

#define NODES 4
#define MEMORIES 3
#define PAIRS (NODES * MEMORIES)
#define LINKS (MEMORIES * (MEMORIES - 1))
#define SERVICE 0.005
#define LINK 0.002

/* A machine, a loop on it and the answer. */
struct world {
    struct machine *machine;
    size_t cores[NODES];
    struct loop_requests rate[PAIRS];
    double misses[PAIRS];
    struct hierarchy_input in;
    double controller_us[MEMORIES], link_us[LINKS];
    double total_us[PAIRS], miss_us[PAIRS], stall[NODES], busy;
    struct hierarchy_result out;
};

/* Each core asks all NUMA nodes evenly: RATE in all, half of it misses. */
static void setup(struct world *w, enum hierarchy_method method, double rate)
{
    *w = (struct world){.machine = machine_new_uniform(NODES, 8, MEMORIES)};
    assert_non_null(w->machine);
    assert_int_equal(machine_connect_all(w->machine, LINK), MODEL_OK);
    for (size_t j = 0; j < MEMORIES; j++)
        w->machine->controller_service_us[j] = SERVICE;
    for (size_t p = 0; p < PAIRS; p++) {
        double r = rate / MEMORIES;
        w->rate[p] = (struct loop_requests){0.6 * r, 0.3 * r, 0.1 * r};
        w->misses[p] = 0.5 * r;
    }
    for (size_t i = 0; i < NODES; i++)
        w->cores[i] = 8;
    w->in = (struct hierarchy_input){.machine = w->machine,
                                     .method = method,
                                     .cores = w->cores,
                                     .rate = w->rate,
                                     .misses = w->misses};
    w->out = (struct hierarchy_result){w->controller_us, w->link_us,
                                       w->total_us, w->miss_us, w->stall,
                                       &w->busy};
}

static void solve(struct world *w)
{
    assert_int_equal(hierarchy_solve(&w->in, &w->out), MODEL_OK);
}

/* 3.6 to 3.8 written out for the links of machine_connect_all(). */
static void test_equations(void **state)
{
    (void)state;
    struct world w;
    struct station controller, link, miss;

    setup(&w, HIERARCHY_STATIONS, 6);
    w.cores[3] = 0; /* three LLC domains, homes 0, 0 and 1 */
    solve(&w);
    assert_int_equal(w.machine->local_node[1], 0);
    assert_int_equal(w.machine->local_node[2], 1);
    station_solve(3, 8 * 2, 1 / SERVICE, &controller);
    for (size_t j = 0; j < MEMORIES; j++)
        assert_near(w.controller_us[j], controller.response, 1e-12);
    /* From NUMA node 0's LLC domains to NUMA node 1: LSet has two. */
    station_solve(2, 8 * 2, 1 / LINK, &link);
    assert_near(w.link_us[0], link.response, 1e-12);
    assert_near(w.total_us[0], controller.response, 1e-12);
    assert_near(w.total_us[1], controller.response + link.response, 1e-12);
    station_solve(8, 1, 1 / w.total_us[1], &miss);
    assert_near(w.miss_us[1], miss.response, 1e-12);
    assert_near(w.stall[0], w.miss_us[0] + w.miss_us[1] + w.miss_us[2], 1e-12);
    assert_near(w.stall[3], 0, 0);
    /* 24 cores ask each controller twice a us, 16 or 8 cross a link. */
    assert_near(w.busy, fmax(24 * 2 * SERVICE, 16 * 2 * LINK), 1e-12);
    /* Nobody crosses the links from NUMA node 2. */
    assert_near(w.link_us[4], LINK, 1e-15);
    machine_free(w.machine);
}

/* Alone, the outgoing queue is all there is: with one core no waiting. */
static void test_one_node(void **state)
{
    (void)state;
    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED;
         method++) {
        struct machine *machine = machine_new_uniform(1, 8, 1);
        struct loop_requests rate = {40, 0, 0};
        double misses = 40, miss_us;
        size_t cores = 1;
        struct hierarchy_input in = {machine, method, &cores, &rate, &misses};
        struct hierarchy_result out = {.miss_us = &miss_us};
        struct station station;

        assert_non_null(machine);
        for (cores = 1; cores <= 8; cores++) {
            assert_int_equal(hierarchy_solve(&in, &out), MODEL_OK);
            station_solve(cores, 40, 1 / MACHINE_DEFAULT_SERVICE_US, &station);
            assert_near(miss_us / station.response, 1,
                        method == HIERARCHY_STATIONS ? 1e-9 : 0.01);
        }
        machine_free(machine);
    }
}

/* Service times of the mix, of the tables (3.13). */
static void test_mix(void **state)
{
    (void)state;
    struct world w;

    setup(&w, HIERARCHY_STATIONS, 1e-9);
    w.machine->controller_service = calloc(MEMORIES, sizeof(
        struct machine_service));
    w.machine->link_service = calloc(LINKS, sizeof(struct machine_service));
    assert_true(w.machine->controller_service && w.machine->link_service);
    for (size_t j = 0; j < MEMORIES; j++)
        w.machine->controller_service[j] =
            (struct machine_service){0.010, 0.004, 0.002};
    for (size_t l = 0; l < LINKS; l++)
        w.machine->link_service[l] = (struct machine_service){3, 2, 1};
    solve(&w);
    assert_near(w.controller_us[1], 0.6 * 0.010 + 0.3 * 0.004 + 0.1 * 0.002,
                1e-9);
    assert_near(w.link_us[0], 0.6 * 3 + 0.3 * 2 + 0.1 * 1, 1e-6);
    w.machine->link_service[2].write_us = 0;
    assert_int_equal(hierarchy_solve(&w.in, &w.out), MODEL_EINVAL);
    w.machine->link_service[2].write_us = 1;
    machine_free(w.machine);
}

/* Rare requests do not wait; very frequent ones fill the servers. */
static void test_limits(void **state)
{
    (void)state;
    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED;
         method++) {
        struct world w;

        setup(&w, method, 1e-7);
        solve(&w);
        assert_near(w.miss_us[0] / SERVICE, 1, 1e-6);
        assert_near(w.miss_us[1] / (SERVICE + LINK), 1, 1e-6);
        machine_free(w.machine);

        setup(&w, method, 1e6);
        for (size_t p = 0; p < PAIRS; p++) { /* all stall */
            w.rate[p] = (struct loop_requests){w.misses[p], 0, 0};
            w.cores[p / MEMORIES] = p / MEMORIES == 0 ? 8 : 0;
        }
        w.machine->link_service_us[0] = w.machine->link_service_us[1] = 1e-9;
        solve(&w);
        /* Eight cores and three NUMA nodes.  The papers' queues are one
         * per NUMA node with all cores in each; together they have but 8. */
        if (method == HIERARCHY_STATIONS)
            assert_near(w.miss_us[0] / (8 * SERVICE), 1, 1e-2);
        else /* R = (8 + 2) / 3 of balanced servers, Q = 8/3 each */
            assert_near(w.miss_us[0] / (SERVICE * 10 / 3), 1, 1e-2);
        machine_free(w.machine);
    }
}

/* Little's law: as many wait as there are cores less those that compute, and
 * no controller serves more than it can. */
static void test_little(void **state)
{
    (void)state;
    for (double rate = 0.1; rate < 2000; rate *= 3) {
        struct world w;

        setup(&w, HIERARCHY_CLOSED, rate);
        for (size_t p = 0; p < PAIRS; p++)
            w.rate[p] = (struct loop_requests){w.misses[p], 0, 0};
        solve(&w);
        for (size_t j = 0; j < MEMORIES; j++) {
            double load = 0, queue = 0, speed = 0;
            for (size_t i = 0; i < NODES; i++) {
                double flow = 8 / (1 + w.stall[i]) * w.misses[i * MEMORIES + j];
                load += flow * SERVICE;
                queue += flow * w.miss_us[i * MEMORIES + j];
                speed += 8 / (1 + w.stall[i]);
            }
            assert_true(load < 1.01);
            assert_true(queue < 8 * NODES - speed + 1e-6);
        }
        machine_free(w.machine);
    }
}

/* Time in other units; rates are per unit. */
static void test_units(void **state)
{
    (void)state;
    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED;
         method++) {
        struct world a, b;

        setup(&a, method, 60);
        setup(&b, method, 60 * 1000);
        for (size_t j = 0; j < MEMORIES; j++)
            b.machine->controller_service_us[j] /= 1000;
        for (size_t l = 0; l < LINKS; l++)
            b.machine->link_service_us[l] /= 1000;
        solve(&a);
        solve(&b);
        for (size_t p = 0; p < PAIRS; p++)
            assert_near(1000 * b.miss_us[p] / a.miss_us[p], 1, 1e-6);
        for (size_t i = 0; i < NODES; i++)
            assert_near(b.stall[i], a.stall[i], 1e-6);
        machine_free(a.machine);
        machine_free(b.machine);
    }
}

/* More requests never make memory faster, nor do more cores. */
static void test_monotone(void **state)
{
    (void)state;
    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED;
         method++) {
        double before = 0;
        struct world w;

        for (double rate = 0.01; rate < 1e3; rate *= 2) {
            setup(&w, method, rate);
            solve(&w);
            assert_true(w.miss_us[1] > before);
            before = w.miss_us[1];
            machine_free(w.machine);
        }
        before = 0;
        for (size_t cores = 1; cores <= 8; cores++) {
            setup(&w, method, 30);
            w.cores[0] = w.cores[1] = cores;
            solve(&w);
            assert_true(w.miss_us[1] > before);
            before = w.miss_us[1];
            machine_free(w.machine);
        }
    }
}

/* LLC domains of the same home are alike; the order does not matter. */
static void test_permutation(void **state)
{
    (void)state;
    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED;
         method++) {
        struct world a, b;

        setup(&a, method, 60);
        setup(&b, method, 60);
        assert_int_equal(a.machine->local_node[0], a.machine->local_node[1]);
        a.cores[0] = b.cores[1] = 3;
        solve(&a);
        solve(&b);
        for (size_t j = 0; j < MEMORIES; j++) {
            assert_near(a.miss_us[j] / b.miss_us[MEMORIES + j], 1, 1e-6);
            assert_near(b.miss_us[j] / a.miss_us[MEMORIES + j], 1, 1e-6);
            assert_near(a.controller_us[j] / b.controller_us[j], 1, 1e-6);
        }
        machine_free(a.machine);
        machine_free(b.machine);
    }
}

static void test_bad(void **state)
{
    (void)state;
    const double bad[] = {-1, NAN, INFINITY};
    struct world w;

    setup(&w, HIERARCHY_STATIONS, 1);
    for (size_t b = 0; b < 3; b++) {
        struct loop_requests good = w.rate[5];
        double *numbers[] = {&w.rate[5].read, &w.rate[5].write,
                             &w.rate[5].prefetch, &w.misses[5]};
        for (size_t n = 0; n < 4; n++) {
            *numbers[n] = bad[b];
            assert_int_equal(hierarchy_solve(&w.in, &w.out), MODEL_EINVAL);
            w.rate[5] = good;
            w.misses[5] = w.misses[4];
        }
    }
    w.misses[2] = 1; /* more than there are requests */
    assert_int_equal(hierarchy_solve(&w.in, &w.out), MODEL_EINVAL);
    w.misses[2] = 0;
    solve(&w);
    w.in.method = HIERARCHY_CLOSED + 1;
    assert_int_equal(hierarchy_solve(&w.in, &w.out), MODEL_EINVAL);
    machine_free(w.machine);
}

UNIT(test_hierarchy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equations),   cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_mix),         cmocka_unit_test(test_limits),
        cmocka_unit_test(test_little),      cmocka_unit_test(test_units),
        cmocka_unit_test(test_monotone),    cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests_name("test_hierarchy", tests, NULL, NULL);
}
