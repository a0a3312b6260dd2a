/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which NUMA node a core asks: the rule, its laws, and what a loop shows of it. */

#include "tests/model/near.h"

#include "model/aggregated_mva.h"
#include "model/locality.h"
#include "tests/support/uniform_machine.h"

#define NODES 4

static void test_rule(void **state)
{
    static const struct {
        double data[2], cores[2], locality, first[2]; /* what a core of node 0 asks */
    } known[] = {
        {{0.5, 0.5}, {1, 0}, 1, {0.5, 0.5}},     /* half of the data is there */
        {{0.5, 0.5}, {0.5, 0.5}, 1, {1, 0}},     /* each core has its own */
        {{0.25, 0.75}, {0.5, 0.5}, 1, {0.5, 0.5}}, /* more cores than data */
        {{0.75, 0.25}, {0.5, 0.5}, 1, {1, 0}},
        {{1, 0}, {0.5, 0.5}, 1, {1, 0}},
        {{0.25, 0.75}, {0.5, 0.5}, 0, {0.25, 0.75}},
        {{0.5, 0.5}, {0.5, 0.5}, 0.5, {0.75, 0.25}},
    };
    double part[2];

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        locality_parts(known[i].data, known[i].cores, 2, 0, known[i].locality, part);
        assert_near(part[0], known[i].first[0], 1e-12);
        assert_near(part[1], known[i].first[1], 1e-12);
    }
}

/* Parts of sum 1, some of them 0. */
static void draw(struct dice *dice, double *part)
{
    double sum = 0;

    for (size_t m = 0; m < NODES; m++)
        sum += part[m] = dice_range(dice, 0, 2) ? (double)dice_range(dice, 1, 9) : 0;
    if (!(sum > 0))
        sum = part[0] = 1;
    for (size_t m = 0; m < NODES; m++)
        part[m] /= sum;
}

/* Whatever the locality, all cores together ask each node for the data that is there. */
static void test_sums(void **state)
{
    struct dice dice = {31};
    double data[NODES], cores[NODES], part[NODES];

    (void)state;
    for (int round = 0; round < 500; round++) {
        double asked[NODES] = {0}, locality = round % 5 ? dice_unit(&dice) : 1;
        draw(&dice, data);
        draw(&dice, cores);
        for (size_t h = 0; h < NODES; h++) {
            double sum = 0;
            if (!(cores[h] > 0))
                continue;
            locality_parts(data, cores, NODES, h, locality, part);
            for (size_t m = 0; m < NODES; m++) {
                assert_true(part[m] >= 0);
                sum += part[m];
                asked[m] += cores[h] * part[m];
            }
            assert_near(sum, 1, 1e-9);
        }
        for (size_t m = 0; m < NODES; m++)
            assert_near(asked[m], data[m], 1e-9);
    }
}

/* A loop on CORES of each LLC domain whose threads ask by the rule. */
static struct loop *loop_of(const size_t *cores, const double *data, double locality)
{
    struct loop *loop = loop_new(NODES, NODES);
    double near[NODES], part[NODES];

    for (size_t i = 0; i < NODES; i++)
        loop->cores[i] = cores[i];
    for (size_t i = 0; i < NODES; i++)
        near[i] = (double)cores[i] / (double)loop_cores(loop);
    for (size_t i = 0; i < NODES; i++) {
        if (!cores[i])
            continue;
        locality_parts(data, near, NODES, i, locality, part);
        for (size_t m = 0; m < NODES; m++)
            loop->requests[i * NODES + m] = (struct loop_requests){
                .read = 600 * near[i] * part[m], .write = 400 * near[i] * part[m]};
    }
    return loop;
}

