/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* LoopPerf: speedups from one or two runs. */

#include "tests/model/near.h"

#include <stdlib.h>

#include "model/analysis/loopperf.h"
#include "model/station.h"
#include "tests/support/uniform_machine.h"

#define NODES 4
#define PAIRS (NODES * NODES)
#define CORES 8
#define WORK_US 32000.0 /* of computing, all cores together */

/* Four LLC domains and their memories, reads slower than the rest. */
static struct machine *new_machine(void)
{
    struct machine *m = machine_new_uniform(NODES, CORES, NODES);

    assert_non_null(m);
    assert_int_equal(machine_connect_all(m, 0.003), MODEL_OK);
    m->controller_service = calloc(NODES, sizeof(*m->controller_service));
    assert_non_null(m->controller_service);
    for (size_t j = 0; j < NODES; j++)
        m->controller_service[j] =
            (struct machine_service){m->controller_service_us[j], 0.004, 0.003};
    return m;
}

/* What a loop asks on NODES LLC domains: in all RATE, growing or falling to
 * GROWTH times as much on all nodes, and prefetches getting fewer. */
struct traits {
    double rate, growth;
};

static struct loop_requests traits_at(const struct traits *t, size_t nodes)
{
    double x = log((double)nodes) / log(NODES);
    double r = t->rate * pow(t->growth, x) / NODES;
    double prefetch = 0.4 - 0.2 * x * (t->growth != 1);

    return (struct loop_requests){(0.7 - prefetch) * r, 0.3 * r, prefetch * r};
}

/* The run of such a loop on the first ACTIVE LLC domains: WORK units of WORK_US,
 * as long as the hierarchy says. */
static struct loop *new_run(const struct machine *machine,
                            enum hierarchy_method method,
                            const struct traits *traits, size_t active,
                            double work)
{
    struct loop *loop = loop_new(NODES, NODES);
    struct loop_requests rate[PAIRS], r = traits_at(traits, active);
    double misses[PAIRS], stall[NODES], all = 0, cores;
    struct hierarchy_result out = {.stall = stall};

    assert_non_null(loop);
    struct hierarchy_input in = {machine, method, loop->cores, rate, misses};
    for (size_t i = 0; i < active; i++)
        loop->cores[i] = CORES;
    cores = (double)loop_cores(loop);
    for (size_t p = 0; p < PAIRS; p++) {
        double time = (double)loop->cores[p / NODES] * work * WORK_US / cores;
        rate[p] = r;
        misses[p] = r.read;
        loop->requests[p] = (struct loop_requests){
            r.read * time, r.write * time, r.prefetch * time};
        loop->read_misses[p] = r.read * time;
    }
    assert_int_equal(hierarchy_solve(&in, &out), MODEL_OK);
    for (size_t i = 0; i < active; i++)
        all += stall[i] / (double)active;
    loop->work = work;
    loop->total_us = work * WORK_US / cores * (1 + all);
    return loop;
}

static struct loopperf *learnt(const struct loopperf_input *in)
{
    struct loopperf *p;

    assert_int_equal(loopperf_learn(in, &p), MODEL_OK);
    return p;
}

/* Nothing but computing: as many times as fast as there are cores. */
static void test_linear(void **state)
{
    (void)state;
    struct machine *machine = new_machine();
    struct loop *run =
        new_run(machine, HIERARCHY_STATIONS, &(struct traits){0, 1}, 1, 1);
    struct loopperf *p =
        learnt(&(struct loopperf_input){.machine = machine, .first = run});
    double nodes[NODES + 1];

    assert_int_equal(loopperf_curve(p, NODES, nodes), MODEL_OK);
    for (size_t n = 0; n < NODES; n++)
        assert_near(nodes[n], (double)(n + 1), 1e-9);
    assert_int_equal(loopperf_curve(p, NODES + 1, nodes), MODEL_EINVAL);
    loopperf_free(p);
    loop_free(run);
    machine_free(machine);
}

