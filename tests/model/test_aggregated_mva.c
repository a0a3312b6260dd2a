/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The closed network by job against the closed network in full. */

#include "tests/model/near.h"

#include "model/analysis/closed.h"
#include "model/aggregated_mva.h"
#include "tests/support/uniform_machine.h"

#define JOBS 3

/* Speeds of JOBS on a machine of four nodes, by both; STRIDE of NUMA nodes
 * that a job uses, READS part of its requests that stall.  Returns the greatest
 * difference. */
static double compare(struct dice *dice, size_t stride, double reads, double locality)
{
    struct machine *m = machine_new_uniform(4, 6, 4);
    const struct workload *profile[JOBS];
    size_t counts[4 * JOBS];
    double fast[JOBS], full[JOBS], worst = 0;
    struct aggregated_mva *aggregated;

    for (size_t j = 0; j < JOBS; j++) {
        struct workload *w = workload_new(4);
        double rate = dice_unit(dice) / MACHINE_DEFAULT_SERVICE_US / 4;
        for (size_t k = 0; k < 4; k += stride) {
            w->rate[k].mrr_per_us = rate;
            w->rate[k].read_per_us = rate * reads;
        }
        w->locality = locality;
        profile[j] = w;
    }
    if (locality > 0)
        assert_int_equal(machine_connect_all(m, 0.002), MODEL_OK);
    aggregated = aggregated_new(m, JOBS);
    for (size_t c = 0; c < 4 * JOBS; c++)
        counts[c] = dice_range(dice, 0, 2);
    struct system_input input = {m, JOBS, profile, NULL, counts, MVA_AUTOMATIC};
    struct closed_result result = {.job_speed = full};
    assert_int_equal(closed_solve(NETWORK_SCHWEITZER, &input, &result),
                     MODEL_OK);
    aggregated_prepare(aggregated, profile, JOBS);
    aggregated_predict(aggregated, counts, fast);
    for (size_t j = 0; j < JOBS; j++)
        worst = fmax(worst, fabs(fast[j] - full[j]) / fmax(full[j], 0.1));
    for (size_t j = 0; j < JOBS; j++)
        workload_free((struct workload *)(uintptr_t)profile[j]);
    aggregated_free(aggregated);
    machine_free(m);
    return worst;
}

/* Reads are the same but for a customer's part of its own queue. */
static void test_reads(void **state)
{
    struct dice dice = {17};

    (void)state;
    for (int round = 0; round < 200; round++)
        assert_true(compare(&dice, 1 + (size_t)round % 3, 1, NAN) < 0.02);
}

static void test_posted(void **state)
{
    struct dice dice = {18};

    (void)state;
    for (int round = 0; round < 200; round++)
        assert_true(compare(&dice, 1, 0.7, NAN) < 0.1);
}

/* Links are visited as the mean of a job's cores does, and each core by where it is. */
static void test_locality_by_job(void **state)
{
    struct dice dice = {20};
    double sum = 0, worst = 0;

    (void)state;
    for (int round = 0; round < 200; round++) {
        double error = compare(&dice, 1 + (size_t)round % 3, 1, dice_unit(&dice));
        sum += error;
        worst = fmax(worst, error);
    }
    assert_true(sum / 200 < 0.03); /* 0.014, 0.12 at worst */
    assert_true(worst < 0.2);
}

/* Cores far from a job's memory compute less than those beside it, and take less
 * of its way there. */
static void test_far_cores(void **state)
{
    struct machine *m = machine_new_uniform(4, 6, 4);
    struct workload *w[2] = {workload_new(4), workload_new(4)};
    const struct workload *profile[2] = {w[0], w[1]};
    struct dice dice = {19};
    double sum = 0;

    (void)state;
    assert_int_equal(machine_connect_all(m, 0.1), MODEL_OK);
    struct aggregated_mva *aggregated = aggregated_new(m, 2);
    for (int round = 0; round < 100; round++) {
        size_t counts[4 * 2];
        double fast[2], full[2];
        for (size_t j = 0; j < 2; j++)
            w[j]->rate[j].mrr_per_us = w[j]->rate[j].read_per_us =
                10 * dice_unit(&dice);
        for (size_t c = 0; c < 4 * 2; c++)
            counts[c] = dice_range(&dice, 1, 3);
        struct system_input input = {m, 2, profile, NULL, counts, MVA_AUTOMATIC};
        struct closed_result result = {.job_speed = full};
        assert_int_equal(closed_solve(NETWORK_SCHWEITZER, &input, &result),
                         MODEL_OK);
        aggregated_prepare(aggregated, profile, 2);
        aggregated_predict(aggregated, counts, fast);
        sum += (fabs(fast[0] / full[0] - 1) + fabs(fast[1] / full[1] - 1)) / 2;
    }
    assert_true(sum / 100 < 0.1);
    for (size_t j = 0; j < 2; j++)
        workload_free(w[j]);
    aggregated_free(aggregated);
    machine_free(m);
}

