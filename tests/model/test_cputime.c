/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* CPU time by the fixed point of 3.11. */

#include "tests/model/near.h"

#include "model/cputime.h"
#include "tests/support/uniform_machine.h"

#define NODES 4
#define PAIRS (NODES * NODES)
#define CPU_US 1000.0

/* A run in which each of 8 cores per LLC domain computed for CPU_US and asked all
 * NUMA nodes at RATE per us of it; it took what the model says it must.
 * Returns the stall of a thread per us of computing. */
static double run_of(const struct machine *machine,
                     enum hierarchy_method method, double rate,
                     struct loop *loop)
{
    struct loop_requests rates[PAIRS];
    double misses[PAIRS], stall[NODES];
    struct hierarchy_input in = {machine, method, loop->cores, rates, misses};
    struct hierarchy_result out = {.stall = stall};

    for (size_t p = 0; p < PAIRS; p++) {
        double r = rate / NODES, all = 8 * CPU_US * r;
        loop->cores[p / NODES] = 8;
        rates[p] = (struct loop_requests){0.5 * r, 0.3 * r, 0.2 * r};
        misses[p] = 0.5 * r;
        loop->requests[p] =
            (struct loop_requests){0.5 * all, 0.3 * all, 0.2 * all};
        loop->read_misses[p] = 0.5 * all;
    }
    assert_int_equal(hierarchy_solve(&in, &out), MODEL_OK);
    loop->total_us = CPU_US * (1 + stall[0]);
    return stall[0];
}

struct world {
    struct machine *machine;
    struct loop *loop;
};

static enum model_status solve(const struct world *w,
                               enum hierarchy_method method, struct cputime *c)
{
    struct cputime_input in = {w->machine, method, w->loop};

    return cputime_solve(&in, c);
}

/* CPU time by the papers' iteration (3.12), ROUNDS times. */
static double iterate(const struct world *w, enum hierarchy_method method,
                      int rounds)
{
    const struct loop *loop = w->loop;
    struct loop_requests rates[PAIRS];
    double misses[PAIRS], stall[NODES], c = loop->total_us;
    struct hierarchy_input in = {w->machine, method, loop->cores, rates, misses};
    struct hierarchy_result out = {.stall = stall};

    for (int round = 0; round < rounds; round++) {
        double mean = 0;
        for (size_t p = 0; p < PAIRS; p++) {
            double time = (double)loop->cores[p / NODES] * c;
            rates[p] = (struct loop_requests){loop->requests[p].read / time,
                                              loop->requests[p].write / time,
                                              loop->requests[p].prefetch / time};
            misses[p] = loop->read_misses[p] / time;
        }
        assert_int_equal(hierarchy_solve(&in, &out), MODEL_OK);
        for (size_t i = 0; i < NODES; i++)
            mean += stall[i] * (double)loop->cores[i] / (double)loop_cores(loop);
        c = loop->total_us - mean * c;
    }
    return c;
}

static void setup(struct world *w)
{
    w->machine = machine_new_uniform(NODES, 8, NODES);
    w->loop = loop_new(NODES, NODES);
    assert_true(w->machine && w->loop);
    assert_int_equal(machine_connect_all(w->machine, 0.004), MODEL_OK);
}

static void teardown(struct world *w)
{
    machine_free(w->machine);
    loop_free(w->loop);
}

/* What went in comes out: with the papers' stations until memory is so busy
 * that there is a greater fixed point, with the closed network always. */
static void test_comes_back(void **state)
{
    (void)state;
    struct world w;
    struct cputime c;

    setup(&w);
    for (double rate = 0.001; rate < 300; rate *= 2) {
        double stall = run_of(w.machine, HIERARCHY_STATIONS, rate, w.loop);
        assert_int_equal(solve(&w, HIERARCHY_STATIONS, &c), MODEL_OK);
        if (stall < 0.5)
            assert_near(c.cpu_us / CPU_US, 1, 1e-6);
        else /* the greater one */
            assert_true(c.cpu_us > CPU_US * (1 - 1e-6));
        assert_near(c.cpu_us + c.stall_us, w.loop->total_us, 1e-9);

        run_of(w.machine, HIERARCHY_CLOSED, rate, w.loop);
        assert_int_equal(solve(&w, HIERARCHY_CLOSED, &c), MODEL_OK);
        /* Where memory alone sets the pace, computing hardly shows. */
        assert_near(c.cpu_us / CPU_US, 1, 1e-5);
        assert_true(c.rounds < 30);
    }
    teardown(&w);
}

