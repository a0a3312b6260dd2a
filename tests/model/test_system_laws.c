/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The stations of a machine: orders, units and sizes. */

#include "tests/model/near.h"

#include "model/analysis/system.h"
#include "tests/support/uniform_machine.h"

#define NODES 6
#define MEMORIES 4
#define JOBS 5
#define LINKS 5

struct world {
    struct machine *machine;
    struct workload *profile[JOBS];
    double weight[JOBS];
    size_t cores[NODES * JOBS];
    struct system_input in;
};

static size_t dice_of(struct dice *dice, size_t count)
{
    return dice_range(dice, 0, count - 1);
}

/* A route of 0 to 2 different links. */
static void random_route(struct machine *m, size_t r, struct dice *dice)
{
    size_t count = m->links ? dice_of(dice, m->links > 1 ? 3 : 2) : 0;
    size_t begin = m->links ? dice_of(dice, m->links) : 0;

    if (!count)
        return;
    m->route[r].links = count;
    m->route[r].link = calloc(count, sizeof(size_t));
    for (size_t l = 0; l < count; l++)
        m->route[r].link[l] = (begin + l) % m->links;
}

/* Few different values, so that many stations are alike, but not all. */
static void random_machine(struct world *w, struct dice *dice)
{
    size_t nodes = dice_range(dice, 1, NODES);
    size_t memories = dice_range(dice, 1, MEMORIES);
    struct machine *m =
        machine_new_uniform(nodes, dice_range(dice, 1, 6), memories);

    w->machine = m;
    for (size_t k = 0; k < memories; k++)
        m->controller_service_us[k] = 0.01 * (double)dice_range(dice, 1, 2);
    if (dice_of(dice, 4) == 0) {
        assert_int_equal(machine_connect_all(m, 0.004), MODEL_OK);
        return;
    }
    m->links = dice_range(dice, 0, LINKS);
    m->link_service_us = calloc(LINKS, sizeof(double));
    for (size_t l = 0; l < m->links; l++)
        m->link_service_us[l] = 0.002 * (double)dice_range(dice, 1, 2);
    for (size_t r = 0; r < nodes * memories; r++)
        random_route(m, r, dice);
    assert_int_equal(machine_check(m), MODEL_OK);
}

static void random_cores(struct world *w, struct dice *dice)
{
    size_t nodes = w->machine->llc_domains, jobs = w->in.jobs;

    for (size_t i = 0; i < nodes; i++) {
        bool repeat = i && dice_of(dice, 2);
        for (size_t j = 0; j < jobs; j++)
            w->cores[i * jobs + j] = repeat ? w->cores[(i - 1) * jobs + j]
                                            : dice_of(dice, 3);
    }
}

static void random_world(struct world *w, struct dice *dice)
{
    random_machine(w, dice);
    size_t memories = w->machine->numa_nodes, jobs = dice_range(dice, 1, JOBS);

    for (size_t j = 0; j < JOBS; j++) {
        bool spread = dice_of(dice, 2);
        w->profile[j] = workload_new(memories);
        w->weight[j] = (double)dice_range(dice, 1, 3);
        for (size_t m = 0; m < memories; m++) {
            struct workload_rate *rate = &w->profile[j]->rate[m];
            rate->mrr_per_us = 60 * (double)dice_of(dice, 3) * dice_unit(dice);
            rate->read_per_us = rate->mrr_per_us * (double)dice_of(dice, 3) / 2;
            if (m && spread)
                *rate = w->profile[j]->rate[0];
        }
    }
    w->in = (struct system_input){
        w->machine, jobs,     (const struct workload *const *)w->profile,
        w->weight,  w->cores, MVA_AUTOMATIC};
    random_cores(w, dice);
}

static void release(struct world *w)
{
    for (size_t j = 0; j < JOBS; j++)
        workload_free(w->profile[j]);
    machine_free(w->machine);
}

/* Jobs in another order are the same jobs. */
static void test_permutation(void **state)
{
    struct dice dice = {77};

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct world w;
        struct system_result a, b;
        double speed[JOBS], turned_speed[JOBS], weight[JOBS];
        const struct workload *profile[JOBS];
        size_t cores[NODES * JOBS];
        random_world(&w, &dice);
        size_t jobs = w.in.jobs, by = dice_of(&dice, jobs);
        for (size_t j = 0; j < jobs; j++) {
            profile[(j + by) % jobs] = w.profile[j];
            weight[(j + by) % jobs] = w.weight[j];
            for (size_t i = 0; i < w.machine->llc_domains; i++)
                cores[i * jobs + (j + by) % jobs] = w.cores[i * jobs + j];
        }
        struct system_input turned = {w.machine, jobs,  profile,
                                      weight,    cores, MVA_AUTOMATIC};
        assert_int_equal(system_solve(&w.in, &a, speed), MODEL_OK);
        assert_int_equal(system_solve(&turned, &b, turned_speed), MODEL_OK);
        assert_near(b.cpu, a.cpu, 1e-9);
        assert_near(b.memory, a.memory, 1e-9);
        for (size_t j = 0; j < jobs; j++)
            assert_near(turned_speed[(j + by) % jobs], speed[j], 1e-9);
        release(&w);
    }
}