/* 3.14 and 3.15 written out: one LLC domain, one NUMA node, C cores. */
static void test_equations(void **state)
{
    (void)state;
    struct machine *machine = machine_new_uniform(1, CORES, 1);
    struct loop *run = loop_new(1, 1);
    struct loopperf_time one, many;
    double rho = 0.05;

    assert_true(machine && run);
    run->cores[0] = 1;
    run->requests[0].read = run->read_misses[0] =
        1000 * rho / MACHINE_DEFAULT_SERVICE_US;
    run->total_us = 1000 * (1 + rho);
    struct loopperf *p =
        learnt(&(struct loopperf_input){.machine = machine, .first = run});
    assert_int_equal(loopperf_predict(p, (size_t[]){1}, &one), MODEL_OK);
    /* Then it is NuPoCo's 4.1. */
    for (size_t n = 1; n <= CORES; n++) {
        assert_int_equal(loopperf_predict(p, &n, &many), MODEL_OK);
        assert_near(one.total_us / many.total_us, station_speedup(n, rho), 1e-6);
    }
    loopperf_free(p);
    loop_free(run);
    machine_free(machine);
}

/* Where rates do not change, one profile tells all; both ways of solving. */
static void test_single(void **state)
{
    (void)state;
    struct machine *machine = new_machine();
    double rates[] = {2, 10, 25, 50};

    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED; method++)
        for (size_t k = 0; k < (method ? 4 : 2); k++) {
            struct traits traits = {rates[k], 1};
            struct loop *run = new_run(machine, method, &traits, 1, 1);
            struct loopperf *p = learnt(&(struct loopperf_input){
                .machine = machine, .method = method, .first = run});
            double speedup[NODES];

            assert_int_equal(loopperf_curve(p, NODES, speedup), MODEL_OK);
            for (size_t n = 1; n < NODES; n++) {
                struct loop *more =
                    new_run(machine, method, &traits, n + 1, 1);
                assert_near(speedup[n], run->total_us / more->total_us, 1e-5);
                assert_true(speedup[n] > speedup[n - 1]);
                assert_true(speedup[n] <= (double)(n + 1) * (1 + 1e-9));
                loop_free(more);
            }
            loopperf_free(p);
            loop_free(run);
        }
    machine_free(machine);
}

/* Where they do, two profiles tell what one cannot; whatever each run's
 * amount of work. */
static void test_twice(void **state)
{
    (void)state;
    struct machine *machine = new_machine();
    struct traits traits = {20, 1.5};

    for (enum hierarchy_method method = 0; method <= HIERARCHY_CLOSED;
         method++) {
        struct loop *one = new_run(machine, method, &traits, 1, 3);
        struct loop *all = new_run(machine, method, &traits, NODES, 0.5);
        struct loopperf_input in = {.machine = machine, .method = method,
                                    .first = one};
        struct loopperf *single = learnt(&in);
        in.second = all;
        struct loopperf *twice = learnt(&in);
        double s[NODES], t[NODES];

        assert_int_equal(loopperf_curve(single, NODES, s), MODEL_OK);
        assert_int_equal(loopperf_curve(twice, NODES, t), MODEL_OK);
        for (size_t n = 1; n < NODES; n++) {
            struct loop *more = new_run(machine, method, &traits, n + 1, 1);
            double truth = one->total_us / 3 / more->total_us;
            if (n + 1 == NODES) /* between, the line bends with the product */
                assert_near(t[n] / truth, 1, 1e-5);
            assert_near(t[n] / truth, 1, 0.03);
            assert_true(s[n] > 1.02 * truth);
            loop_free(more);
        }
        loopperf_free(single);
        loopperf_free(twice);
        loop_free(one);
        loop_free(all);
    }
    machine_free(machine);
}

/* RUN stalls FACTOR times as long as the model says, and cycles were counted. */
static struct loop *counted(struct loop *run, double factor)
{
    double cpu_us = run->work * WORK_US / (double)loop_cores(run);
    double stall_us = factor * (run->total_us - cpu_us);

    run->total_us = cpu_us + stall_us;
    for (size_t i = 0; i < NODES; i++) {
        run->useful_cycles[i] = 1000 * cpu_us * (double)run->cores[i];
        run->stalled_cycles[i] = 1000 * stall_us * (double)run->cores[i];
    }
    return run;
}