static void test_limits(void **state)
{
    struct machine *m = machine_new_uniform(2, 4, 2);
    struct workload *none = workload_new(2);
    struct workload *posts = workload_new(2);
    const struct workload *profile[2] = {none, posts};
    size_t counts[4] = {4, 0, 0, 4};
    double speed[2];

    (void)state;
    assert_null(aggregated_new(m, 0));
    struct aggregated_mva *aggregated = aggregated_new(m, 2);
    /* A core that never asks never waits; who only writes gets no further
     * than the controllers do: two of 100 / us. */
    m->controller_service_us[0] = m->controller_service_us[1] = 0.01;
    posts->rate[0].mrr_per_us = posts->rate[1].mrr_per_us = 100;
    aggregated_prepare(aggregated, profile, 2);
    aggregated_predict(aggregated, counts, speed);
    assert_near(speed[0], 4, 1e-9);
    assert_near(speed[1], 1, 0.01);
    counts[3] = 0;
    aggregated_predict(aggregated, counts, speed);
    assert_near(speed[1], 0, 0);
    aggregated_free(aggregated);
    aggregated_free(NULL);
    workload_free(none);
    workload_free(posts);
    machine_free(m);
}

/* The core that is furthest from the memory sets the pace of those that wait. */
/* A job that waits for itself gets on the slower the more cores it has (4.11), and asks the
 * less of others meanwhile. */
static void test_synchronisation(void **state)
{
    struct machine *m = machine_new_uniform(2, 8, 1);
    struct workload *w = workload_new(1);
    struct workload *other = workload_new_rho(1, 0.05, MACHINE_DEFAULT_SERVICE_US);
    const struct workload *profile[] = {w, other};
    struct aggregated_mva *aggregated = aggregated_new(m, 2);
    size_t counts[] = {8, 0, 0, 8};
    double speed[2], before;

    (void)state;
    w->sync_share = 0.4;
    aggregated_prepare(aggregated, profile, 2);
    aggregated_predict(aggregated, counts, speed);
    assert_true(fabs(speed[0] - 8 * (1 - 0.4 / 2)) < 1e-6);
    counts[0] = 1;
    aggregated_predict(aggregated, counts, speed);
    assert_true(fabs(speed[0] - (1 - 0.4 / 16)) < 1e-6);
    counts[0] = 8;
    w->rate[0] = (struct workload_rate){0.2 / MACHINE_DEFAULT_SERVICE_US,
                                        0.2 / MACHINE_DEFAULT_SERVICE_US};
    w->sync_share = 0;
    aggregated_prepare(aggregated, profile, 2);
    aggregated_predict(aggregated, counts, speed);
    before = speed[1];
    w->sync_share = 1;
    aggregated_prepare(aggregated, profile, 2);
    aggregated_predict(aggregated, counts, speed);
    assert_true(speed[1] > 1.01 * before);
    aggregated_free(aggregated);
    workload_free(w);
    workload_free(other);
    machine_free(m);
}

static void test_waits(void **state)
{
    struct machine *m = machine_new_uniform(2, 4, 2);
    struct workload *w = workload_new(2);
    const struct workload *profile[1] = {w};
    size_t counts[2] = {4, 0};
    double close, apart, waiting;

    (void)state;
    assert_int_equal(machine_connect_all(m, 0.02), MODEL_OK);
    w->rate[0].mrr_per_us = w->rate[0].read_per_us = 20;
    struct aggregated_mva *aggregated = aggregated_new(m, 1);
    aggregated_prepare(aggregated, profile, 1);
    aggregated_predict(aggregated, counts, &close);
    counts[0] = counts[1] = 2;
    aggregated_predict(aggregated, counts, &apart);
    aggregated_waits(aggregated, 0);
    aggregated_predict(aggregated, counts, &waiting);
    assert_true(waiting < 0.98 * apart);
    counts[0] = 4; /* all in one place wait alike */
    counts[1] = 0;
    aggregated_predict(aggregated, counts, &waiting);
    assert_near(waiting, close, 1e-3 * close);
    aggregated_prepare(aggregated, profile, 1); /* until the next mix */
    counts[0] = counts[1] = 2;
    aggregated_predict(aggregated, counts, &waiting);
    assert_near(waiting, apart, 1e-3 * apart);
    aggregated_free(aggregated);
    workload_free(w);
    machine_free(m);
}

