/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* System utilisation: the thesis' example, eq. 4.4, symmetry, bounds. */

#include "tests/model/near.h"

#include "model/station.h"
#include "model/analysis/system.h"
#include "tests/support/uniform_machine.h"

#define CORES 16
#define SERVICE_US 50.0 /* thesis 4.2.1: one request in 50 time units */
#define MRR 0.01        /* of workload B */

/* One LLC domain of 16 cores, one controller. */
static struct machine *smp(void)
{
    struct machine *m = machine_new_uniform(1, CORES, 1);

    m->controller_service_us[0] = SERVICE_US;
    return m;
}

static struct system_result solved(const struct system_input *in,
                                   double *speed)
{
    struct system_result result;

    assert_int_equal(system_solve(in, &result, speed), MODEL_OK);
    assert_near(result.utilisation, result.cpu + result.memory, 1e-12);
    return result;
}

/* System utilisation of A on N_A cores beside B on N_B. */
static struct system_result pair(size_t n_a, size_t n_b)
{
    struct machine *m = smp();
    struct workload *a = workload_new(1);
    struct workload *b = workload_new_rho(1, MRR * SERVICE_US, SERVICE_US);
    const struct workload *profile[] = {a, b};
    const size_t cores[] = {n_a, n_b};
    struct system_input in = {.machine = m, .jobs = 2, .profile = profile,
                              .cores = cores, .method = MVA_AUTOMATIC};
    double speed[2];

    assert_near(b->rate[0].mrr_per_us, MRR, 1e-15);
    struct system_result result = solved(&in, speed);
    /* A core that never waits against one of B's. */
    assert_near(speed[0], (double)n_a, 1e-12);
    if (n_b)
        assert_near(speed[1], station_speedup(n_b, 0.5) / 1.5, 1e-12);
    workload_free(a);
    workload_free(b);
    machine_free(m);
    return result;
}

/* Time until both are done: when one ends, the other one gets all cores. */
static double makespan(double work_a, double work_b, size_t n_a)
{
    double rate_a = (double)n_a, rate_b = station_speedup(CORES - n_a, 0.5);
    double end_a = work_a / rate_a, end_b = work_b / rate_b;

    if (end_a < end_b)
        return end_a +
               (work_b - rate_b * end_a) / station_speedup(CORES, 0.5);
    return end_b + (work_a - rate_a * end_b) / CORES;
}

static size_t best_split(double work_a, double work_b)
{
    size_t best = 1;

    for (size_t n = 2; n < CORES; n++)
        if (makespan(work_a, work_b, n) < makespan(work_a, work_b, best))
            best = n;
    return best;
}

/* Thesis 4.2.2, figures 4.3 and 4.4. */
static void test_golden_pair(void **state)
{
    double batch = 400.0 / CORES + 100 / station_speedup(CORES, 0.5);
    size_t best_system = 1, best_cpu = 1;

    (void)state;
    assert_int_equal(best_split(400, 100), 11);
    assert_int_equal(best_split(800, 100), 14);
    assert_near(makespan(400, 100, 11) / batch, 0.61, 0.005);
    for (size_t n = 2; n < CORES; n++) {
        if (pair(n, CORES - n).utilisation >
            pair(best_system, CORES - best_system).utilisation)
            best_system = n;
        if (pair(n, CORES - n).cpu > pair(best_cpu, CORES - best_cpu).cpu)
            best_cpu = n;
    }
    assert_int_equal(best_system, 11);
    assert_int_equal(best_cpu, 15);
}

static void test_one_node_is_the_station(void **state)
{
    (void)state;
    for (size_t n = 0; n <= CORES; n++) {
        struct system_result result = pair(CORES - n, n);
        struct station station;
        assert_int_equal(station_solve(n, MRR, 1 / SERVICE_US, &station),
                         MODEL_OK);
        assert_near(result.memory, station.utilisation, 1e-12); /* 4.4 */
    }
}

