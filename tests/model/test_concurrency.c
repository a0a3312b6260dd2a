/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictors of concurrency. */

#include "tests/model/near.h"

#include <math.h>

#include "model/concurrency.h"

#define CORES 4
#define NODES 2

/* Two NUMA nodes of two cores, joined by a link. */
static struct machine *box(void)
{
    struct machine *m = machine_new(CORES, NODES, NODES);

    assert_non_null(m);
    for (int cpu = 0; cpu < CORES; cpu++)
        m->llc_domain[cpu] = cpu / 2;
    m->links = 1;
    m->link_service_us = calloc(1, sizeof(double));
    assert_non_null(m->link_service_us);
    m->link_service_us[0] = 0.004;
    for (size_t r = 1; r < 3; r++) {
        m->route[r].link = calloc(1, sizeof(size_t));
        assert_non_null(m->route[r].link);
        m->route[r].links = 1;
    }
    return m;
}

static struct concurrency_thread same[CORES] = {
    {1, 0.01, 0.02, 0}, {1, 0.01, 0.02, 0}, {1, 0.01, 0.02, 0}, {1, 0.01, 0.02, 0}};

/* A model that predicts these costs of time and EDP whatever it sees: the outputs' constants. */
static struct concurrency_model *fixed(const struct machine *machine, const double *time,
                                       const double *edp)
{
    struct concurrency_model *m = concurrency_model_new(machine);

    assert_non_null(m);
    struct concurrency_layers at = concurrency_layers(&m->shape);
    for (size_t i = 0; i < CORES; i++) {
        m->weight[CONCURRENCY_TIME][at.last + i] = log(time[i]);
        m->weight[CONCURRENCY_EDP][at.last + i] = log(edp[i]);
        m->linear[CONCURRENCY_TIME][i * (CONCURRENCY_RATES + 1) + CONCURRENCY_RATES] = time[i];
        m->linear[CONCURRENCY_EDP][i * (CONCURRENCY_RATES + 1) + CONCURRENCY_RATES] = edp[i];
    }
    return m;
}

/* The network is the machine: a core feeds the cell of its own NUMA node, and cells of the second
 * layer see those nodes that a link joins. */
static void test_shape(void **state)
{
    struct machine *machine = machine_new(6, 3, 3);
    struct concurrency_model *m;

    (void)state;
    assert_non_null(machine);
    for (int cpu = 0; cpu < 6; cpu++)
        machine->llc_domain[cpu] = cpu % 3;
    machine->links = 1;
    machine->link_service_us = calloc(1, sizeof(double));
    machine->route[1].link = calloc(1, sizeof(size_t)); /* 0 and 1 only */
    assert_non_null(machine->link_service_us);
    assert_non_null(machine->route[1].link);
    machine->route[1].links = 1;
    m = concurrency_model_new(machine);
    assert_non_null(m);
    assert_int_equal(m->shape.cores, 6);
    const size_t node[] = {0, 0, 1, 1, 2, 2};
    assert_memory_equal(m->shape.node, node, sizeof(node));
    const bool linked[] = {true, true, false, true, true, false, false, false, true};
    assert_memory_equal(m->shape.linked, linked, sizeof(linked));
    assert_int_equal(concurrency_weights(&m->shape), 6 * 3 + 3 + 9 + 3 + 6 * 3 + 6);
    assert_true(concurrency_model_fits(m, machine));
    machine->local_node[2] = 1;
    assert_false(concurrency_model_fits(m, machine));
    concurrency_model_free(m);
    machine_free(machine);
}

