/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What each policy but the greater ones is for, by itself. */

#include "tests/model/known.h"

/* ---- batch and native ---- */

static void test_batch(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS];

    (void)state;
    mix_init(&mix, 2, 4, 3);
    struct policy_decision out = decided("batch", &mix, owner);
    assert_int_equal(out.mode, POLICY_TURNS);
    assert_false(out.rotates);
    assert_int_equal(count_of(&mix, owner, 0), 8);
    mix.jobs[0].max_cores = 3;
    decided("batch", &mix, owner);
    assert_int_equal(count_of(&mix, owner, 0), 3);
    assert_int_equal(count_of(&mix, owner, POLICY_NOBODY), 5);
    mix_free(&mix);
}

static void test_native(void **state)
{
    struct known k;
    int owner[MAX_CPUS];

    (void)state;
    known_init(&k, "native", 8, 2);
    struct policy_decision out = decided("native", &k.mix, owner);
    assert_int_equal(out.mode, POLICY_NATIVE);
    assert_int_equal(count_of(&k.mix, owner, POLICY_NOBODY), 8);
    assert_non_null(strstr(out.reason, "the time of 8 cores among 2 jobs"));
    mix_free(&k.mix);
}

/* ---- scalability ---- */

/* Decide until nothing moves for a while; returns the decisions that moved. */
static size_t local_search(struct known *k, int decisions, double *cores_of_first)
{
    size_t moves = 0;
    int owner[MAX_CPUS];

    for (int i = 0; i < decisions; i++) {
        struct policy_decision out = decided("scalability", &k->mix, owner);
        moves += i > 0 && out.moved > 0;
        memcpy(k->mix.owner, owner, k->mix.machine->cpus * sizeof(int));
    }
    *cores_of_first = (double)count_of(&k->mix, k->mix.owner, 0);
    return moves;
}

/* Thesis figure 4.3: the most CPU utilisation is at 15 to 1. */
static void test_scalability_golden(void **state)
{
    struct known k;
    double cores;

    (void)state;
    known_init(&k, "scalability", 16, 2);
    set_rho(&k.mix, 1, 0.5);
    k.mix.input.fairness_percent = 100;
    k.mix.input.state =
        policy_state_new(policy_find("scalability"), k.mix.machine);
    assert_int_equal(local_search(&k, 100, &cores), 7);
    assert_near(cores, 15, 0);
    policy_state_free(k.mix.input.state);
    /* The fairness bound keeps B at half of what it does alone, less 25 %. */
    k.mix.input.fairness_percent = 25;
    k.mix.input.state =
        policy_state_new(policy_find("scalability"), k.mix.machine);
    local_search(&k, 100, &cores);
    assert_near(cores, 14, 0);
    policy_state_free(k.mix.input.state);
    mix_free(&k.mix);
}

/* What is measured counts more than what is predicted. */
static void test_scalability_measured(void **state)
{
    struct known k;
    double cores;

    (void)state;
    known_init(&k, "scalability", 16, 2);
    set_rho(&k.mix, 1, 0.5);
    k.mix.input.fairness_percent = 100;
    k.facts[0].cpu_share = 0.2;
    k.facts[1].cpu_share = 0.9;
    k.mix.input.state =
        policy_state_new(policy_find("scalability"), k.mix.machine);
    local_search(&k, 30, &cores);
    assert_near(cores, 1, 0);
    policy_state_free(k.mix.input.state);
    mix_free(&k.mix);
}

/* A step that makes things worse is taken back and left alone. */
static void test_scalability_reverts(void **state)
{
    struct known k;
    int owner[MAX_CPUS];

    (void)state;
    known_init(&k, "scalability", 16, 2);
    k.mix.input.state =
        policy_state_new(policy_find("scalability"), k.mix.machine);
    k.facts[0].cpu_share = 0.9;
    k.facts[1].cpu_share = 0.5;
    decided("scalability", &k.mix, k.mix.owner);
    struct policy_decision out = decided("scalability", &k.mix, k.mix.owner);
    assert_int_equal(count_of(&k.mix, k.mix.owner, 0), 9);
    assert_non_null(strstr(out.reason, "compute 50 %"));
    k.facts[0].cpu_share = 0.7; /* all cores together: 9.8 after 11.2 */
    out = decided("scalability", &k.mix, k.mix.owner);
    assert_int_equal(count_of(&k.mix, k.mix.owner, 0), 8);
    assert_non_null(strstr(out.reason, "taken back"));
    for (int i = 0; i < 38; i++) {
        decided("scalability", &k.mix, owner);
        assert_int_equal(count_of(&k.mix, owner, 0), 8);
    }
    policy_state_free(k.mix.input.state);
    mix_free(&k.mix);
}

/* A job has its share again when its serial region ends. */
static void test_scalability_after_serial(void **state)
{
    struct known k;
    double cores;

    (void)state;
    known_init(&k, "scalability", 16, 2);
    k.mix.input.state =
        policy_state_new(policy_find("scalability"), k.mix.machine);
    k.mix.jobs[0].kind = REGION_SERIAL;
    local_search(&k, 5, &cores);
    assert_near(cores, 1, 0);
    k.mix.jobs[0].kind = REGION_PARALLEL;
    local_search(&k, 1, &cores);
    assert_near(cores, 8, 0);
    policy_state_free(k.mix.input.state);
    mix_free(&k.mix);
}