static void test_bad_input(void **state)
{
    struct machine *m = smp();
    struct machine *wide = machine_new_uniform(SYSTEM_MAX_DOMAINS + 1, 1, 1);
    struct workload *one = workload_new(1), *two = workload_new(2);
    const struct workload *profile[SYSTEM_MAX_JOBS + 1];
    size_t cores[SYSTEM_MAX_JOBS + 1] = {0};
    struct system_result result;
    struct system_input in = {.machine = m, .jobs = 1, .profile = profile,
                              .cores = cores, .method = MVA_AUTOMATIC};

    (void)state;
    for (size_t j = 0; j <= SYSTEM_MAX_JOBS; j++)
        profile[j] = one;
    assert_int_equal(system_solve(&in, &result, NULL), MODEL_OK);
    in.jobs = 0;
    assert_int_equal(system_solve(&in, &result, NULL), MODEL_EINVAL);
    in.jobs = SYSTEM_MAX_JOBS + 1;
    assert_int_equal(system_solve(&in, &result, NULL), MODEL_EINVAL);
    in.jobs = 2;
    profile[1] = two;
    assert_int_equal(system_solve(&in, &result, NULL), MODEL_EINVAL);
    in.jobs = 1;
    in.machine = wide;
    assert_int_equal(system_solve(&in, &result, NULL), MODEL_EINVAL);
    workload_free(one);
    workload_free(two);
    machine_free(m);
    machine_free(wide);
}

/* Four nodes with links, three jobs of random rates, reads and writes. */
static void test_bounds(void **state)
{
    static const enum mva_method methods[] = {MVA_AUTOMATIC, MVA_EXACT,
                                              MVA_APPROXIMATE, MVA_AVERAGE};
    struct dice dice = {31};

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct machine *m = machine_new_uniform(4, 8, 4);
        struct workload *w[3];
        size_t cores[12];
        double speed[3];
        machine_connect_all(m, 0.001 + 0.02 * dice_unit(&dice));
        for (size_t j = 0; j < 3; j++) {
            w[j] = workload_new(4);
            for (size_t k = 0; k < 4; k++) {
                w[j]->rate[k].mrr_per_us = 300 * pow(dice_unit(&dice), 4);
                w[j]->rate[k].read_per_us =
                    w[j]->rate[k].mrr_per_us * dice_unit(&dice);
            }
        }
        for (size_t c = 0; c < 12; c++)
            cores[c] = dice_range(&dice, 0, c % 3 == 2 ? 2 : 3);
        const struct workload *profile[] = {w[0], w[1], w[2]};
        struct system_input in = {.machine = m, .jobs = 3, .profile = profile,
                                  .cores = cores,
                                  .method = methods[dice_range(&dice, 0, 3)]};
        struct system_result result = solved(&in, speed);
        assert_true(result.cpu >= 0 && result.cpu <= 4);
        assert_true(result.memory >= 0 && result.memory <= 4);
        for (size_t j = 0; j < 3; j++) {
            size_t total = 0;
            for (size_t i = 0; i < 4; i++)
                total += cores[i * 3 + j];
            assert_true(speed[j] >= 0 && speed[j] <= (double)total + 1e-9);
            workload_free(w[j]);
        }
        machine_free(m);
    }
}

/* Jobs that mirror each other on a symmetric machine are equally fast, and
 * turning the machine changes nothing. */
static void test_symmetry(void **state)
{
    struct machine *m = machine_new_uniform(4, 4, 4);
    struct workload *w = workload_new_rho(4, 0.7, MACHINE_DEFAULT_SERVICE_US);
    struct workload *c = workload_new_rho(4, 0.1, MACHINE_DEFAULT_SERVICE_US);
    const struct workload *profile[] = {w, w, c};
    size_t cores[12] = {3, 0, 1, 0, 3, 1, 1, 3, 0, 3, 1, 0};
    size_t turned[12];
    struct system_input in = {.machine = m, .jobs = 3, .profile = profile,
                              .cores = cores, .method = MVA_AUTOMATIC};
    double speed[3], again[3];

    (void)state;
    machine_connect_all(m, 0.002);
    struct system_result a = solved(&in, speed);
    assert_near(speed[0], speed[1], 1e-9);
    for (size_t i = 0; i < 12; i++)
        turned[(i + 3) % 12] = cores[i];
    in.cores = turned;
    struct system_result b = solved(&in, again);
    assert_near(a.cpu, b.cpu, 1e-9);
    assert_near(a.memory, b.memory, 1e-9);
    assert_near(speed[2], again[2], 1e-9);
    workload_free(w);
    workload_free(c);
    machine_free(m);
}

/* The order in which NUMA nodes are numbered does not matter: stations that
 * are alike are solved once, those that only look alike are not. */
