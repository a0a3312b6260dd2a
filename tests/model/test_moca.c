/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's judgement of an allocation. */

#include "tests/model/near.h"

#include "tests/model/moca_reference.h"
#include "model/station.h"
#include "tests/support/uniform_machine.h"

/* Thesis figure 4.17: sixteen cores and four NUMA nodes of service rate 150,
 * link delay 1/150. */
#define NODES 4
#define JOBS 2
#define RATE 150.0

struct world {
    struct machine *machine;
    struct workload *work[JOBS];
    const struct workload *profile[JOBS];
    size_t cores[NODES * JOBS];
    double response[NODES], controller[NODES], core[NODES * JOBS];
    struct moca_input in;
    struct moca_result out;
};

static void setup(struct world *w)
{
    *w = (struct world){.machine = machine_new_uniform(NODES, 4, NODES)};
    assert_non_null(w->machine);
    assert_int_equal(machine_connect_all(w->machine, 1 / RATE), MODEL_OK);
    for (size_t m = 0; m < NODES; m++)
        w->machine->controller_service_us[m] = 1 / RATE;
    for (size_t j = 0; j < JOBS; j++) {
        w->profile[j] = w->work[j] = workload_new(NODES);
        assert_non_null(w->work[j]);
    }
    w->in = (struct moca_input){w->machine, JOBS, w->profile, w->cores, 16,
                                MOCA_PAPER};
    w->out = (struct moca_result){.response_us = w->response,
                                  .controller_util = w->controller,
                                  .core_util = w->core};
}

static void teardown(struct world *w)
{
    machine_free(w->machine);
    for (size_t j = 0; j < JOBS; j++)
        workload_free(w->work[j]);
}

static void evaluate(struct world *w)
{
    assert_int_equal(moca_evaluate(&w->in, &w->out), MODEL_OK);
    assert_true(w->out.cpu_util >= 0 && w->out.cpu_util <= 1);
    assert_true(w->out.bw_util >= 0 && w->out.bw_util <= 1);
}

/* Random rates and cores of both jobs. */
static void shuffle(struct world *w, struct dice *dice, double most)
{
    for (size_t m = 0; m < NODES * JOBS; m++) {
        struct workload_rate *rate = &w->work[m % JOBS]->rate[m / JOBS];
        rate->mrr_per_us = most * dice_unit(dice);
        rate->read_per_us = rate->mrr_per_us * dice_unit(dice);
    }
    for (size_t i = 0; i < NODES; i++) {
        w->cores[i * JOBS] = dice_range(dice, 0, 4);
        w->cores[i * JOBS + 1] =
            dice_range(dice, 0, 4 - w->cores[i * JOBS]);
    }
    for (size_t j = 0; j < JOBS; j++)
        w->work[j]->sync_share = 0.3 * dice_unit(dice);
}

/* 4.10 to 4.12 written out. */
static void test_equations(void **state)
{
    (void)state;
    struct world w;
    struct station station;

    setup(&w);
    w.work[0]->sync_share = 0.2;
    for (size_t m = 0; m < NODES; m++)
        w.work[1]->rate[m] = (struct workload_rate){20, 5};
    w.cores[0] = w.cores[2] = 4; /* job 0 on LLC domains 0 and 1 */
    w.cores[5] = 4;              /* job 1 on LLC domain 2 */
    evaluate(&w);
    station_solve(NODES, 4 * 20 / 4, RATE, &station);
    for (size_t m = 0; m < NODES; m++) {
        assert_near(w.response[m], station.response, 1e-12);
        assert_near(w.controller[m], station.utilisation, 1e-12);
    }
    assert_near(w.out.bw_util, station.utilisation, 1e-12);
    double sync = 0.2 * 8 / 16;
    double memory = 5 * (4 * station.response + 3 / RATE);
    assert_near(w.core[0], 1 - sync, 1e-12);
    assert_near(w.core[5], 1 - memory, 1e-12);
    assert_near(w.core[1], 0, 0);
    assert_near(w.out.cpu_util, (8 * (1 - sync) + 4 * (1 - memory)) / 16,
                1e-12);
    w.in.form = MOCA_CONSISTENT;
    evaluate(&w);
    assert_near(w.core[5], 1 / (1 + memory), 1e-12);
    assert_near(machine_route_us(w.machine, 0, 0), 0, 0);
    assert_near(machine_route_us(w.machine, 3, 1), 1 / RATE, 1e-15);
    teardown(&w);
}

/* An idle machine, one that only computes, one that only waits. */
static void test_limits(void **state)
{
    (void)state;
    struct world w;

    setup(&w);
    evaluate(&w);
    assert_near(w.out.cpu_util, 0, 0);
    assert_near(w.out.bw_util, 0, 0);
    for (size_t i = 0; i < NODES; i++)
        w.cores[i * JOBS] = 4;
    evaluate(&w);
    assert_near(w.out.cpu_util, 1, 1e-15);
    for (size_t m = 0; m < NODES; m++)
        w.work[0]->rate[m] = (struct workload_rate){1e6, 1e6};
    evaluate(&w);
    assert_near(w.out.cpu_util, 0, 0);
    assert_near(w.out.bw_util, 1, 1e-6);
    teardown(&w);
}

