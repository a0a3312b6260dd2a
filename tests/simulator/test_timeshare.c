/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The fluid model of time sharing: limits that are known, and its direction. */

#include "tests/support/unit.h"

#include <math.h>

#include "simulator/timeshare.h"
#include "tests/simulator/timeslices.h"

#define CORES 64

struct world {
    struct timeshare_params params;
    struct scenario_region region[4];
    struct timeshare_job job[4];
    struct timeshare_rate rate[4];
    struct timeshare_input input;
};

/* A parallel region of which each core's part between barriers is G. */
static struct scenario_region parallel(double g)
{
    return (struct scenario_region){.kind = REGION_PARALLEL,
                                     .work_s = g * CORES, .barriers = 1,
                                     .llc_per_us = 20};
}

static struct scenario_region serial(double work_s)
{
    return (struct scenario_region){.kind = REGION_SERIAL, .work_s = work_s};
}

/* COUNT jobs of a thread for each core. */
static void world_make(struct world *w, enum timeshare_wait wait,
                       const struct scenario_region *regions, size_t count)
{
    *w = (struct world){.params = timeshare_params(wait, CORES)};
    for (size_t i = 0; i < count; i++) {
        w->region[i] = regions[i];
        w->job[i] = (struct timeshare_job){&w->region[i], CORES, false};
    }
    w->input = (struct timeshare_input){.params = &w->params, .cores = CORES,
                                        .jobs = w->job, .count = count};
}

static double speed_of_first(enum timeshare_wait wait,
                             const struct scenario_region *regions,
                             size_t count)
{
    struct world w;

    world_make(&w, wait, regions, count);
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
    return w.rate[0].speed;
}

static void test_refuses_bad_input(void **state)
{
    struct scenario_region regions[] = {parallel(1)};
    struct world w;

    (void)state;
    world_make(&w, TIMESHARE_DEFAULT, regions, 1);
    w.input.cores = 0;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_EINVAL);
    w.input.cores = CORES;
    w.input.count = 0;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_EINVAL);
    w.input.count = SCENARIO_MAX_JOBS + 1;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_EINVAL);
    w.input.count = 1;
    w.job[0].threads = 0;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_EINVAL);
    w.job[0].threads = 1;
    w.params.slice_s = 0;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_EINVAL);
    w.params.slice_s = NAN;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_EINVAL);
}

/* Alone, nothing but imbalance and barriers is in the way. */
static void test_alone(void **state)
{
    struct scenario_region regions[] = {parallel(0.1)};

    (void)state;
    assert_float_equal(speed_of_first(TIMESHARE_ACTIVE, regions, 1), CORES,
                       0.01);
    regions[0].imbalance = 0.25;
    assert_float_equal(speed_of_first(TIMESHARE_ACTIVE, regions, 1),
                       CORES / 1.25, 0.01);
    regions[0].imbalance = 0;
    regions[0].sync_share = 0.1;
    assert_float_equal(speed_of_first(TIMESHARE_ACTIVE, regions, 1),
                       CORES * 0.9, 0.01);
    regions[0] = serial(10);
    assert_float_equal(speed_of_first(TIMESHARE_PASSIVE, regions, 1), 1,
                       1e-6);
}

/* Without barriers two programs have half of the cores each. */
static void test_fair_without_barriers(void **state)
{
    struct scenario_region two[] = {parallel(100), parallel(100)};
    struct scenario_region three[] = {parallel(100), parallel(100),
                                       parallel(100)};

    (void)state;
    for (int wait = 0; wait <= TIMESHARE_PASSIVE; wait++) {
        assert_float_equal(speed_of_first(wait, two, 2), CORES / 2.0,
                           0.02 * CORES);
        assert_float_equal(speed_of_first(wait, three, 3), CORES / 3.0,
                           0.02 * CORES);
    }
}

/* Spinning, one barrier takes about a turn of all queues, however little is
 * done between them. */
static void test_spinning_takes_a_turn_for_each_barrier(void **state)
{
    struct scenario_region regions[] = {parallel(5e-3), parallel(100)};
    struct world w;

    (void)state;
    world_make(&w, TIMESHARE_ACTIVE, regions, 2);
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
    /* Of 64 threads some one has just lost its core, for a slice of 12 to 15
     * ms. */
    assert_true(w.rate[0].barrier_s > 0.016);
    assert_true(w.rate[0].barrier_s < 0.022);
    assert_true(w.rate[0].spinning > 10);
    assert_true(w.rate[1].speed <= CORES / 2.0);
}