static void test_order_of_memories(void **state)
{
    struct dice dice = {5};

    (void)state;
    for (int round = 0; round < 100; round++) {
        struct machine *m[] = {machine_new_uniform(3, 4, 4),
                               machine_new_uniform(3, 4, 4)};
        struct workload *w[] = {workload_new(4), workload_new(4)};
        const size_t cores[] = {4, 2, 1};
        struct system_result result[2];
        double speed[2];
        for (size_t k = 0; k < 4; k++) {
            /* Few values, so that neighbours often agree in some of them. */
            double us = 0.01 * (double)dice_range(&dice, 1, 2);
            double rate = 20 * (double)dice_range(&dice, 0, 2);
            m[0]->controller_service_us[k] = us;
            m[1]->controller_service_us[3 - k] = us;
            w[0]->rate[k] = (struct workload_rate){rate + 1, rate};
            w[1]->rate[3 - k] = w[0]->rate[k];
        }
        for (size_t i = 0; i < 2; i++) {
            const struct workload *profile[] = {w[i]};
            struct system_input in = {.machine = m[i], .jobs = 1,
                                      .profile = profile, .cores = cores,
                                      .method = MVA_AUTOMATIC};
            result[i] = solved(&in, &speed[i]);
        }
        assert_near(speed[0], speed[1], 1e-9);
        assert_near(result[0].memory, result[1].memory, 1e-9);
        for (size_t i = 0; i < 2; i++) {
            workload_free(w[i]);
            machine_free(m[i]);
        }
    }
}

/* A slow link stalls the cores that use it, a fast one hardly. */
static void test_links_cost(void **state)
{
    struct workload *w = workload_new_rho(2, 0.5, MACHINE_DEFAULT_SERVICE_US);
    const struct workload *profile[] = {w};
    const size_t cores[] = {4, 4};
    double without = 0, last = 1e9;

    (void)state;
    for (double us = 0; us < 1; us = us ? us * 10 : 1e-5) {
        struct machine *m = machine_new_uniform(2, 4, 2);
        struct system_input in = {.machine = m, .jobs = 1, .profile = profile,
                                  .cores = cores, .method = MVA_AUTOMATIC};
        double speed;
        if (us)
            assert_int_equal(machine_connect_all(m, us), MODEL_OK);
        solved(&in, &speed);
        if (us == 0)
            without = speed;
        else if (us == 1e-5)
            assert_near(speed / without, 1, 0.01);
        assert_true(speed < last);
        last = speed;
        machine_free(m);
    }
    assert_true(last < without / 5);
    workload_free(w);
}

/* Writes occupy the controller but do not stall. */
static void test_writes(void **state)
{
    struct machine *m = smp();
    struct workload *w = workload_new(1);
    const struct workload *profile[] = {w};
    const size_t cores[] = {4};
    struct system_input in = {.machine = m, .jobs = 1, .profile = profile,
                              .cores = cores, .method = MVA_AUTOMATIC};
    double speed;

    (void)state;
    w->rate[0].mrr_per_us = 0.002;
    struct system_result result = solved(&in, &speed);
    assert_near(speed, 4, 1e-12);
    assert_near(result.memory, 4 * 0.002 * SERVICE_US, 1e-12);
    w->rate[0].mrr_per_us = 1; /* more than it can serve */
    assert_near(solved(&in, &speed).memory, 1, 1e-12);
    workload_free(w);
    machine_free(m);
}

/* A job of weight 2 counts twice in the computing share, not in memory. */
static void test_weight(void **state)
{
    struct machine *m = smp();
    struct workload *w = workload_new_rho(1, 0.5, SERVICE_US);
    const struct workload *profile[] = {w};
    const size_t cores[] = {4};
    const double two = 2;
    struct system_input in = {.machine = m, .jobs = 1, .profile = profile,
                              .cores = cores, .method = MVA_AUTOMATIC};
    struct system_result one = solved(&in, NULL);

    (void)state;
    in.weight = &two;
    struct system_result twice = solved(&in, NULL);
    assert_near(twice.cpu, 2 * one.cpu, 1e-12);
    assert_near(twice.memory, one.memory, 1e-12);
    workload_free(w);
    machine_free(m);
}

UNIT(test_system)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_pair),
        cmocka_unit_test(test_one_node_is_the_station),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_symmetry),
        cmocka_unit_test(test_order_of_memories),
        cmocka_unit_test(test_links_cost),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_weight),
    };

    return cmocka_run_group_tests_name("test_system", tests, NULL, NULL);
}