static void test_total(void **state)
{
    struct workload_rate rate[] = {{5, 2}, {0, 0}, {1.5, 1}};
    struct workload w = {.numa_nodes = 3, .rate = rate};
    struct workload_rate total = workload_total(&w);
    (void)state;

    assert_near(total.mrr_per_us, 6.5, 1e-12);
    assert_near(total.read_per_us, 3, 1e-12);
}

/* Sixteen threads on nine cores take two rounds, as on eight. */
static void test_rounds(void **state)
{
    struct machine *m = machine_new_uniform(2, 16, 2);
    struct workload *w = workload_new(2);
    const struct workload *profile[1] = {w};
    const struct {
        size_t cores;
        double speed;
    } table[] = {{1, 1}, {8, 8}, {9, 8}, {15, 8}, {16, 16}, {24, 16}, {32, 16}};
    double speed;

    (void)state;
    assert_near(workload_rounds(0, 9), 1, 1e-12);
    assert_near(workload_rounds(16, 0), 1, 1e-12);
    assert_near(workload_rounds(SIZE_MAX / 4, 3), 1, 1e-9);
    struct aggregated_mva *aggregated = aggregated_new(m, 1);
    aggregated_prepare(aggregated, profile, 1);
    aggregated_rounds(aggregated, 0, 16);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        size_t c = table[i].cores, counts[2] = {c < 16 ? c : 16, c < 16 ? 0 : c - 16};
        aggregated_predict(aggregated, counts, &speed);
        assert_near(speed, table[i].speed, 1e-9);
    }
    aggregated_prepare(aggregated, profile, 1); /* until the next mix */
    aggregated_predict(aggregated, (size_t[]){15, 0}, &speed);
    assert_near(speed, 15, 1e-9);
    aggregated_free(aggregated);
    workload_free(w);
    machine_free(m);
}

/* What was asked before does not matter, to the last bit. */
static void test_same(void **state)
{
    struct machine *m = machine_new_uniform(4, 4, 4);
    struct workload *w[2] = {workload_new_rho(4, 0.2, 1),
                             workload_new_rho(4, 1, 1)};
    const struct workload *profile[2] = {w[0], w[1]};
    struct aggregated_mva *aggregated;
    struct dice dice = {5};
    size_t counts[8] = {4, 0, 3, 1, 0, 4, 0, 2};
    double first[2], again[2];

    (void)state;
    assert_int_equal(machine_connect_all(m, 0.1), MODEL_OK);
    aggregated = aggregated_new(m, 2);
    aggregated_prepare(aggregated, profile, 2);
    aggregated_predict(aggregated, counts, first);
    for (size_t round = 0; round < 20; round++) {
        size_t other[8];
        for (size_t c = 0; c < 8; c++)
            other[c] = dice_range(&dice, 0, 2);
        aggregated_predict(aggregated, other, again);
        aggregated_predict(aggregated, counts, again);
        assert_memory_equal(first, again, sizeof(first));
    }
    aggregated_free(aggregated);
    workload_free(w[0]);
    workload_free(w[1]);
    machine_free(m);
}

/* With a power law of misses it is as fast as one with that many without. */
static void test_crowd(void **state)
{
    struct machine *m = machine_new_uniform(4, 6, 4);
    struct workload *law = workload_new_rho(4, 0.2, MACHINE_DEFAULT_SERVICE_US);
    struct workload *plain = workload_new(4), *other = workload_new_rho(4, 0.1, 0.01);
    struct aggregated_mva *aggregated = aggregated_new(m, 2);
    double speed[2], expected[2];

    (void)state;
    law->llc_power = 0.7;
    law->llc_cores = 3;
    law->llc_per_us = plain->llc_per_us = other->llc_per_us = 20;
    for (size_t n = 1; n <= 6; n++) {
        size_t counts[4 * 2] = {0};
        for (size_t i = 0; i < 4; i++) {
            counts[2 * i] = n;
            counts[2 * i + 1] = 6 - n;
            plain->rate[i].read_per_us = law->rate[i].read_per_us * pow((double)n / 3, 0.7);
            plain->rate[i].mrr_per_us = plain->rate[i].read_per_us;
        }
        aggregated_prepare(aggregated, (const struct workload *[]){law, other}, 2);
        aggregated_predict(aggregated, counts, speed);
        aggregated_prepare(aggregated, (const struct workload *[]){plain, other}, 2);
        aggregated_predict(aggregated, counts, expected);
        assert_near(speed[0], expected[0], 1e-9);
        assert_near(speed[1], expected[1], 1e-9);
    }
    aggregated_free(aggregated);
    workload_free(law);
    workload_free(plain);
    workload_free(other);
    machine_free(m);
}

UNIT(test_aggregated_mva)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_posted),
        cmocka_unit_test(test_locality_by_job),
        cmocka_unit_test(test_far_cores),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_synchronisation),
        cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests_name("test_aggregated_mva", tests, NULL, NULL);
}