static void test_passive_beats_spinning_where_barriers_are_dense(void **state)
{
    struct scenario_region regions[] = {parallel(2e-3), parallel(2e-3)};

    (void)state;
    double active = speed_of_first(TIMESHARE_ACTIVE, regions, 2);
    double standard = speed_of_first(TIMESHARE_DEFAULT, regions, 2);
    double passive = speed_of_first(TIMESHARE_PASSIVE, regions, 2);

    assert_true(passive > standard);
    assert_true(standard > active);
    assert_true(passive > 2 * active);
    /* Alone it is the other way round: sleeping costs more than spinning. */
    assert_true(speed_of_first(TIMESHARE_ACTIVE, regions, 1) >
                speed_of_first(TIMESHARE_PASSIVE, regions, 1));
}

/* Workers that spin through their program's serial region take half of the
 * cores from the other one; sleeping ones nothing. */
static void test_workers_of_a_serial_region(void **state)
{
    struct scenario_region regions[] = {parallel(10), serial(10)};

    (void)state;
    assert_float_equal(speed_of_first(TIMESHARE_ACTIVE, regions, 2),
                       CORES / 2.0, 0.05 * CORES);
    assert_true(speed_of_first(TIMESHARE_PASSIVE, regions, 2) >
                0.95 * CORES);
}

/* A JVM's threads sleep whatever OpenMP's are told. */
static void test_who_sleeps(void **state)
{
    struct scenario_region regions[] = {parallel(10), serial(10)};
    struct world w;

    (void)state;
    world_make(&w, TIMESHARE_ACTIVE, regions, 2);
    w.job[1].sleeps = true;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
    assert_true(w.rate[0].speed > 0.9 * CORES);
    assert_true(w.rate[1].spinning < 0.01);
}

/* The serial region itself has to share its core. */
static void test_serial_region_shares_its_core(void **state)
{
    struct scenario_region regions[] = {serial(10), parallel(10)};

    (void)state;
    assert_float_equal(speed_of_first(TIMESHARE_PASSIVE, regions, 2), 0.5,
                       0.05);
}

/* No more is computed than there are cores, whatever the mix. */
static void test_no_more_than_the_cores(void **state)
{
    static const double g[] = {1e-4, 1e-3, 1e-2, 0.1, 1, 10};

    (void)state;
    for (size_t i = 0; i < 216; i++)
        for (int wait = 0; wait <= TIMESHARE_PASSIVE; wait++) {
            struct scenario_region regions[] = {
                parallel(g[i % 6]), parallel(g[i / 6 % 6]),
                i % 5 ? parallel(g[i / 36]) : serial(g[i / 36])};
            struct world w;
            double sum = 0;
            world_make(&w, wait, regions, 3);
            w.job[i % 3].threads = 1 + (i * 37) % (2 * CORES);
            assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
            for (size_t j = 0; j < 3; j++) {
                assert_true(isfinite(w.rate[j].speed));
                assert_true(w.rate[j].speed > 0);
                assert_true(w.rate[j].runnable >= 0);
                assert_true(w.rate[j].runnable <= 1);
                sum += w.rate[j].computing;
            }
            assert_true(sum <= CORES * 1.02);
        }
}

/* Slice by slice: two jobs on CORES, as fast as the fluid model says within a
 * factor of 2.5, and within a quarter in the mean. */
static void test_slice_by_slice(void **state)
{
    static const double gaps[] = {1e-4, 1e-3, 1e-2, 0.1};
    double sum = 0, cases = 0;

    (void)state;
    for (size_t i = 0; i < 48; i++) {
        const struct timeslices_job jobs[2] = {{gaps[i % 4], 0.02},
                                               {gaps[i / 4 % 4], 0.02}};
        struct scenario_region regions[2] = {parallel(jobs[0].gap_s),
                                               parallel(jobs[1].gap_s)};
        struct world w;
        double speed[2];
        regions[0].imbalance = regions[1].imbalance = 0.02;
        world_make(&w, (enum timeshare_wait)(i / 16), regions, 2);
        w.params.refill_s = 0; /* which slices do not know */
        w.params.wake_s /= 1 + log2(CORES);
        const struct timeslices_input input = {&w.params, CORES, jobs, 2, 2,
                                               1};
        assert_int_equal(timeslices_run(&input, speed), MODEL_OK);
        assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
        for (size_t j = 0; j < 2; j++) {
            double ratio = w.rate[j].speed / speed[j];
            assert_true(ratio < 2.5 && ratio > 1 / 2.5);
            sum += fabs(log(ratio));
            cases++;
        }
    }
    assert_true(exp(sum / cases) < 1.25);
}