/* The sums of one small network, by hand. */
static void test_forward(void **state)
{
    struct machine *machine = box();
    struct concurrency_model *m = concurrency_model_new(machine);
    double input[CORES * CONCURRENCY_INPUTS] = {0}, cell[2 * NODES], out[CORES];

    (void)state;
    assert_non_null(m);
    struct concurrency_layers at = concurrency_layers(&m->shape);
    double *w = m->weight[0];
    input[0 * CONCURRENCY_INPUTS + 1] = 2;  /* core 0, node 0 */
    input[3 * CONCURRENCY_INPUTS + 2] = -1; /* core 3, node 1 */
    w[0 * CONCURRENCY_INPUTS + 1] = 0.25;
    w[3 * CONCURRENCY_INPUTS + 2] = 0.5;
    w[at.first + 1] = 0.1;
    w[at.inner + 0 * NODES + 1] = 2; /* from node 1 to node 0 */
    w[at.second + 1] = -0.3;
    w[at.output + 2 * NODES + 0] = 3;
    w[at.output + 2 * NODES + 1] = 1;
    w[at.last + 2] = 0.7;
    concurrency_forward(&m->shape, w, input, cell, out);
    assert_near(cell[0], tanh(0.5), 1e-15);
    assert_near(cell[1], tanh(-0.4), 1e-15);
    assert_near(cell[2], tanh(2 * tanh(-0.4)), 1e-15);
    assert_near(cell[3], tanh(-0.3), 1e-15);
    assert_near(out[2], 0.7 + 3 * tanh(2 * tanh(-0.4)) + tanh(-0.3), 1e-15);
    assert_near(out[0], 0, 0);
    concurrency_model_free(m);
    machine_free(machine);
}

static void test_choice(void **state)
{
    const double time[CORES] = {3, 1.6, 1.02, 1}, edp[CORES] = {4, 1.8, 0.9, 1};
    struct machine *machine = box();
    struct concurrency_model *m = fixed(machine, time, edp);
    struct concurrency_curve *curve = concurrency_curve_new(m);

    (void)state;
    assert_non_null(curve);
    for (enum concurrency_kind k = CONCURRENCY_LINEAR; k <= CONCURRENCY_ANN; k++) {
        assert_int_equal(concurrency_predict(m, k, same, curve), MODEL_OK);
        assert_near(concurrency_cost(curve, OBJECTIVE_TIME, 1), 3, 1e-12);
        assert_near(concurrency_cost(curve, OBJECTIVE_ENERGY, 1), 4 / 3.0, 1e-12);
        assert_int_equal(concurrency_choose(curve, OBJECTIVE_TIME, 1, 4, 0), 4);
        assert_int_equal(concurrency_choose(curve, OBJECTIVE_TIME, 1, 4, 0.03), 3);
        assert_int_equal(concurrency_choose(curve, OBJECTIVE_EDP, 1, 4, 0), 3);
        assert_int_equal(concurrency_choose(curve, OBJECTIVE_EDP, 1, 2, 0), 2);
        assert_int_equal(concurrency_choose(curve, OBJECTIVE_EDP, 4, 4, 0), 4);
    }
    concurrency_curve_free(curve);
    concurrency_model_free(m);
    machine_free(machine);
}

static void test_bad(void **state)
{
    const double time[CORES] = {3, 1.6, 1.02, 1};
    struct machine *machine = box();
    struct concurrency_model *m = fixed(machine, time, time);
    struct concurrency_curve *curve = concurrency_curve_new(m);
    struct concurrency_thread thread[CORES];

    (void)state;
    memcpy(thread, same, sizeof(thread));
    thread[2].remote = NAN;
    assert_int_equal(concurrency_predict(m, CONCURRENCY_ANN, thread, curve), MODEL_EINVAL);
    thread[2].remote = -1;
    assert_int_equal(concurrency_predict(m, CONCURRENCY_ANN, thread, curve), MODEL_EINVAL);
    assert_int_equal(concurrency_predict(m, CONCURRENCY_OFF, same, curve), MODEL_EINVAL);
    assert_int_equal(concurrency_model_check(m), MODEL_OK);
    m->weight[1][0] = NAN;
    assert_int_equal(concurrency_model_check(m), MODEL_EINVAL);
    m->weight[1][0] = 0;
    m->scale[3] = 0;
    assert_int_equal(concurrency_model_check(m), MODEL_EINVAL);
    concurrency_curve_free(curve);
    concurrency_model_free(m);
    machine_free(machine);
}

UNIT(test_concurrency)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests_name("test_concurrency", tests, NULL, NULL);
}