static void test_scalability_does_not_oscillate(void **state)
{
    struct dice dice = {3};

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct known k;
        size_t moves = 0;
        known_init(&k, "scalability", 24, 3);
        k.mix.input.state =
            policy_state_new(policy_find("scalability"), k.mix.machine);
        for (int i = 0; i < 400; i++) {
            int owner[MAX_CPUS];
            for (size_t j = 0; j < 3; j++) {
                /* Saturates at so many cores; measured within 2 %. */
                double most = 4 + 4 * (double)j;
                size_t n = count_of(&k.mix, k.mix.owner, (int)j);
                k.facts[j].cpu_share =
                    fmin(1, most / (double)(n ? n : 8)) *
                    (0.96 + 0.04 * dice_unit(&dice));
            }
            struct policy_decision out = decided("scalability", &k.mix, owner);
            moves += i >= 40 && out.moved > 0;
            memcpy(k.mix.owner, owner, sizeof(owner));
        }
        /* Two at most, there and back, per time of patience. */
        if (moves > 2 * 9 + 2)
            fail_msg("%zu moves in 360 decisions", moves);
        policy_state_free(k.mix.input.state);
        mix_free(&k.mix);
    }
}

/* As published it takes no step back for good and oscillates (thesis 4.4.2). */
static void test_scalability_as_published(void **state)
{
    struct known k;
    size_t moves = 0;

    (void)state;
    known_init(&k, "scalability", 24, 2);
    option(&k, "scalability", "patience:0;difference:0;hysteresis:0");
    k.mix.input.state =
        policy_state_new(policy_find("scalability"), k.mix.machine);
    for (int i = 0; i < 100; i++) {
        int owner[MAX_CPUS];
        for (size_t j = 0; j < 2; j++) {
            size_t n = count_of(&k.mix, k.mix.owner, (int)j);
            k.facts[j].cpu_share = fmin(1, 8 / (double)(n ? n : 12));
        }
        moves += decided("scalability", &k.mix, owner).moved > 0;
        memcpy(k.mix.owner, owner, sizeof(owner));
    }
    assert_true(moves > 60);
    policy_state_free(k.mix.input.state);
    mix_free(&k.mix);
}

/* ---- amdahl ---- */

/* Throughput on CORES cores of a job with parallel fraction F. */
static double amdahl(double f, double cores)
{
    return cores / (cores * (1 - f) + f);
}

static void test_amdahl(void **state)
{
    static const double f[2] = {0.95, 0.6};
    struct station_sample points[2][2];
    struct known k;
    int owner[MAX_CPUS];

    (void)state;
    known_init(&k, "amdahl", 16, 2);
    k.mix.input.fairness_percent = 100;
    for (size_t j = 0; j < 2; j++) {
        for (size_t i = 0; i < 2; i++)
            points[j][i] = (struct station_sample){
                .cores = i ? 8 : 16,
                .throughput = 3e4 * amdahl(f[j], i ? 8 : 16),
                .weight = 1};
        k.facts[j].points = points[j];
        k.facts[j].point_count = 2;
        k.mix.jobs[j].profile = NULL; /* needs none */
    }
    struct policy_decision out = decided("amdahl", &k.mix, owner);
    double a = (double)count_of(&k.mix, owner, 0);
    assert_non_null(strstr(out.reason, "0.6000 to 0.9500"));
    /* Bids that have settled: cores in proportion to sqrt(f) s(cores). */
    double ratio = sqrt(f[0]) * amdahl(f[0], a) /
                   (sqrt(f[1]) * amdahl(f[1], 16 - a));
    if (fabs(a - 16 * ratio / (1 + ratio)) > 1)
        fail_msg("%g cores, bids say %g", a, 16 * ratio / (1 + ratio));
    assert_true(a > 10);
    k.facts[1].point_count = 1; /* one profile does not tell */
    out = decided("amdahl", &k.mix, owner);
    assert_int_equal(count_of(&k.mix, owner, 0), 8);
    assert_non_null(strstr(out.reason, "measured at two numbers"));
    mix_free(&k.mix);
}

/* ---- best-simple ---- */

static void test_best_simple(void **state)
{
    struct known k;
    int owner[MAX_CPUS];

    (void)state;
    known_init(&k, "best-simple", 16, 2);
    set_rho(&k.mix, 1, 0.5);
    assert_int_equal(decided("best-simple", &k.mix, owner).mode, POLICY_NATIVE);
    set_rho(&k.mix, 0, 0.5); /* both saturate */
    assert_int_equal(decided("best-simple", &k.mix, owner).mode, POLICY_TURNS);
    assert_int_equal(count_of(&k.mix, owner, 0), 16);
    /* Barriers eat what sharing gains. */
    set_rho(&k.mix, 0, 0);
    k.mix.profile[0]->sync_share = k.mix.profile[1]->sync_share = 0.9;
    struct policy_decision out = decided("best-simple", &k.mix, owner);
    assert_int_equal(out.mode, POLICY_TURNS);
    assert_non_null(strstr(out.reason, "one after the other"));
    mix_free(&k.mix);
}

UNIT(test_policy_each)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_native),
        cmocka_unit_test(test_scalability_golden),
        cmocka_unit_test(test_scalability_measured),
        cmocka_unit_test(test_scalability_reverts),
        cmocka_unit_test(test_scalability_after_serial),
        cmocka_unit_test(test_scalability_does_not_oscillate),
        cmocka_unit_test(test_scalability_as_published),
        cmocka_unit_test(test_amdahl),
        cmocka_unit_test(test_best_simple),
    };

    return cmocka_run_group_tests_name("test_policy_each", tests, NULL, NULL);
}