/* The result is a fixed point of 3.12 within the tolerance promised, and one
 * that the papers' iteration reaches, too. */
static void test_criterion(void **state)
{
    (void)state;
    struct world w;
    struct cputime c;

    setup(&w);
    for (double rate = 1; rate < 300; rate *= 1.3) {
        run_of(w.machine, HIERARCHY_STATIONS, rate, w.loop);
        assert_int_equal(solve(&w, HIERARCHY_STATIONS, &c), MODEL_OK);
        double many = iterate(&w, HIERARCHY_STATIONS, 20000);
        double five = iterate(&w, HIERARCHY_STATIONS, 5);
        assert_near(c.cpu_us / many, 1, 2 * CPUTIME_TOLERANCE);
        assert_true(five >= many * (1 - 1e-12));
        if (w.loop->total_us - many < w.loop->total_us / 4)
            assert_near(five / many, 1, 0.01);
    }
    /* Five rounds where stalls are most of the time: a third off and more. */
    run_of(w.machine, HIERARCHY_CLOSED, 60, w.loop);
    assert_true(iterate(&w, HIERARCHY_CLOSED, 5) > 1.3 * CPU_US);
    teardown(&w);
}

/* A run that was faster than its stalls. */
static void test_no_data(void **state)
{
    (void)state;
    struct world w;
    struct cputime c;

    setup(&w);
    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED;
         method++) {
        run_of(w.machine, method, 100, w.loop);
        w.loop->total_us *= 0.1;
        assert_int_equal(solve(&w, method, &c), MODEL_ENODATA);
    }
    teardown(&w);
}

/* Synchronisation is no computing; without requests all the rest is. */
static void test_sync(void **state)
{
    (void)state;
    struct world w;
    struct cputime c;

    setup(&w);
    w.loop->cores[2] = 3;
    w.loop->total_us = 200;
    w.loop->sync_share = 0.25;
    assert_int_equal(solve(&w, HIERARCHY_STATIONS, &c),
                     MODEL_OK);
    assert_near(c.cpu_us, 150, 1e-9);
    assert_near(c.stall_us, 0, 1e-9);
    teardown(&w);
}

static void test_measured(void **state)
{
    (void)state;
    struct world w;
    struct cputime c;

    setup(&w);
    w.loop->cores[0] = w.loop->cores[1] = 1;
    w.loop->total_us = 100;
    assert_int_equal(cputime_measured(w.loop, &c), MODEL_ENODATA);
    w.loop->useful_cycles[0] = 50;
    w.loop->useful_cycles[1] = 10;
    w.loop->stalled_cycles[1] = 20;
    assert_int_equal(cputime_measured(w.loop, &c), MODEL_OK);
    assert_near(c.cpu_us, 75, 1e-9);
    assert_near(c.stall_us, 25, 1e-9);
    w.loop->total_us = -1;
    assert_int_equal(cputime_measured(w.loop, &c), MODEL_EINVAL);
    teardown(&w);
}

static void test_bad(void **state)
{
    (void)state;
    struct world w;
    struct cputime c;

    setup(&w);
    assert_int_equal(solve(&w, HIERARCHY_STATIONS, &c),
                     MODEL_EINVAL); /* no cores */
    loop_free(w.loop);
    w.loop = loop_new(NODES, NODES - 1);
    assert_non_null(w.loop);
    w.loop->cores[0] = 1;
    w.loop->total_us = 1;
    assert_int_equal(solve(&w, HIERARCHY_STATIONS, &c), MODEL_EINVAL);
    loop_free(w.loop);
    w.loop = loop_new(NODES, NODES);
    assert_non_null(w.loop);
    run_of(w.machine, HIERARCHY_STATIONS, 1, w.loop);
    w.machine->controller_service_us[0] = NAN;
    assert_int_equal(solve(&w, HIERARCHY_STATIONS, &c),
                     MODEL_EINVAL);
    teardown(&w);
}

UNIT(test_cputime)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back), cmocka_unit_test(test_criterion),
        cmocka_unit_test(test_no_data),    cmocka_unit_test(test_sync),
        cmocka_unit_test(test_measured),   cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests_name("test_cputime", tests, NULL, NULL);
}