/* Times a thousand times longer and rates as much lower change nothing. */
static void test_units(void **state)
{
    struct dice dice = {78};

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct world w;
        struct system_result a, b;
        random_world(&w, &dice);
        assert_int_equal(system_solve(&w.in, &a, NULL), MODEL_OK);
        for (size_t m = 0; m < w.machine->numa_nodes; m++) {
            w.machine->controller_service_us[m] *= 1e3;
            for (size_t j = 0; j < JOBS; j++) {
                w.profile[j]->rate[m].mrr_per_us /= 1e3;
                w.profile[j]->rate[m].read_per_us /= 1e3;
            }
        }
        for (size_t l = 0; l < w.machine->links; l++)
            w.machine->link_service_us[l] *= 1e3;
        assert_int_equal(system_solve(&w.in, &b, NULL), MODEL_OK);
        assert_near(b.cpu, a.cpu, 1e-9);
        assert_near(b.memory, a.memory, 1e-9);
        release(&w);
    }
}

/* One more core of a lone job never makes it slower on one LLC domain, nor a
 * controller less busy; nothing leaves its range. */
static void test_monotone(void **state)
{
    struct dice dice = {79};

    (void)state;
    for (int round = 0; round < 100; round++) {
        struct machine *m = machine_new_uniform(1, 256, 1);
        struct workload *w =
            workload_new_rho(1, pow(10, 15 * dice_unit(&dice) - 9), 0.01);
        const struct workload *profile[] = {w};
        double last = 0, memory = 0;
        m->controller_service_us[0] = 0.01;
        struct system_input in = {m, 1, profile, NULL, NULL, MVA_AUTOMATIC};
        for (size_t n = 1; n <= 256; n += 1 + n / 8) {
            struct system_result result;
            double speed;
            in.cores = &n;
            assert_int_equal(system_solve(&in, &result, &speed), MODEL_OK);
            assert_true(speed >= last * (1 - 1e-9) && speed <= (double)n);
            assert_true(result.memory >= memory * (1 - 1e-9));
            assert_true(result.memory >= 0 && result.memory <= 1);
            assert_true(result.cpu >= 0 && result.cpu <= 1);
            last = speed;
            memory = result.memory;
        }
        workload_free(w);
        machine_free(m);
    }
}

/* The largest machine that is supported, each LLC domain something else. */
static void test_large(void **state)
{
    struct dice dice = {80};
    struct machine *m = machine_new_uniform(SYSTEM_MAX_DOMAINS, 4, 8);
    struct workload *w[SYSTEM_MAX_JOBS];
    static size_t cores[SYSTEM_MAX_DOMAINS * SYSTEM_MAX_JOBS];
    double speed[SYSTEM_MAX_JOBS], sum = 0;
    struct system_result result;
    struct system_input in = {m, SYSTEM_MAX_JOBS,
                              (const struct workload *const *)w, NULL, cores,
                              MVA_AUTOMATIC};

    (void)state;
    assert_int_equal(machine_connect_all(m, 0.002), MODEL_OK);
    for (size_t j = 0; j < SYSTEM_MAX_JOBS; j++)
        w[j] = workload_new_rho(8, dice_unit(&dice), 0.0064);
    for (size_t c = 0; c < SYSTEM_MAX_DOMAINS * 4; c++)
        cores[c / 4 * SYSTEM_MAX_JOBS + dice_of(&dice, SYSTEM_MAX_JOBS)]++;
    assert_int_equal(system_solve(&in, &result, speed), MODEL_OK);
    for (size_t j = 0; j < SYSTEM_MAX_JOBS; j++)
        sum += speed[j];
    assert_near(result.cpu, sum / 4, 1e-9);
    assert_true(sum > 0 && sum < SYSTEM_MAX_DOMAINS * 4);
    assert_true(result.memory > 0 && result.memory <= 8);
    for (size_t j = 0; j < SYSTEM_MAX_JOBS; j++)
        workload_free(w[j]);
    machine_free(m);
}

UNIT(test_system_laws)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests_name("test_system_laws", tests, NULL, NULL);
}
