/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Near shares: what links and controllers make of them. */

#include "tests/model/near.h"

#include "model/colocation.h"
#include "tests/support/uniform_machine.h"

#define NODES 2
#define CORES 8 /* of each */
#define JOBS 2
#define FAST_US 0.0005
#define SLOW_US 0.05

struct world {
    struct machine *machine;
    struct colocation *colocation;
    struct workload *profile[JOBS];
    bool moves[JOBS];
    size_t counts[NODES * JOBS];
    double value[COLOCATION_SHARES];
};

/* Each job has a node; RHO of each. */
static void begin(struct world *w, double link_us, double rho0, double rho1)
{
    const double rho[JOBS] = {rho0, rho1};

    *w = (struct world){.machine = machine_new_uniform(NODES, CORES, NODES), .moves = {true, true}};
    assert_int_equal(machine_connect_all(w->machine, link_us), MODEL_OK);
    w->colocation = colocation_new(w->machine, JOBS);
    assert_non_null(w->colocation);
    for (size_t j = 0; j < JOBS; j++) {
        w->profile[j] = workload_new_rho(NODES, rho[j], MACHINE_DEFAULT_SERVICE_US);
        assert_non_null(w->profile[j]);
    }
    for (size_t i = 0; i < NODES; i++)
        w->counts[i * JOBS + i] = CORES;
}

static void compare(struct world *w)
{
    const struct workload *profile[JOBS] = {w->profile[0], w->profile[1]};

    colocation_compare(w->colocation, profile, w->moves, JOBS, w->counts, w->value);
}

static void end(struct world *w)
{
    colocation_free(w->colocation);
    for (size_t j = 0; j < JOBS; j++)
        workload_free(w->profile[j]);
    machine_free(w->machine);
}

static void test_shares(void **state)
{
    (void)state;
    assert_near(colocation_share(0), 0, 0);
    assert_near(colocation_share(COLOCATION_SHARES - 1), 1, 0);
}

/* Where links are slow, pages should be near; nearer is better all the way. */
static void test_slow_links(void **state)
{
    struct world w;

    (void)state;
    begin(&w, SLOW_US, 0.2, 0.2);
    compare(&w);
    for (size_t i = 1; i < COLOCATION_SHARES; i++)
        assert_true(w.value[i] > w.value[i - 1]);
    assert_true(w.value[COLOCATION_SHARES - 1] > w.value[0] + 0.1);
    end(&w);
}

/* Where links are fast, who needs all controllers should have them, beside one that computes. */
static void test_fast_links(void **state)
{
    struct world w;

    (void)state;
    begin(&w, FAST_US, 0.5, 0);
    compare(&w);
    for (size_t i = 1; i < COLOCATION_SHARES; i++)
        assert_true(w.value[i] < w.value[i - 1]);
    end(&w);
}

/* Pages that do not move stay where the profile says, and the profile is nobody's to change. */
static void test_stays(void **state)
{
    struct world w;

    (void)state;
    begin(&w, SLOW_US, 0.2, 0);
    w.moves[0] = false;
    compare(&w);
    for (size_t i = 1; i < COLOCATION_SHARES; i++)
        assert_near(w.value[i], w.value[0], 1e-12);
    w.moves[0] = true;
    compare(&w);
    assert_true(w.value[1] > w.value[0]);
    for (size_t k = 1; k < NODES; k++)
        assert_near(w.profile[0]->rate[k].mrr_per_us, w.profile[0]->rate[0].mrr_per_us, 0);
    end(&w);
}

/* What one gains does not pay for what another loses, whose data are on the node that the first
 * one's pages would come to. */
static void test_loss(void **state)
{
    struct world w;

    (void)state;
    begin(&w, FAST_US, 0.2, 0.4);
    w.moves[1] = false;
    w.profile[1]->rate[0].mrr_per_us *= 2;
    w.profile[1]->rate[0].read_per_us *= 2;
    w.profile[1]->rate[1].mrr_per_us = w.profile[1]->rate[1].read_per_us = 0;
    compare(&w);
    assert_near(w.value[0], 0, 1e-12);
    assert_true(w.value[COLOCATION_SHARES - 1] < -COLOCATION_LOSS);
    end(&w);
}

/* On four nodes that are all connected a job that has two sends half of what is near over the one
 * link between these, which alone passes less than all links do. */
static void test_one_link(void **state)
{
    struct machine *machine = machine_new_uniform(4, CORES, 4);
    struct workload *workload = workload_new_rho(4, 0.2, MACHINE_DEFAULT_SERVICE_US);
    const struct workload *profile[JOBS] = {workload, workload};
    const size_t counts[4 * JOBS] = {CORES, 0, CORES, 0, 0, CORES, 0, CORES};
    const bool moves[JOBS] = {true, true};
    double value[COLOCATION_SHARES];

    (void)state;
    assert_int_equal(machine_connect_all(machine, SLOW_US), MODEL_OK);
    struct colocation *colocation = colocation_new(machine, JOBS);
    assert_non_null(colocation);
    colocation_compare(colocation, profile, moves, JOBS, counts, value);
    assert_true(value[COLOCATION_SHARES - 1] < value[0]);
    colocation_free(colocation);
    workload_free(workload);
    machine_free(machine);
}

/* A job without cores has no speed, and disturbs nothing. */
static void test_nobody(void **state)
{
    struct world w;

    (void)state;
    begin(&w, SLOW_US, 0.2, 0.2);
    for (size_t i = 0; i < NODES; i++)
        w.counts[i * JOBS + 1] = 0;
    compare(&w);
    for (size_t i = 0; i < COLOCATION_SHARES; i++)
        assert_true(isfinite(w.value[i]));
    assert_true(w.value[1] > w.value[0]);
    end(&w);
}

UNIT(test_colocation)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_slow_links),
        cmocka_unit_test(test_fast_links),
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_one_link),
        cmocka_unit_test(test_nobody),
    };

    return cmocka_run_group_tests_name("test_colocation", tests, NULL, NULL);
}