/* Both forms agree where memory is hardly used; the consistent one is never
 * below the papers'. */
static void test_forms(void **state)
{
    (void)state;
    struct dice dice = {417};
    struct world w;

    setup(&w);
    for (int round = 0; round < 300; round++) {
        shuffle(&w, &dice, round % 2 ? 1e-3 : 40);
        w.in.form = MOCA_PAPER;
        evaluate(&w);
        double paper = w.out.cpu_util, busy = w.out.bw_util;
        w.in.form = MOCA_CONSISTENT;
        evaluate(&w);
        assert_true(w.out.cpu_util >= paper - 1e-12);
        if (round % 2)
            assert_near(w.out.cpu_util, paper, 1e-4);
        assert_near(w.out.bw_util, busy, 0);
    }
    teardown(&w);
}

/* Swapping the jobs, or the unit of time, changes nothing. */
static void test_invariance(void **state)
{
    (void)state;
    struct dice dice = {23};
    struct world w;

    setup(&w);
    for (int round = 0; round < 100; round++) {
        shuffle(&w, &dice, 40);
        evaluate(&w);
        double cpu = w.out.cpu_util, bw = w.out.bw_util;
        const struct workload *first = w.profile[0];
        w.profile[0] = w.profile[1];
        w.profile[1] = first;
        for (size_t i = 0; i < NODES; i++) {
            size_t cores = w.cores[i * JOBS];
            w.cores[i * JOBS] = w.cores[i * JOBS + 1];
            w.cores[i * JOBS + 1] = cores;
        }
        evaluate(&w);
        assert_near(w.out.cpu_util, cpu, 1e-12);
        assert_near(w.out.bw_util, bw, 1e-12);
        for (size_t m = 0; m < NODES; m++)
            for (size_t j = 0; j < JOBS; j++) {
                w.work[j]->rate[m].mrr_per_us *= 1000;
                w.work[j]->rate[m].read_per_us *= 1000;
            }
        for (size_t m = 0; m < NODES; m++)
            w.machine->controller_service_us[m] /= 1000;
        for (size_t l = 0; l < w.machine->links; l++)
            w.machine->link_service_us[l] /= 1000;
        evaluate(&w);
        assert_near(w.out.cpu_util, cpu, 1e-12);
        assert_near(w.out.bw_util, bw, 1e-12);
        teardown(&w);
        setup(&w);
    }
    teardown(&w);
}

/* One more core makes memory no less busy, and other cores wait no less. */
static void test_monotone(void **state)
{
    (void)state;
    struct dice dice = {5};
    struct world w;

    setup(&w);
    for (int round = 0; round < 100; round++) {
        shuffle(&w, &dice, 40);
        size_t node = dice_range(&dice, 0, NODES - 1);
        if (w.cores[node * JOBS] == 0 && w.cores[node * JOBS + 1] == 0)
            continue;
        size_t job = w.cores[node * JOBS] ? 0 : 1;
        evaluate(&w);
        double bw = w.out.bw_util, other = w.core[node * JOBS + job];
        w.cores[node * JOBS + job]--;
        evaluate(&w);
        assert_true(w.out.bw_util <= bw + 1e-12);
        if (w.cores[node * JOBS + job])
            assert_true(w.core[node * JOBS + job] >= other - 1e-12);
    }
    teardown(&w);
}

static void test_bad(void **state)
{
    (void)state;
    struct world w;

    setup(&w);
    w.cores[0] = 17;
    assert_int_equal(moca_evaluate(&w.in, &w.out), MODEL_EINVAL);
    w.cores[0] = 1;
    w.in.jobs = 0;
    assert_int_equal(moca_evaluate(&w.in, &w.out), MODEL_EINVAL);
    w.in.jobs = JOBS;
    w.work[1]->rate[2].mrr_per_us = -1;
    assert_int_equal(moca_evaluate(&w.in, &w.out), MODEL_EINVAL);
    w.work[1]->rate[2].mrr_per_us = 0;
    w.work[1]->numa_nodes = NODES - 1;
    assert_int_equal(moca_evaluate(&w.in, &w.out), MODEL_EINVAL);
    w.work[1]->numa_nodes = NODES;
    w.in.form = MOCA_CONSISTENT + 1;
    assert_int_equal(moca_evaluate(&w.in, &w.out), MODEL_EINVAL);
    teardown(&w);
}

UNIT(test_moca)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equations), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_forms),     cmocka_unit_test(test_invariance),
        cmocka_unit_test(test_monotone),  cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests_name("test_moca", tests, NULL, NULL);
}
