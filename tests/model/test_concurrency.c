/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictors of concurrency, and the control of a region by them. */

#include "tests/model/near.h"

#include <math.h>

#include "model/controller.h"

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

/* ---- the controller ------------------------------------------------------------ */

struct run {
    struct machine *machine;
    struct concurrency_model *model;
    struct controller *controller;
    double factor[NODES * NODES];
};

static void run_begin(struct run *r, const double *time, const double *edp,
                      enum concurrency_objective objective)
{
    r->machine = box();
    r->model = fixed(r->machine, time, edp);
    r->factor[0] = r->factor[3] = 1;
    r->factor[1] = r->factor[2] = 1.5;
    r->controller = controller_new(r->model, CONCURRENCY_ANN, objective, r->factor);
    assert_non_null(r->controller);
}

static void run_end(struct run *r)
{
    controller_free(r->controller);
    concurrency_model_free(r->model);
    machine_free(r->machine);
}

/* One sample iteration with the requests of each thread to its target. */
static struct controller_plan sample(struct run *r, double seconds, double joules,
                                     const double *requests)
{
    struct controller_thread thread[CORES];

    for (size_t c = 0; c < CORES; c++)
        thread[c] = (struct controller_thread){1e9, 1e9, 1e6, requests[c]};
    const struct controller_iteration it = {seconds, joules, thread};
    assert_int_equal(controller_step(r->controller, &it), MODEL_OK);
    return controller_plan(r->controller);
}

static struct controller_plan check(struct run *r, double seconds, double joules)
{
    const struct controller_iteration it = {seconds, joules, NULL};

    assert_int_equal(controller_step(r->controller, &it), MODEL_OK);
    return controller_plan(r->controller);
}

static const double slow_alone[CORES] = {3, 0.9, 1.1, 1};
/* Threads 0 and 1, which start at node 0, have their data at node 1, the others at node 0. */
static const double at_first[CORES] = {1e6, 1e6, 9e6, 9e6}, at_second[CORES] = {9e6, 9e6, 1e6, 1e6};

static void test_better_is_kept(void **state)
{
    struct run r;

    (void)state;
    run_begin(&r, slow_alone, slow_alone, OBJECTIVE_TIME);
    struct controller_plan plan = controller_plan(r.controller);
    assert_int_equal(plan.phase, CONTROLLER_SAMPLES);
    assert_int_equal(plan.threads, CORES);
    assert_int_equal(plan.target, 0);
    plan = sample(&r, 1, NAN, at_first);
    assert_int_equal(plan.phase, CONTROLLER_SAMPLES);
    assert_int_equal(plan.target, 1);
    plan = sample(&r, 1.2, NAN, at_second);
    assert_int_equal(plan.phase, CONTROLLER_CHECKS);
    assert_int_equal(plan.threads, 2);
    /* The first of two threads has the work of the first two of four. */
    assert_int_equal(plan.node[0], 1);
    assert_int_equal(plan.node[1], 0);
    plan = check(&r, 1.09, NAN); /* 1.1 is usual */
    assert_int_equal(plan.phase, CONTROLLER_SETTLED);
    assert_int_equal(plan.reason, CONTROLLER_BETTER);
    assert_int_equal(plan.threads, 2);
    assert_int_equal(check(&r, 9, NAN).reason, CONTROLLER_BETTER);
    run_end(&r);
}

static void test_worse_is_given_up(void **state)
{
    struct run r;

    (void)state;
    run_begin(&r, slow_alone, slow_alone, OBJECTIVE_TIME);
    sample(&r, 1, NAN, at_first);
    sample(&r, 1.2, NAN, at_second);
    struct controller_plan plan = check(&r, 1.11, NAN);
    assert_int_equal(plan.phase, CONTROLLER_SETTLED);
    assert_int_equal(plan.reason, CONTROLLER_WORSE);
    assert_int_equal(plan.threads, CORES);
    assert_null(plan.node);
    run_end(&r);
}

/* All threads, but elsewhere: the map alone is worth an iteration. */
static void test_map_alone(void **state)
{
    const double all_best[CORES] = {4, 2, 1.4, 1};
    const double local[CORES] = {9e6, 9e6, 1e6, 1e6}, far[CORES] = {1e6, 1e6, 9e6, 9e6};
    struct run r;

    (void)state;
    run_begin(&r, all_best, all_best, OBJECTIVE_TIME);
    sample(&r, 1, NAN, at_first);
    struct controller_plan plan = sample(&r, 1, NAN, at_second);
    assert_int_equal(plan.phase, CONTROLLER_CHECKS);
    assert_int_equal(plan.threads, CORES);
    assert_int_equal(plan.node[0] + plan.node[1], 2);
    run_end(&r);
    run_begin(&r, all_best, all_best, OBJECTIVE_TIME);
    sample(&r, 1, NAN, local);
    plan = sample(&r, 1, NAN, far);
    assert_int_equal(plan.phase, CONTROLLER_SETTLED);
    assert_int_equal(plan.reason, CONTROLLER_PREDICTED);
    run_end(&r);
}

static void test_short_region(void **state)
{
    struct run r;

    (void)state;
    run_begin(&r, slow_alone, slow_alone, OBJECTIVE_TIME);
    assert_int_equal(sample(&r, 0.0249, NAN, at_first).reason, CONTROLLER_SHORT);
    run_end(&r);
    run_begin(&r, slow_alone, slow_alone, OBJECTIVE_TIME);
    assert_int_equal(sample(&r, 0.0251, NAN, at_first).reason, CONTROLLER_OPEN);
    run_end(&r);
}

/* By energy-delay product: slower, but for half of the energy. */
static void test_energy(void **state)
{
    const double time[CORES] = {3, 1.3, 1.1, 1}, edp[CORES] = {3, 0.7, 0.9, 1};
    struct run r;

    (void)state;
    run_begin(&r, time, edp, OBJECTIVE_EDP);
    sample(&r, 1, 100, at_first);
    assert_int_equal(sample(&r, 1, 100, at_second).threads, 2);
    const struct controller_iteration unknown = {1.3, NAN, NULL};
    assert_int_equal(controller_step(r.controller, &unknown), MODEL_EINVAL);
    assert_int_equal(check(&r, 1.3, 50).reason, CONTROLLER_BETTER);
    run_end(&r);
}

static void test_bad_iterations(void **state)
{
    struct controller_thread thread[CORES] = {
        {1, 1, 0, 1}, {1, 1, 0, 1}, {1, 1, 0, 1}, {0, 1, 0, 1}};
    struct run r;

    (void)state;
    run_begin(&r, slow_alone, slow_alone, OBJECTIVE_TIME);
    const struct controller_iteration bad[] = {
        {0, NAN, thread}, {NAN, NAN, thread}, {INFINITY, NAN, thread}, {1, NAN, NULL},
        {1, NAN, thread} /* no cycles on the last core */};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(controller_step(r.controller, &bad[i]), MODEL_EINVAL);
        assert_int_equal(controller_plan(r.controller).target, 0);
    }
    run_end(&r);
}

UNIT(test_concurrency)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_better_is_kept),
        cmocka_unit_test(test_worse_is_given_up),
        cmocka_unit_test(test_map_alone),
        cmocka_unit_test(test_short_region),
        cmocka_unit_test(test_energy),
        cmocka_unit_test(test_bad_iterations),
    };

    return cmocka_run_group_tests_name("test_concurrency", tests, NULL, NULL);
}
