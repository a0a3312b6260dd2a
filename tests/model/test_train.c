/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Training of predictors: they learn what is there, the same from the same. */

#include "tests/model/near.h"

#include <math.h>

#include "model/analysis/train.h"

#define CORES 4
#define SAMPLES 40

struct fixture {
    struct machine *machine;
    struct concurrency_thread thread[SAMPLES][CORES];
    double cost[SAMPLES][CONCURRENCY_TARGETS][CORES];
    struct train_sample sample[SAMPLES];
    const struct train_sample *list[SAMPLES];
};

/* Time on n cores is max(1 / n, rate) with a smooth corner: bent over the rates. */
static void begin(struct fixture *f)
{
    f->machine = machine_new(CORES, 2, 2);
    assert_non_null(f->machine);
    for (int cpu = 0; cpu < CORES; cpu++)
        f->machine->llc_domain[cpu] = cpu / 2;
    for (size_t s = 0; s < SAMPLES; s++) {
        double rate = 0.02 * (double)(s + 1);
        for (size_t c = 0; c < CORES; c++)
            f->thread[s][c] = (struct concurrency_thread){1 / (1 + rate), rate, rate / 2, 0.001};
        for (size_t i = 0; i < CORES; i++) {
            double time = pow(pow(1 / (double)(i + 1), 4) + pow(rate, 4), 0.25);
            f->cost[s][CONCURRENCY_TIME][i] = 17 * time;
            f->cost[s][CONCURRENCY_EDP][i] = time * time * (double)(i + 2);
        }
        f->sample[s] = (struct train_sample){f->thread[s],
                                             {f->cost[s][0], f->cost[s][1]}};
        f->list[s] = &f->sample[s];
    }
}

static double error_of(const struct fixture *f, const struct concurrency_model *model,
                       enum concurrency_kind kind)
{
    struct concurrency_curve *curve = concurrency_curve_new(model);
    double sum = 0;

    assert_non_null(curve);
    for (size_t s = 0; s < SAMPLES; s++) {
        assert_int_equal(concurrency_predict(model, kind, f->thread[s], curve), MODEL_OK);
        for (size_t i = 0; i + 1 < CORES; i++)
            sum += fabs(curve->cost[0][i] * f->cost[s][0][CORES - 1] / f->cost[s][0][i] - 1);
    }
    concurrency_curve_free(curve);
    return 100 * sum / (SAMPLES * (CORES - 1));
}

static void test_learns(void **state)
{
    const struct train_options options = {7, 1000};
    struct fixture f;

    (void)state;
    begin(&f);
    struct concurrency_model *m = concurrency_model_new(f.machine);
    assert_int_equal(train_model(f.list, SAMPLES, &options, m), MODEL_OK);
    double network = error_of(&f, m, CONCURRENCY_ANN), linear = error_of(&f, m, CONCURRENCY_LINEAR);
    assert_in_range((int)(1000 * network), 0, 1000);
    assert_true(linear > 3 * network);
    concurrency_model_free(m);
    machine_free(f.machine);
}

static void test_same_seed(void **state)
{
    const struct train_options options[] = {{7, 20}, {7, 20}, {8, 20}};
    struct concurrency_model *m[3];
    struct fixture f;

    (void)state;
    begin(&f);
    for (size_t i = 0; i < 3; i++) {
        m[i] = concurrency_model_new(f.machine);
        assert_int_equal(train_model(f.list, SAMPLES, &options[i], m[i]), MODEL_OK);
    }
    size_t size = concurrency_weights(&m[0]->shape) * sizeof(double);
    assert_memory_equal(m[0]->weight[0], m[1]->weight[0], size);
    assert_memory_not_equal(m[0]->weight[0], m[2]->weight[0], size);
    for (size_t i = 0; i < 3; i++)
        concurrency_model_free(m[i]);
    machine_free(f.machine);
}

static void test_bad_samples(void **state)
{
    const struct train_options options = {1, 1}, none = {1, 0};
    struct fixture f;

    (void)state;
    begin(&f);
    struct concurrency_model *m = concurrency_model_new(f.machine);
    assert_int_equal(train_model(f.list, TRAIN_LEAST - 1, &options, m), MODEL_ENODATA);
    assert_int_equal(train_model(f.list, SAMPLES, &none, m), MODEL_EINVAL);
    f.cost[3][1][2] = 0;
    assert_int_equal(train_model(f.list, SAMPLES, &options, m), MODEL_EINVAL);
    f.cost[3][1][2] = 1;
    f.thread[9][1].ipc = NAN;
    assert_int_equal(train_model(f.list, SAMPLES, &options, m), MODEL_EINVAL);
    concurrency_model_free(m);
    machine_free(f.machine);
}

UNIT(test_train)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_same_seed),
        cmocka_unit_test(test_bad_samples),
    };

    return cmocka_run_group_tests_name("test_train", tests, NULL, NULL);
}