/* Stalls that are longer or shorter than the model says are found where cycles were counted in all
 * profiles, even where memory is full. */
static void test_counted(void **state)
{
    static const double factor[] = {0.3, 1, 2.5}, rates[] = {10, 60};
    struct machine *machine = new_machine();
    struct loopperf_time time;
    const size_t all[NODES] = {CORES, CORES, CORES, CORES};
    double s[NODES], t[NODES];

    (void)state;
    for (size_t k = 0; k < 6; k++) {
        struct traits traits = {rates[k / 3], 1.5};
        struct loopperf_input in = {.machine = machine, .method = HIERARCHY_CLOSED};
        struct loop *run[NODES];
        double f = factor[k % 3];
        for (size_t n = 0; n < NODES; n++)
            run[n] = counted(new_run(machine, HIERARCHY_CLOSED, &traits, n + 1, 0.7), f);
        in.first = run[0];
        in.second = run[NODES - 1];
        struct loopperf *p = learnt(&in);
        assert_int_equal(loopperf_curve(p, NODES, t), MODEL_OK);
        for (size_t n = 1; n < NODES; n++)
            assert_near(t[n] / (run[0]->total_us / run[n]->total_us), 1,
                        n + 1 == NODES ? 1e-6 : 0.05);
        assert_int_equal(loopperf_predict(p, all, &time), MODEL_OK);
        assert_near(time.total_us, run[NODES - 1]->total_us / 0.7, 1e-3);
        assert_near(time.cpu_us, WORK_US / NODES / CORES, 1e-6);
        loopperf_free(p);
        /* Not if only one has them: as from times alone, which may make no sense. */
        for (size_t i = 0; i < NODES; i++)
            run[NODES - 1]->useful_cycles[i] = 0;
        if (loopperf_learn(&in, &p) == MODEL_OK) {
            assert_int_equal(loopperf_curve(p, NODES, s), MODEL_OK);
            assert_true(f == 1 || fabs(s[NODES - 1] / t[NODES - 1] - 1) > 0.01);
            loopperf_free(p);
        } else {
            assert_true(f < 1);
        }
        for (size_t n = 0; n < NODES; n++)
            loop_free(run[n]);
    }
    machine_free(machine);
}

/* The run of a loop on ACTIVE LLC domains, of whose TIME, in times of computing, the part SYNC is
 * synchronisation, and each us of computing has one read of the only memory. */
static struct loop *full_run(size_t active, double time, double sync)
{
    struct loop *run = loop_new(NODES, 1);
    double cpu_us = WORK_US / CORES / (double)active;

    assert_non_null(run);
    run->work = 1;
    run->total_us = time * cpu_us;
    run->sync_share = sync;
    for (size_t i = 0; i < active; i++) {
        run->cores[i] = CORES;
        run->requests[i].read = run->read_misses[i] = cpu_us * CORES;
        run->useful_cycles[i] = 1000 * cpu_us * CORES;
        run->stalled_cycles[i] = (time * (1 - sync) - 1) * run->useful_cycles[i];
    }
    return run;
}

/* Where memory is full its service says how long a loop takes, whatever the stalls of a run where
 * it was not: at 0.69 of its load they overlap, and on all cores a fifth of the time that memory
 * needs is synchronisation. */
static void test_full(void **state)
{
    struct machine *machine = machine_new_uniform(NODES, CORES, 1);
    double busy = 0.72, s[NODES]; /* of memory, for the cores of one LLC domain */

    (void)state;
    assert_non_null(machine);
    machine->controller_service_us[0] = busy / CORES;
    for (int twice = 0; twice < 2; twice++) {
        struct loop *first = full_run(1, 1.05, 0), *last = full_run(NODES, NODES * busy, 0.2);
        struct loopperf *p = learnt(&(struct loopperf_input){
            .machine = machine, .method = HIERARCHY_CLOSED, .first = first,
            .second = twice ? last : NULL});
        assert_int_equal(loopperf_curve(p, NODES, s), MODEL_OK);
        for (size_t n = 2; n <= NODES; n++)
            assert_near(s[n - 1], 1.05 / busy, 1e-6);
        loopperf_free(p);
        loop_free(first);
        loop_free(last);
    }
    machine_free(machine);
}

