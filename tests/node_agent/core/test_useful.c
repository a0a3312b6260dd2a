/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Cores that are of use to a region: from its counters to the bound of a plan. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/core/useful.h"
#include "node_agent/core/plan_fields.h"
#include "tests/node_agent/core/fake_plan.h"

#define CORES 8

struct stage {
    struct fixture *f;
    struct concurrency_model *model;
    struct sample *sample;
    struct region region;
};

static int setup(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    if (fake_plan_new((void **)&s->f, "pack:2 [numa] l3:1 core:4 pu:1") < 0)
        return -1;
    s->model = concurrency_model_new(topology_machine(s->f->topology));
    s->sample = sample_new(CORES, 2, 2, 1);
    for (size_t r = 0; r < CONCURRENCY_RATES; r++)
        s->model->scale[r] = 1;
    /* Least time on 6 cores by the network, and on 4 by the linear predictor; least energy-delay
     * product on 3. */
    for (size_t i = 0; i < CORES; i++) {
        s->model->middle[CONCURRENCY_TIME][i] = log(1 + 0.1 * fabs((double)i - 5));
        s->model->middle[CONCURRENCY_EDP][i] = log(1 + 0.1 * fabs((double)i - 2));
        for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
            s->model->linear[t][i * (CONCURRENCY_RATES + 1) + CONCURRENCY_RATES] =
                1 + 0.1 * fabs((double)i - 3);
    }
    *state = s;
    return concurrency_model_check(s->model) == MODEL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct stage *s = *state;

    useful_free(s->region.useful);
    sample_free(s->sample);
    concurrency_model_free(s->model);
    fake_plan_free((void **)&s->f);
    free(s);
    return 0;
}

/* The node's cores count for NS; CPU number ODD lacks its misses. */
static void count(struct stage *s, uint64_t ns, size_t odd)
{
    sample_clear(s->sample);
    s->sample->time_ns = ns;
    for (size_t c = 0; c < CORES; c++)
        s->sample->cpu[c] = (struct sample_cpu){
            .cycles = 1e6, .instructions = 5e5, .local_misses = c == odd ? NAN : 1e3,
            .remote_misses = 10};
    useful_add(s->region.useful, topology_machine(s->f->topology), s->sample);
}

static void test_signature(void **state)
{
    struct stage *s = *state;

    assert_int_equal(useful_cores(NULL, CONCURRENCY_ANN, OBJECTIVE_TIME), 0);
    s->region.useful = useful_new(s->model);
    count(s, USEFUL_NS - 1, CORES);
    count(s, 1, 3); /* a gap: from the beginning */
    count(s, USEFUL_NS - 1, CORES);
    assert_false(useful_known(s->region.useful));
    assert_int_equal(useful_cores(s->region.useful, CONCURRENCY_ANN, OBJECTIVE_TIME), 0);
    count(s, 1, CORES);
    assert_true(useful_known(s->region.useful));
    assert_int_equal(useful_cores(s->region.useful, CONCURRENCY_ANN, OBJECTIVE_TIME), 6);
    assert_int_equal(useful_cores(s->region.useful, CONCURRENCY_LINEAR, OBJECTIVE_TIME), 4);
    assert_int_equal(useful_cores(s->region.useful, CONCURRENCY_ANN, OBJECTIVE_EDP), 3);
    assert_int_equal(useful_cores(s->region.useful, CONCURRENCY_OFF, OBJECTIVE_EDP), 0);
}

static size_t planned(struct stage *s, const char *policy, const char *options, int objective)
{
    struct errtext err = {""};

    s->f->input.policy = policy;
    s->f->input.policy_options = options;
    s->f->input.count = 1;
    s->f->jobs[0]->options.objective = objective;
    if (plan_make(s->f->planner, &s->f->input, &s->f->plan, &err) < 0)
        fail_msg("%s", err.text);
    return topology_count_cores(s->f->topology, &s->f->share[0].cpus);
}

/* Every policy keeps the bound, by the job's objective or else the site's, not below a minimum. */
static void test_plans(void **state)
{
    struct stage *s = *state;

    s->region.useful = useful_new(s->model);
    s->f->jobs[0]->region = &s->region;
    uint64_t before = plan_signature(&s->f->input, 0);
    for (const struct policy *const *p = policies; *p; p++)
        assert_int_equal(planned(s, (*p)->name, "concurrency:ann", 0), CORES);
    count(s, USEFUL_NS, CORES);
    assert_true(plan_signature(&s->f->input, 0) != before);
    for (const struct policy *const *p = policies; *p; p++)
        assert_int_equal(planned(s, (*p)->name, "concurrency:ann", 0), 6);
    assert_int_equal(planned(s, "equal", "concurrency:off", 0), CORES);
    assert_int_equal(planned(s, "equal", "concurrency:linear", 0), 4);
    assert_int_equal(planned(s, "equal", "concurrency:ann;cost:edp", 0), 3);
    assert_int_equal(planned(s, "equal", "concurrency:ann", 3), 3);
    assert_int_equal(planned(s, "equal", "concurrency:ann;cost:edp", 1), 6);
    s->f->jobs[0]->options.min_cores = 7;
    assert_int_equal(planned(s, "equal", "concurrency:ann", 0), 6);
    s->f->jobs[0]->options.min_cores = 0;
    s->f->jobs[0]->region = NULL;
}

/* What is measured to be slower than all cores is given up. */
static void test_measured(void **state)
{
    struct stage *s = *state;
    double work[COUNTERS_UNITS] = {0};

    s->region.useful = useful_new(s->model);
    s->f->jobs[0]->region = &s->region;
    count(s, USEFUL_NS, CORES);
    for (int i = 0; i < 400; i++) {
        work[COUNTERS_ITERATIONS] = 1000;
        measure_add(&s->region.measure, CORES, 50000000, work);
        work[COUNTERS_ITERATIONS] = 990;
        measure_add(&s->region.measure, 6, 50000000, work);
    }
    assert_int_equal(planned(s, "equal", "concurrency:ann", 0), 6);
    measure_clear(&s->region.measure);
    for (int i = 0; i < 400; i++) {
        work[COUNTERS_ITERATIONS] = 1000;
        measure_add(&s->region.measure, CORES, 50000000, work);
        work[COUNTERS_ITERATIONS] = 800;
        measure_add(&s->region.measure, 6, 50000000, work);
    }
    assert_int_equal(planned(s, "equal", "concurrency:ann", 0), CORES);
    measure_clear(&s->region.measure);
    s->f->jobs[0]->region = NULL;
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_useful)
{
    const struct CMUnitTest tests[] = {T(test_signature), T(test_plans), T(test_measured)};

    return cmocka_run_group_tests_name("test_useful", tests, NULL, NULL);
}
