/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long reads stall, learnt from what was counted. */

#include "tests/model/near.h"

#include <string.h>

#include "model/stall_factor.h"
#include "tests/support/uniform_machine.h"

#define NODES 4
#define JOBS 2

static const struct stall_factor nothing[JOBS];

struct world {
    struct machine *machine;
    struct workload *work[JOBS];
    const struct workload *profile[JOBS];
    struct aggregated_mva *aggregated;
    struct stall_factor factor[JOBS];
    size_t counts[NODES * JOBS];
};

/* Two jobs with CORES on each of four LLC domains; all of one core's requests would load memory to
 * RHO, and so much of it is read. */
static void begin(struct world *w, const size_t cores[JOBS], const double rho[JOBS], double read)
{
    w->machine = machine_new_uniform(NODES, 16, NODES);
    for (size_t j = 0; j < JOBS; j++) {
        w->work[j] = workload_new_rho(NODES, rho[j], MACHINE_DEFAULT_SERVICE_US);
        for (size_t m = 0; m < NODES; m++)
            w->work[j]->rate[m].read_per_us *= read;
        w->profile[j] = w->work[j];
        w->factor[j] = nothing[j];
        for (size_t i = 0; i < NODES; i++)
            w->counts[i * JOBS + j] = cores[j];
    }
    w->aggregated = aggregated_new(w->machine, JOBS);
}

static void end(struct world *w)
{
    for (size_t j = 0; j < JOBS; j++)
        workload_free(w->work[j]);
    aggregated_free(w->aggregated);
    machine_free(w->machine);
}

/* Stalls with the factors F, by the model; speeds into SPEED. */
static void stalls_of(struct world *w, const double f[JOBS], double *stalls, double *speed)
{
    aggregated_prepare(w->aggregated, w->profile, JOBS);
    for (size_t j = 0; j < JOBS; j++)
        aggregated_set_stalls(w->aggregated, j, f[j]);
    aggregated_predict(w->aggregated, w->counts, speed);
    for (size_t j = 0; j < JOBS; j++)
        stalls[j] = aggregated_stalls(w->aggregated, j);
}

/* After TIMES intervals of US in which jobs stalled as SEEN. */
static void learn(struct world *w, const double seen[JOBS], int times, double us)
{
    struct stall_factor *each[JOBS] = {&w->factor[0], &w->factor[1]};

    for (int i = 0; i < times; i++)
        stall_factors_learn(each, w->aggregated, w->profile, w->counts, seen, JOBS, us, 0);
}

/* What a factor does: a lone core's stalls are in proportion, whatever it is; memory that is full
 * serves no more; a factor in the profile is the same as one that is set. */
static void test_model(void **state)
{
    static const double all[] = {0.125, 0.3, 1, 1.7, 4, 8};
    double one[JOBS], stalls[JOBS], speed[JOBS], slower[JOBS] = {0, 64};
    struct world w;

    (void)state;
    begin(&w, (size_t[]){0, 0}, (double[]){0.8, 0.5}, 1);
    w.counts[0] = 1;
    stalls_of(&w, (double[]){1, 1}, one, speed);
    assert_near(one[0], 0.8, 1e-6);
    for (size_t i = 0; i < 6; i++) {
        stalls_of(&w, (double[]){all[i], 1}, stalls, speed);
        assert_true(all[i] < 1 || fabs(stalls[0] - all[i] * one[0]) < 1e-6);
        /* Those that overlap wait for each other. */
        assert_true(all[i] >= 1 || (stalls[0] > all[i] * one[0] && stalls[0] < one[0]));
        w.work[0]->stall_factor = all[i];
        aggregated_prepare(w.aggregated, w.profile, JOBS);
        aggregated_predict(w.aggregated, w.counts, slower);
        assert_true(slower[0] == speed[0]);
    }
    end(&w);
    begin(&w, (size_t[]){8, 8}, (double[]){4, 3}, 1);
    slower[0] = slower[1] = 64;
    for (size_t i = 0; i < 6; i++) {
        stalls_of(&w, (double[]){all[i], all[i]}, stalls, speed);
        for (size_t j = 0; j < JOBS; j++)
            assert_true(speed[j] < slower[j] + 1e-6);
        memcpy(slower, speed, sizeof(speed));
        /* Requests that are served, of each node, by the model's service times. */
        assert_true(speed[0] * 4 + speed[1] * 3 < NODES);
    }
    end(&w);
}

