/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How jobs and the node stand: speeds, limits, load of controllers and links. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/core/standing.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/core/fake_plan.h"

#define MS UINT64_C(1000000)
#define LOADS 8

static struct task living[PLAN_JOBS];

/* Two packages of four cores, each with its memory; the first two jobs have one each. */
static int setup(void **state)
{
    int rc = fake_plan_new(state, "pack:2 [numa] l3:1 core:4 pu:1");
    struct fixture *f = *state;

    for (size_t i = 0; rc == 0 && i < 2; i++) {
        f->jobs[i]->tasks = &living[i];
        assert_int_equal(cpulist_parse(i ? "4-7" : "0-3", &f->jobs[i]->cpus, NULL), 0);
        f->jobs[i]->region = region_find(&f->jobs[i]->regions, 1, i);
        f->jobs[i]->relative_speed = 0.3;
    }
    return rc;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++)
        f->jobs[i]->tasks = NULL;
    return fake_plan_free(state);
}

static void let_run(struct region *region, size_t dop, double rate)
{
    double work[COUNTERS_UNITS] = {[COUNTERS_ITERATIONS] = rate};

    for (int i = 0; i < 100; i++)
        region_measure(region, dop, 50 * MS, work, false);
}

/* Profile of one controller of the first NUMA node: REQUESTS per microsecond. */
static void profile(struct region *region, double requests, double rho)
{
    workload_free(region->profile);
    region->profile = workload_new(2);
    region->profile->rate[0] = (struct workload_rate){requests, requests};
    region->fit = (struct counters_fit){.rho = rho, .compute_bound = rho == 0, .points = 2};
}

static struct standing standing(const struct fixture *f, size_t i)
{
    struct standing s;

    standing_of(f->jobs[i], f->topology, &s);
    return s;
}

static void test_speed(void **state)
{
    struct fixture *f = *state;
    struct region *region = f->jobs[0]->region;

    assert_float_equal(standing(f, 0).predicted, 0.5, 1e-9); /* no decision yet: four of eight */
    region->decided_cores = 4, region->decided_speed = 0.7;
    assert_float_equal(standing(f, 0).predicted, 0.7, 1e-9);
    region->decided_cores = 2; /* that was about another number of cores */
    assert_float_equal(standing(f, 0).predicted, 0.5, 1e-9);
    assert_true(isnan(standing(f, 0).measured));
    let_run(region, 4, 1000);
    assert_true(isnan(standing(f, 0).measured)); /* to what should it be related? */
    let_run(region, 8, 1600);
    assert_float_equal(standing(f, 0).measured, 0.625, 1e-6);
    /* On two cores, and what is known of more is of four only. */
    cpulist_parse("0-1", &f->jobs[0]->cpus, NULL);
    region_forget(region);
    let_run(region, 2, 500);
    let_run(region, 4, 1000);
    assert_true(isnan(standing(f, 0).measured));
    profile(region, 0, 0); /* compute-bound: all eight would do twice as much */
    assert_float_equal(standing(f, 0).measured, 0.25, 1e-6);
    f->jobs[0]->options.max_cores = 4;
    assert_float_equal(standing(f, 0).measured, 0.5, 1e-6);
    f->jobs[0]->parked = true;
    assert_float_equal(standing(f, 0).predicted, 0, 0);
    assert_float_equal(standing(f, 0).measured, 0, 0);
    f->jobs[0]->parked = false;
    f->jobs[0]->doing = JOB_PINNED;
    assert_float_equal(standing(f, 0).predicted, 0.3, 1e-9);
    f->jobs[0]->doing = JOB_SERIAL;
    assert_float_equal(standing(f, 0).predicted, 1, 1e-9);
    f->jobs[0]->doing = JOB_STARTING;
    assert_true(isnan(standing(f, 0).predicted));
}

static void test_limit(void **state)
{
    struct fixture *f = *state;
    struct job *job = f->jobs[0];

    assert_null(standing(f, 0).limit);
    profile(job->region, 0, 0);
    assert_string_equal(standing(f, 0).limit, "compute");
    profile(job->region, 10, 2);
    assert_string_equal(standing(f, 0).limit, "memory");
    job->record.parallel_s = 1;
    job->record.total.barriers = 1e6;
    assert_string_equal(standing(f, 0).limit, "barrier");
    job->doing = JOB_SERIAL;
    assert_string_equal(standing(f, 0).limit, "serial");
    job->suspended = true;
    assert_string_equal(standing(f, 0).limit, "stopped");
    job->suspended = false;
    job->parked = true;
    assert_string_equal(standing(f, 0).limit, "turn");
    job->tasks = NULL;
    job->parked = false;
    assert_null(standing(f, 0).limit);
}

static void test_load(void **state)
{
    struct fixture *f = *state;
    const struct machine *m = topology_machine(f->topology);
    double load[LOADS] = {-1}, computing = -1;

    assert_int_equal(m->numa_nodes, 2);
    assert_in_range(m->numa_nodes + m->links, 3, LOADS);
    assert_false(standing_load(&f->table, f->topology, load, &computing));
    assert_float_equal(load[0], -1, 0); /* nothing is set */
    profile(f->jobs[0]->region, 0, 0);
    assert_false(standing_load(&f->table, f->topology, load, &computing)); /* the other */
    profile(f->jobs[1]->region, 0, 0);
    assert_true(standing_load(&f->table, f->topology, load, &computing));
    assert_float_equal(computing, 8, 1e-6);
    for (size_t i = 0; i < m->numa_nodes + m->links; i++)
        assert_float_equal(load[i], 0, 0);

    /* The first asks its own node, the second the same over a link. */
    double service = m->controller_service_us[0];
    profile(f->jobs[0]->region, 0.1 / service, 0.1);
    assert_true(standing_load(&f->table, f->topology, load, &computing));
    assert_in_range(load[0] * 100, 20, 40);
    assert_float_equal(load[1] + load[2], 0, 0);
    profile(f->jobs[1]->region, 0.1 / service, 0.1);
    assert_true(standing_load(&f->table, f->topology, load, &computing));
    assert_in_range(load[0] * 100, 41, 80);
    assert_float_equal(load[1], 0, 0);
    double links = 0;
    for (size_t l = 0; l < m->links; l++)
        links += load[2 + l];
    assert_true(links > 0.05);
    assert_true(computing > 4 && computing < 8);
    /* Who waits asks for nothing. */
    f->jobs[0]->parked = f->jobs[1]->parked = true;
    assert_true(standing_load(&f->table, f->topology, load, &computing));
    assert_float_equal(load[0] + computing, 0, 0);
}

UNIT(test_standing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_speed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load, setup, teardown),
    };

    return cmocka_run_group_tests_name("test_standing", tests, NULL, NULL);
}