static void test_slices_refuse_bad_input(void **state)
{
    const struct timeshare_params params =
        timeshare_params(TIMESHARE_DEFAULT, 2);
    const struct timeslices_job jobs[2] = {{1e-3, 0}, {0, 0}};
    struct timeslices_input input = {&params, 2, jobs, 0, 1, 1};
    double speed[2];

    (void)state;
    assert_int_equal(timeslices_run(&input, speed), MODEL_EINVAL);
    input.count = 2;
    assert_int_equal(timeslices_run(&input, speed), MODEL_EINVAL);
    input.count = 1;
    input.cores = 0;
    assert_int_equal(timeslices_run(&input, speed), MODEL_EINVAL);
    input.cores = 2;
    input.time_s = 0;
    assert_int_equal(timeslices_run(&input, speed), MODEL_EINVAL);
    /* Alone nothing is in the way. */
    input.time_s = 1;
    assert_int_equal(timeslices_run(&input, speed), MODEL_OK);
    assert_float_equal(speed[0], 2, 0.02);
}

/* A pinned team on fewer cores than threads: the fullest core is the last. */
static void test_pinned_team_on_fewer_cores(void **state)
{
    struct scenario_region regions[] = {parallel(0.05)};
    struct world w;

    (void)state;
    world_make(&w, TIMESHARE_ACTIVE, regions, 1);
    w.input.cores = 40;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
    assert_true(w.rate[0].speed < 34);
    w.input.cores = 32;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
    assert_true(w.rate[0].speed < 32);
    assert_true(w.rate[0].speed > 26);
}

/* Memory that lets each core compute for a part of its time. */
static enum model_status half(void *arg, const double *running,
                              double *share)
{
    size_t *calls = arg;

    ++*calls;
    for (size_t i = 0; i < 2; i++) {
        assert_true(running[i] >= 0);
        share[i] = i == 0 ? 0.5 : 1;
    }
    return MODEL_OK;
}

static enum model_status broken(void *arg, const double *running,
                                double *share)
{
    (void)arg, (void)running, (void)share;
    return MODEL_ENOCONV;
}

static void test_memory(void **state)
{
    struct scenario_region regions[] = {parallel(100), parallel(100)};
    struct world w;
    size_t calls = 0;

    (void)state;
    world_make(&w, TIMESHARE_DEFAULT, regions, 2);
    w.input.memory = half;
    w.input.arg = &calls;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_OK);
    assert_true(calls >= 1 && calls <= 8);
    assert_float_equal(w.rate[0].speed, CORES / 4.0, 0.02 * CORES);
    /* A stalled thread has its core all the same. */
    assert_float_equal(w.rate[0].computing, CORES / 2.0, 0.02 * CORES);
    assert_float_equal(w.rate[1].speed, CORES / 2.0, 0.02 * CORES);
    w.input.memory = broken;
    assert_int_equal(timeshare_solve(&w.input, w.rate), MODEL_ENOCONV);
}

static void test_parameters(void **state)
{
    (void)state;
    /* Linux 6.1 on 2 and on 8 or more cores. */
    assert_float_equal(timeshare_params(TIMESHARE_PASSIVE, 2).slice_s, 6e-3,
                       1e-9);
    assert_float_equal(timeshare_params(TIMESHARE_PASSIVE, 8).slice_s, 12e-3,
                       1e-9);
    assert_float_equal(timeshare_params(TIMESHARE_PASSIVE, 64).slice_s, 12e-3,
                       1e-9);
    assert_true(isinf(timeshare_params(TIMESHARE_ACTIVE, 2).spin_s));
    assert_true(timeshare_params(TIMESHARE_PASSIVE, 2).spin_s == 0);
}

UNIT(test_timeshare)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_bad_input),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_fair_without_barriers),
        cmocka_unit_test(test_spinning_takes_a_turn_for_each_barrier),
        cmocka_unit_test(test_passive_beats_spinning_where_barriers_are_dense),
        cmocka_unit_test(test_workers_of_a_serial_region),
        cmocka_unit_test(test_who_sleeps),
        cmocka_unit_test(test_serial_region_shares_its_core),
        cmocka_unit_test(test_no_more_than_the_cores),
        cmocka_unit_test(test_slice_by_slice),
        cmocka_unit_test(test_slices_refuse_bad_input),
        cmocka_unit_test(test_pinned_team_on_fewer_cores),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_parameters),
    };

    return cmocka_run_group_tests_name("test_timeshare", tests, NULL, NULL);
}