static void test_sync(void **state)
{
    (void)state;
    struct machine *machine = new_machine();
    struct loop *run =
        new_run(machine, HIERARCHY_STATIONS, &(struct traits){2, 1}, 1, 1);
    struct loopperf_time without, with;
    size_t cores[NODES] = {CORES, CORES, 0, 0};
    struct loopperf_input in = {.machine = machine, .first = run};
    struct loopperf *p = learnt(&in);

    assert_int_equal(loopperf_predict(p, cores, &without), MODEL_OK);
    assert_near(without.sync_us, 0, 0);
    loopperf_free(p);
    run->total_us /= 1 - 0.1;
    run->sync_share = 0.1;
    p = learnt(&in);
    assert_int_equal(loopperf_predict(p, cores, &with), MODEL_OK);
    assert_near(with.cpu_us / without.cpu_us, 1, 1e-6);
    assert_near(with.stall_us / without.stall_us, 1, 1e-6);
    assert_near(with.sync_us / with.total_us, 0.2, 1e-9); /* twice the cores */
    loopperf_free(p);
    loop_free(run);
    machine_free(machine);
}

static void test_bad(void **state)
{
    (void)state;
    struct machine *machine = new_machine();
    struct traits traits = {5, 1};
    struct loop *one = new_run(machine, HIERARCHY_STATIONS, &traits, 1, 1);
    struct loop *same = new_run(machine, HIERARCHY_STATIONS, &traits, 1, 1);
    struct loopperf_input in = {.machine = machine, .first = one,
                                .second = same};
    struct loopperf *p = NULL;
    struct loopperf_time time;
    size_t none[NODES] = {0};

    assert_int_equal(loopperf_learn(&in, &p), MODEL_EINVAL); /* no line */
    assert_null(p);
    in.second = NULL;
    one->total_us /= 100; /* faster than its own computing and stalls */
    assert_int_equal(loopperf_learn(&in, &p), MODEL_ENODATA);
    one->total_us = NAN;
    assert_int_equal(loopperf_learn(&in, &p), MODEL_EINVAL);
    in.first = same;
    p = learnt(&in);
    assert_int_equal(loopperf_predict(p, none, &time), MODEL_EINVAL);
    loopperf_free(p);
    loopperf_free(NULL);
    loop_free(one);
    loop_free(same);
    machine_free(machine);
}

/* ---- Best-F ---------------------------------------------------------------- */

/* Least for a controller of 0.013 us and a link of 0.2 us; *ARG calls are left. */
static double distance(void *arg, const double us[2])
{
    int *left = arg;

    if ((*left)-- == 0)
        return NAN;
    return fabs(log(us[0] / 0.013)) + fabs(log(us[1] / 0.2));
}

static void test_best_f(void **state)
{
    double us[2] = {0.02, 0.1};
    int left = 6 * 81;

    (void)state;
    assert_true(loopperf_best_f(distance, &left, true, us));
    assert_int_equal(left, 0);
    assert_true(fabs(us[0] / 0.013 - 1) < 0.05);
    assert_true(fabs(us[1] / 0.2 - 1) < 0.05);
    us[1] = 7;
    left = -1;
    assert_true(loopperf_best_f(distance, &left, false, us));
    assert_true(us[1] == 7); /* no links */
    left = 10;
    assert_false(loopperf_best_f(distance, &left, true, us));
}

UNIT(test_loopperf)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),        cmocka_unit_test(test_equations),
        cmocka_unit_test(test_single),        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_counted),       cmocka_unit_test(test_full),
        cmocka_unit_test(test_sync),          cmocka_unit_test(test_bad),
        cmocka_unit_test(test_best_f),
    };

    return cmocka_run_group_tests_name("test_loopperf", tests, NULL, NULL);
}