/* Factors are found from the stalls that they cause, where these tell them. */
static void test_found(void **state)
{
    static const double truth[][JOBS] = {{0.5, 0.5}, {0.4, 1}, {2, 0.7}, {5, 3}, {1, 1}};
    static const double rho[][JOBS] = {{0.05, 0.02}, {0.2, 0.1}};
    double seen[JOBS], speed[JOBS];
    struct world w;

    (void)state;
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < 5; i++) {
            begin(&w, (size_t[]){2, 2}, rho[r], 0.7);
            stalls_of(&w, truth[i], seen, speed);
            learn(&w, seen, 60, 2e5);
            for (size_t j = 0; j < JOBS; j++) {
                double x = w.factor[j].log, true_x = log(truth[i][j]);
                assert_true(fabs(x) < fabs(true_x) + 0.02 && x * true_x >= 0);
                assert_true(seen[j] < 0.1 || fabs(x - true_x) <= 0.02 + 0.25 * fabs(true_x));
            }
            end(&w);
        }
}

/* Full memory tells nothing of them. */
static void test_saturated(void **state)
{
    double seen[JOBS], speed[JOBS];
    struct world w;

    (void)state;
    begin(&w, (size_t[]){8, 8}, (double[]){4, 4}, 1);
    stalls_of(&w, (double[]){1, 1}, seen, speed);
    seen[0] *= 1.1; /* as by a controller that is slower than calibrated */
    seen[1] *= 1.1;
    learn(&w, seen, 1000, 1e6);
    for (size_t j = 0; j < JOBS; j++)
        assert_true(stall_factor(&w.factor[j]) < 1.2);
    assert_true(stall_factor(&w.factor[0]) >= 1);
    end(&w);
}

/* What was counted for long weighs more, and what was last does most; who does not stall, or of
 * whom nothing is known, learns nothing. */
static void test_weights(void **state)
{
    double one[JOBS], speed[JOBS];
    struct world w;

    (void)state;
    begin(&w, (size_t[]){1, 1}, (double[]){0.2, 0.2}, 1);
    assert_true(stall_factor(&w.factor[0]) == 1);
    stalls_of(&w, (double[]){1, 1}, one, speed);
    learn(&w, (double[]){one[0] / 2, NAN}, 1, 5e3);
    double little = stall_factor(&w.factor[0]);
    assert_true(little < 1 && little > 0.7);
    w.factor[0] = nothing[0];
    learn(&w, (double[]){one[0] / 2, STALL_LEAST / 2}, 1, 5e5);
    assert_true(stall_factor(&w.factor[0]) < little);
    assert_true(stall_factor(&w.factor[1]) == 1 && !(w.factor[1].us > 0));
    learn(&w, (double[]){one[0] * 3, NAN}, 200, 5e4);
    assert_true(stall_factor(&w.factor[0]) > 3 && stall_factor(&w.factor[0]) < 4);
    learn(&w, (double[]){1e9, 1e-3}, 200, 1e6);
    assert_near(stall_factor(&w.factor[0]), STALL_MOST, 1e-9);
    assert_true(stall_factor(&w.factor[1]) == 1);
    double before = w.factor[0].log;
    stall_factors_learn((struct stall_factor *[]){NULL, NULL}, w.aggregated, w.profile, w.counts,
                        one, JOBS, 1e6, 0);
    assert_true(w.factor[0].log == before);
    end(&w);
}

UNIT(test_stall_factor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_saturated),
        cmocka_unit_test(test_weights),
    };

    return cmocka_run_group_tests_name("test_stall_factor", tests, NULL, NULL);
}
