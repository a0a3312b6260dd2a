/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Predictions in a workspace against every station solved by itself. */

#include "tests/model/near.h"

#include "model/quadrature.h"
#include "model/system.h"

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

/* ---- the same by definition: each station by itself ---- */

/* Response of customer WHICH at a station of COUNT classes. */
static double alone(const struct mva_class *classes, size_t count, size_t which,
                    double service)
{
    struct mva_result result[NODES];

    assert_int_equal(mva_solve(MVA_EXACT, classes, count, service, result),
                     MODEL_OK);
    return result[which].response;
}

static double node_rate(const struct world *w, size_t node, size_t memory)
{
    double sum = 0;

    for (size_t j = 0; j < w->in.jobs; j++)
        sum += (double)w->cores[node * w->in.jobs + j] *
               w->profile[j]->rate[memory].mrr_per_us;
    return sum;
}

static bool crosses(const struct machine *m, size_t route, size_t link)
{
    for (size_t l = 0; l < m->route[route].links; l++)
        if (m->route[route].link[l] == link)
            return true;
    return false;
}

/* Eq. 3.6 for NUMA node M plus eq. 3.7 for each link on the way. */
static double memory_time(const struct world *w, size_t node, size_t memory)
{
    const struct machine *m = w->machine;
    struct mva_class classes[NODES];
    double time;

    for (size_t i = 0; i < m->llc_domains; i++)
        classes[i] = (struct mva_class){1, node_rate(w, i, memory)};
    time = alone(classes, m->llc_domains, node, m->controller_service_us[memory]);
    for (size_t l = 0; l < m->links; l++) {
        if (!crosses(m, node * m->numa_nodes + memory, l))
            continue;
        for (size_t i = 0; i < m->llc_domains; i++) {
            classes[i].lambda = 0;
            for (size_t k = 0; k < m->numa_nodes; k++)
                if (crosses(m, i * m->numa_nodes + k, l))
                    classes[i].lambda += node_rate(w, i, k);
        }
        time += alone(classes, m->llc_domains, node, m->link_service_us[l]);
    }
    return time;
}

/* Eq. 3.8, 4.2, 4.5: what a core of JOB on NODE computes of its time. */
static double computing(const struct world *w, size_t node, size_t job)
{
    struct mva_class classes[JOBS];
    double time = 1;

    for (size_t m = 0; m < w->machine->numa_nodes; m++) {
        for (size_t j = 0; j < w->in.jobs; j++)
            classes[j] =
                (struct mva_class){w->cores[node * w->in.jobs + j],
                                   w->profile[j]->rate[m].read_per_us};
        time += classes[job].lambda * alone(classes, w->in.jobs, job,
                                            memory_time(w, node, m));
    }
    return 1 / time;
}

static struct system_result by_definition(const struct world *w, double *speed)
{
    const struct machine *m = w->machine;
    struct system_result result = {0};

    for (size_t j = 0; j < w->in.jobs; j++) {
        speed[j] = 0;
        for (size_t i = 0; i < m->llc_domains; i++) {
            size_t cores = w->cores[i * w->in.jobs + j];
            double here = cores ? (double)cores * computing(w, i, j) : 0;
            speed[j] += here;
            result.cpu +=
                w->weight[j] * here / (double)machine_node_cpus(m, i);
        }
    }
    for (size_t k = 0; k < m->numa_nodes; k++) {
        double requests = 0;
        for (size_t j = 0; j < w->in.jobs; j++)
            requests += speed[j] * w->profile[j]->rate[k].mrr_per_us;
        result.memory += fmin(1, requests * m->controller_service_us[k]);
    }
    result.utilisation = result.cpu + result.memory;
    return result;
}

static void check(const struct world *w, const struct system_result *result,
                  const double *speed)
{
    double expected_speed[JOBS];
    struct system_result expected = by_definition(w, expected_speed);

    assert_near(result->cpu, expected.cpu, 1e-9);
    assert_near(result->memory, expected.memory, 1e-9);
    assert_near(result->utilisation, expected.utilisation, 1e-9);
    for (size_t j = 0; j < w->in.jobs; j++)
        assert_near(speed[j], expected_speed[j], 1e-9);
}