static void test_measured(void **state)
{
    struct machine *machine = machine_new_uniform(NODES, 4, NODES);
    struct dice dice = {32};
    int told = 0;

    (void)state;
    for (int round = 0; round < 300; round++) {
        double data[NODES], locality = dice_unit(&dice);
        size_t cores[NODES];
        draw(&dice, data);
        for (size_t i = 0; i < NODES; i++)
            cores[i] = dice_range(&dice, 0, 4);
        cores[round % NODES] = 1;
        struct loop *loop = loop_of(cores, data, locality);
        double found = locality_measured(machine, loop);
        if (!isnan(found)) {
            assert_near(found, locality, 1e-6);
            told++;
        }
        loop_free(loop);
    }
    assert_true(told > 150); /* nearly all that have data and cores on several nodes */
    machine_free(machine);
}

static void test_cannot_tell(void **state)
{
    struct machine *machine = machine_new_uniform(NODES, 4, NODES);
    const double even[NODES] = {0.25, 0.25, 0.25, 0.25}, one[NODES] = {1, 0, 0, 0};
    const size_t gathered[NODES] = {4, 0, 0, 0}, all[NODES] = {2, 2, 2, 2};
    struct loop *loops[] = {loop_of(gathered, even, 1), loop_of(all, one, 1),
                            loop_of(all, even, 1)};

    (void)state;
    for (size_t p = 0; p < NODES * NODES; p++) /* nothing is asked */
        loops[2]->requests[p] = (struct loop_requests){0};
    for (size_t i = 0; i < 3; i++) {
        assert_true(isnan(locality_measured(machine, loops[i])));
        loop_free(loops[i]);
    }
    machine_free(machine);
}

/* All data on the first NUMA node; of another job's requests, on the LLC domain that both share, a
 * part is taken for this one's.  That is not own data at home. */
static void test_neighbour(void **state)
{
    struct machine *machine = machine_new_uniform(NODES, 4, NODES);
    const double other[NODES] = {90, 80, 80, 80}; /* of 1000 requests */
    struct loop *loop = loop_new(NODES, NODES);

    (void)state;
    loop->cores[0] = 4;
    loop->cores[1] = 2;
    loop->requests[0].read = 670;
    for (size_t m = 0; m < NODES; m++)
        loop->requests[NODES + m].read = other[m];
    assert_true(isnan(locality_measured(machine, loop)));
    loop_free(loop);
    machine_free(machine);
}

/* Speed of a job of 4 cores, LEFT of them on the first of two NUMA nodes with a slow link between
 * them, where its data is evenly spread, beside one that only computes. */
static double speed_with(double locality, size_t left)
{
    struct machine *machine = machine_new_uniform(2, 4, 2);
    struct workload *streams = workload_new(2), *computes = workload_new(2);
    const struct workload *profile[2] = {streams, computes};
    const size_t counts[4] = {left, 4 - left, 4 - left, left};
    double speed[2];

    assert_int_equal(machine_connect_all(machine, 0.02), MODEL_OK);
    struct aggregated_mva *aggregated = aggregated_new(machine, 2);
    for (size_t m = 0; m < 2; m++)
        streams->rate[m].mrr_per_us = streams->rate[m].read_per_us = 20;
    streams->locality = locality;
    aggregated_prepare(aggregated, profile, 2);
    aggregated_predict(aggregated, counts, speed);
    aggregated_free(aggregated);
    workload_free(streams);
    workload_free(computes);
    machine_free(machine);
    return speed[0];
}

/* Who asks its own node gains by cores on both; who asks all alike cannot tell the layouts apart by
 * more than the two directions of a link. */
static void test_layouts(void **state)
{
    (void)state;
    assert_true(speed_with(1, 2) > 1.4 * speed_with(1, 4));
    assert_true(speed_with(1, 3) > 1.05 * speed_with(1, 4));
    assert_near(speed_with(1, 4), speed_with(0, 4), 1e-9);
    assert_near(speed_with(NAN, 2), speed_with(0, 2), 1e-12);
    assert_true(speed_with(0.5, 2) > speed_with(0, 2));
    assert_true(speed_with(0.5, 2) < speed_with(1, 2));
}

UNIT(test_locality)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_cannot_tell),
        cmocka_unit_test(test_neighbour),
        cmocka_unit_test(test_layouts),
    };

    return cmocka_run_group_tests_name("test_locality", tests, NULL, NULL);
}