static void test_same_as_by_definition(void **state)
{
    struct dice dice = {20261121};

    (void)state;
    for (int round = 0; round < 500; round++) {
        struct world w;
        random_world(&w, &dice);
        struct system_workspace *ws = system_workspace_new(w.machine, JOBS);
        assert_non_null(ws);
        /* One workspace for different jobs, and for many divisions. */
        for (size_t jobs = w.in.jobs; jobs; jobs--) {
            w.in.jobs = jobs;
            assert_int_equal(system_prepare(ws, &w.in), MODEL_OK);
            for (int again = 0; again < 3; again++) {
                struct system_result result;
                double speed[JOBS];
                random_cores(&w, &dice);
                assert_int_equal(
                    system_predict(ws, w.cores, &result, speed), MODEL_OK);
                check(&w, &result, speed);
                assert_int_equal(system_solve(&w.in, &result, speed),
                                 MODEL_OK);
                check(&w, &result, speed);
            }
        }
        system_workspace_free(ws);
        release(&w);
    }
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
        struct system_workspace *ws = system_workspace_new(m, 1);
        double last = 0, memory = 0;
        m->controller_service_us[0] = 0.01;
        struct system_input in = {m, 1, profile, NULL, NULL, MVA_AUTOMATIC};
        assert_int_equal(system_prepare(ws, &in), MODEL_OK);
        for (size_t n = 1; n <= 256; n += 1 + n / 8) {
            struct system_result result;
            double speed;
            assert_int_equal(system_predict(ws, &n, &result, &speed),
                             MODEL_OK);
            assert_true(speed >= last * (1 - 1e-9) && speed <= (double)n);
            assert_true(result.memory >= memory * (1 - 1e-9));
            assert_true(result.memory >= 0 && result.memory <= 1);
            assert_true(result.cpu >= 0 && result.cpu <= 1);
            last = speed;
            memory = result.memory;
        }
        system_workspace_free(ws);
        workload_free(w);
        machine_free(m);
    }
}

/* The largest machine that is supported, each LLC domain something else. */
static void test_large(void **state)
{
    struct dice dice = {80};
    struct machine *m = machine_new_uniform(SYSTEM_MAX_NODES, 4, 8);
    struct workload *w[SYSTEM_MAX_JOBS];
    static size_t cores[SYSTEM_MAX_NODES * SYSTEM_MAX_JOBS];
    double speed[SYSTEM_MAX_JOBS], sum = 0;
    struct system_result result;
    struct system_input in = {m, SYSTEM_MAX_JOBS,
                              (const struct workload *const *)w, NULL, cores,
                              MVA_AUTOMATIC};

    (void)state;
    assert_int_equal(machine_connect_all(m, 0.002), MODEL_OK);
    for (size_t j = 0; j < SYSTEM_MAX_JOBS; j++)
        w[j] = workload_new_rho(8, dice_unit(&dice), 0.0064);
    for (size_t c = 0; c < SYSTEM_MAX_NODES * 4; c++)
        cores[c / 4 * SYSTEM_MAX_JOBS + dice_of(&dice, SYSTEM_MAX_JOBS)]++;
    assert_int_equal(system_solve(&in, &result, speed), MODEL_OK);
    for (size_t j = 0; j < SYSTEM_MAX_JOBS; j++)
        sum += speed[j];
    assert_near(result.cpu, sum / 4, 1e-9);
    assert_true(sum > 0 && sum < SYSTEM_MAX_NODES * 4);
    assert_true(result.memory > 0 && result.memory <= 8);
    for (size_t j = 0; j < SYSTEM_MAX_JOBS; j++)
        workload_free(w[j]);
    machine_free(m);
}

/* ---- the rule ---- */

/* Two classes for up to 256 customers against the recurrence, where that has
 * room; rho of 1e-9 to 1e6. */
static void test_quadrature(void **state)
{
    struct dice dice = {81};
    static struct quadrature rule;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct mva_class classes[2];
        struct mva_result expected[2];
        double response[2];
        classes[0].count = dice_range(&dice, 0, 240);
        classes[1].count = dice_range(&dice, 1, 16);
        for (size_t k = 0; k < 2; k++)
            classes[k].lambda = pow(10, 15 * dice_unit(&dice) - 9) / 3;
        quadrature_init(&rule, classes[0].count + classes[1].count);
        quadrature_solve(&rule, classes, 2, 3, response);
        if (mva_solve(MVA_EXACT, classes, 2, 3, expected) != MODEL_OK)
            continue;
        for (size_t k = 0; k < 2; k++)
            if (classes[k].count)
                assert_near(response[k] / expected[k].response, 1, 1e-10);
    }
}

/* The weights are a distribution of mean 1 and second moment 2. */
static void test_rule(void **state)
{
    static struct quadrature rule;

    (void)state;
    for (size_t n = 4; n <= QUADRATURE_MAX_CUSTOMERS; n++) {
        double sum = 0, mean = 0, second = 0;
        quadrature_init(&rule, n);
        assert_true(rule.points % 4 == 0 &&
                    rule.points <= QUADRATURE_MAX_POINTS);
        for (size_t i = 0; i < rule.points; i++) {
            sum += rule.weight[i];
            mean += rule.weight[i] * rule.at[i];
            second += rule.weight[i] * rule.at[i] * rule.at[i];
        }
        assert_near(sum, 1, 1e-11);
        assert_near(mean, 1, 1e-11);
        assert_near(second, 2, 1e-11);
    }
}

UNIT(test_predict)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_by_definition),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_quadrature),
        cmocka_unit_test(test_rule),
    };

    return cmocka_run_group_tests_name("test_predict", tests, NULL, NULL);
}
