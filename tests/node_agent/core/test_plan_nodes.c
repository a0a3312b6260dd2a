/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Plans on four LLC domains of two cores: which of them are divided. */

#include "tests/support/unit.h"

#include "node_agent/core/plan_fields.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/core/fake_plan.h"

#define CORES 8
#define NODES 4
#define JOBS 2

static int setup(void **state)
{
    return fake_plan_new(state, "pack:4 [numa] l3:1 core:2 pu:1");
}

/* Plan with CORES of job 2, as when it is measured (0: as the policy likes), and
 * carry it out. */
static void make(struct fixture *f, int cores)
{
    struct errtext err = {""};

    f->jobs[1]->options.min_cores = f->jobs[1]->options.max_cores = cores;
    /* A minimum goes beyond the fair share only where the others cannot use theirs. */
    f->jobs[0]->options.max_cores = cores ? CORES - cores : 0;
    if (plan_make(f->planner, &f->input, &f->plan, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t j = 0; j < JOBS; j++)
        f->jobs[j]->cpus = f->share[j].cpus;
}

static void set_cpus(struct job *job, const char *list)
{
    assert_int_equal(cpulist_parse(list, &job->cpus, NULL), 0);
}

static void assert_cpus(const struct job *job, const char *list)
{
    char text[64];

    assert_string_equal(cpulist_format(&job->cpus, text, sizeof(text)), list);
}

/* LLC domains on which both jobs have a core; the jobs have all cores together. */
static int divided(const struct fixture *f)
{
    const struct machine *machine = topology_machine(f->topology);
    int owners[NODES] = {0}, count = 0;

    assert_false(cpuset_intersects(&f->jobs[0]->cpus, &f->jobs[1]->cpus));
    for (int c = 0; c < CORES; c++) {
        int owner = cpuset_has(&f->jobs[0]->cpus, c)   ? 1
                    : cpuset_has(&f->jobs[1]->cpus, c) ? 2
                                                       : 0;
        assert_int_not_equal(owner, 0);
        owners[machine->llc_domain[c]] |= owner;
    }
    for (size_t i = 0; i < NODES; i++)
        count += owners[i] == 3;
    return count;
}

/* A job that is measured on an odd number of cores divides one LLC domain, for as
 * long as that lasts, however the LLC domains lay before. */
static void test_measured(void **state)
{
    static const char *const before[][2] = {
        {"0-3", "4-7"}, {"0-1,4-5", "2-3,6-7"}, {"2-5", "0-1,6-7"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        for (int first = 1; first < CORES; first++)
            for (int second = 1; second < CORES; second++) {
                for (size_t j = 0; j < JOBS; j++)
                    set_cpus(f->jobs[j], before[i][j]);
                make(f, first);
                assert_int_equal(divided(f), first % 2);
                make(f, second);
                assert_int_equal(divided(f), second % 2);
                make(f, 0);
                assert_int_equal(cpuset_count(&f->jobs[0]->cpus), CORES / 2);
                assert_int_equal(divided(f), 0);
            }
}

/* What that looks like: nothing that anybody had moves but what has to. */
static void test_moves(void **state)
{
    struct fixture *f = *state;

    set_cpus(f->jobs[0], "0-1,4-5");
    set_cpus(f->jobs[1], "2-3,6-7");
    make(f, 3);
    assert_cpus(f->jobs[0], "0-1,3-5");
    assert_cpus(f->jobs[1], "2,6-7");
    make(f, 0);
    assert_cpus(f->jobs[0], "0-1,4-5");
    assert_cpus(f->jobs[1], "2-3,6-7");
}

/* Who lent its cores for a while has the same ones back, and so have all others, where the data of
 * one are where its cores are. */
static void test_loan(void **state)
{
    struct fixture *f = *state;
    struct job *job = f->jobs[1];
    struct region *region = region_find(&f->jobs[0]->regions, 1, 1);

    region->profile = workload_new(NODES);
    f->jobs[0]->region = region;
    set_cpus(f->jobs[0], "0-1,4-5");
    set_cpus(job, "2-3,6-7");
    struct cosched_cpuset had = job->cpus, borrowed;
    job->doing = JOB_SERIAL;
    job->stretch.lends = true;
    make(f, 0);
    assert_int_equal(cpuset_count(&job->cpus), 1);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), CORES - 1);
    job->loan = had;
    cpuset_andnot(&job->loan, &job->cpus);
    make(f, 0);
    assert_int_equal(cpuset_count(&job->cpus), 1);
    borrowed = f->jobs[0]->cpus;
    had = job->cpus;
    job->doing = JOB_MALLEABLE;
    job->stretch.lends = false;
    make(f, 0); /* nobody knows where data are */
    assert_int_equal(cpuset_count(&job->cpus), CORES / 2);
    assert_int_not_equal(cpuset_has(&f->jobs[0]->cpus, 0) + cpuset_has(&f->jobs[0]->cpus, 1) +
                         cpuset_has(&f->jobs[0]->cpus, 4) + cpuset_has(&f->jobs[0]->cpus, 5), 4);
    f->jobs[0]->cpus = borrowed;
    job->cpus = had;
    region->profile->locality = 0.8;
    make(f, 0);
    assert_cpus(f->jobs[0], "0-1,4-5");
    assert_cpus(job, "2-3,6-7");
    /* It was granted less meanwhile. */
    assert_int_equal(cpulist_parse("2-7", &job->granted, NULL), 0);
    assert_int_equal(cpulist_parse("0-7", &job->loan, NULL), 0);
    make(f, 0);
    assert_false(cpuset_intersects(&f->jobs[0]->cpus, &job->cpus));
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), CORES / 2);
    assert_int_equal(cpuset_count(&job->cpus), CORES / 2);
}

/* Two of four have ended: the others are not left scattered. */
static void test_scattered(void **state)
{
    struct fixture *f = *state;

    set_cpus(f->jobs[0], "1,3-4");
    set_cpus(f->jobs[1], "0,2,6");
    make(f, 0);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), CORES / 2);
    assert_int_equal(divided(f), 0);
}

/* ---- without words -------------------------------------------------------- */

static unsigned random_below(unsigned limit)
{
    static uint64_t state = 1;

    state = state * UINT64_C(6364136223846793005) + 1;
    return (unsigned)(state >> 33) % limit;
}

/* JOB does something else: it is serial, or in a region of which the profile is
 * known, or not. */
static void change(struct job *job, size_t memories)
{
    job->doing = random_below(5) ? JOB_MALLEABLE : JOB_SERIAL;
    job->region = job->doing == JOB_MALLEABLE
                       ? region_find(&job->regions, 1, random_below(3))
                       : NULL;
    if (!job->region || job->region->profile || !random_below(4))
        return;
    job->region->profile = workload_new(memories);
    job->region->known = true;
    job->region->profile->llc_per_us = 1 + random_below(20);
    for (size_t m = 0; m < memories; m++) {
        double rate = random_below(100) * 1e-3;
        job->region->profile->rate[m] = (struct workload_rate){rate, rate};
    }
}

/* An epoch of JOB with noise in what is counted of its caches. */
static void count(const struct fixture *f, struct job *job)
{
    const struct machine *machine = topology_machine(f->topology);
    size_t dop = topology_count_cores(f->topology, &job->cpus);
    double work[COUNTERS_UNITS] = {1000 + random_below(100), 100, 0, 0};

    if (!job->region || !dop)
        return;
    struct loop *loop = loop_new(machine->llc_domains, machine->numa_nodes);
    loop->total_us = 50000;
    for (int c = -1; (c = cpuset_next(&job->cpus, c)) >= 0;) {
        size_t node = (size_t)machine->llc_domain[c];
        loop->cores[node]++;
        loop->useful_cycles[node] += 1e6;
        loop->llc_accesses[node] += 1e4 * (1 + random_below(20));
    }
    measure_add(&job->region->measure, dop, 50000000, work);
    measure_add_loop(&job->region->measure, dop, loop);
    loop_free(loop);
}

/* A planner that need not give reasons decides as one that does, epoch by epoch,
 * and is silent only where nothing changes. */
static void test_terse(void **state)
{
    struct fixture *f = *state;
    struct planner *terse = planner_new(f->topology);
    struct plan_share shares[PLAN_JOBS];
    struct plan plan = {.share = shares};
    struct errtext err = {""};
    size_t silent = 0, spoken = 0;

    assert_non_null(terse);
    for (int epoch = 0; epoch < 4000; epoch++) {
        if (!random_below(20))
            f->input.count = 1 + random_below(PLAN_JOBS);
        for (size_t i = 0; i < f->input.count; i++)
            if (!random_below(15))
                change(f->jobs[i], NODES);
        f->input.terse = false;
        assert_int_equal(plan_make(f->planner, &f->input, &f->plan, &err), 0);
        f->input.terse = true;
        assert_int_equal(plan_make(terse, &f->input, &plan, &err), 0);
        assert_memory_equal(shares, f->share,
                            f->input.count * sizeof(*shares));
        assert_int_equal(plan.periodic, f->plan.periodic);
        assert_int_equal(plan.turns, f->plan.turns);
        assert_true(f->plan.reason[0]);
        if (plan.reason[0])
            assert_string_equal(plan.reason, f->plan.reason);
        else
            assert_true(plan.periodic && !plan_differs(&f->input, &plan));
        silent += !plan.reason[0];
        spoken += plan.reason[0] != '\0';
        for (size_t i = 0; i < PLAN_JOBS; i++) {
            bool in = i < f->input.count;
            f->jobs[i]->cpus = in ? shares[i].cpus : (struct cosched_cpuset){{0}};
            f->jobs[i]->parked = in && shares[i].parked;
            count(f, f->jobs[i]);
        }
    }
    assert_true(silent > 100 && spoken > 100);
    planner_free(terse);
}

static int nodes_of(const struct fixture *f, const struct job *job)
{
    const struct machine *machine = topology_machine(f->topology);
    bool has[NODES] = {false};
    int count = 0;

    for (int c = -1; (c = cpuset_next(&job->cpus, c)) >= 0;)
        has[machine->llc_domain[c]] = true;
    for (size_t n = 0; n < NODES; n++)
        count += has[n];
    return count;
}

/* Who has attached leaves those who will soon their shares, until it is known: when they attach it
 * stays where it is. */
static void test_room(void **state)
{
    struct fixture *f = *state;
    struct job *due = f->jobs[1];

    f->input.policy = "corun";
    due->doing = JOB_STARTING;
    due->soon = true;
    make(f, 0);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), 4);
    assert_int_equal(cpuset_count(&due->cpus), 1);
    struct cosched_cpuset share = f->jobs[0]->cpus;
    due->soon = false; /* perhaps it reads */
    make(f, 0);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), CORES - 1);
    f->jobs[0]->cpus = share;
    due->doing = JOB_MALLEABLE;
    make(f, 0);
    assert_true(cpuset_equal(&f->jobs[0]->cpus, &share));
    assert_int_equal(divided(f), NODES);
    due->doing = JOB_STARTING;
    due->soon = true;
    due->weight = 0.5; /* five are its share, four as many on each node */
    make(f, 0);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), NODES);
    assert_int_equal(nodes_of(f, f->jobs[0]), NODES);
    due->weight = 3;
    make(f, 0);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), 2);
    due->weight = 100; /* less than a core is left */
    make(f, 0);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), 1);
    f->jobs[0]->region = region_find(&f->jobs[0]->regions, 1, 1);
    f->jobs[0]->region->profile = workload_new_rho(NODES, 0.5, MACHINE_DEFAULT_SERVICE_US);
    make(f, 0);
    assert_int_equal(cpuset_count(&f->jobs[0]->cpus), CORES - 1);
}

/* JOB ran for MS on its CPUs, stalled for half of the time. */
static void ran(const struct fixture *f, struct job *job, double ms)
{
    const struct machine *machine = topology_machine(f->topology);
    struct loop *loop = loop_new(machine->llc_domains, machine->numa_nodes);
    const double work[COUNTERS_UNITS] = {0};
    size_t dop = topology_count_cores(f->topology, &job->cpus);

    loop->total_us = ms * 1e3;
    for (int c = -1; (c = cpuset_next(&job->cpus, c)) >= 0;) {
        size_t i = (size_t)machine->llc_domain[c];
        loop->cores[i]++;
        loop->useful_cycles[i] += ms * 1e6;
        loop->stalled_cycles[i] += ms * 1e6;
        loop->requests[i * machine->numa_nodes].read += ms * 1e4;
    }
    region_measure(job->region, dop, (uint64_t)(ms * 1e6), work, false);
    measure_add_loop(&job->region->measure, dop, loop);
    loop_free(loop);
}

static void know(struct job *job, double rho)
{
    job->region = region_find(&job->regions, 1, 1);
    job->region->known = true;
    job->region->profile = workload_new_rho(NODES, rho, MACHINE_DEFAULT_SERVICE_US);
    job->region->profile->llc_cores = 2;
    job->region->seen.from = FIT_OF_REQUESTS;
}

/* Who waits for memory has half of its cores on each LLC domain for a moment, and who can use them
 * has the others; then all is as before. */
static void test_halved(void **state)
{
    struct fixture *f = *state;
    struct job *job = f->jobs[0];

    f->input.policy = "corun";
    know(job, 0.3);
    know(f->jobs[1], 0);
    make(f, 0);
    struct cosched_cpuset whole = job->cpus, other = f->jobs[1]->cpus, rest;
    size_t cores = (size_t)cpuset_count(&whole);
    ran(f, job, 5000);
    make(f, 0); /* no budget */
    assert_false(f->share[0].halved);
    f->input.budget = (struct region_budget){150000000, 0.02};
    for (int times = 0; times < 2; times++) { /* the first tells nothing */
        int theirs = times ? CORES - (int)cores : 0; /* and no more */
        uint64_t before = plan_signature(&f->input, 0);
        make(f, theirs);
        assert_true(f->share[0].halved && !f->share[1].halved);
        assert_int_equal(f->share[0].profile_dop, cores / 2);
        assert_int_equal(cpuset_count(&job->cpus), cores / 2);
        assert_true(cpuset_subset(&job->cpus, &whole));
        rest = f->jobs[1]->cpus;
        cpuset_andnot(&rest, &other);
        assert_int_equal(cpuset_count(&rest), times ? 0 : cores - cores / 2);
        assert_true(cpuset_subset(&other, &f->jobs[1]->cpus));
        plan_grant(&f->share[0], job, &f->input.budget);
        assert_true(plan_signature(&f->input, 0) != before);
        make(f, theirs);
        assert_int_equal(cpuset_count(&job->cpus), cores / 2);
        if (times)
            ran(f, job, 50);
        region_list_probed_cache(&job->regions, 50000000);
        make(f, theirs);
        assert_false(f->share[0].halved);
        assert_true(cpuset_equal(&job->cpus, &whole));
        assert_true(cpuset_equal(&f->jobs[1]->cpus, &other));
    }
    make(f, 0);
    assert_false(f->share[0].halved);
}

/* Nor one that has one core of each, needs them or is pinned, or under a policy that would not use
 * it. */
static void test_not_halved(void **state)
{
    struct fixture *f = *state;
    struct job *job = f->jobs[0];

    f->input.budget = (struct region_budget){150000000, 0.02};
    know(job, 0.3);
    know(f->jobs[1], 0);
    f->input.policy = "nupoco";
    make(f, 0);
    ran(f, job, 5000);
    make(f, 0);
    assert_false(f->share[0].halved);
    f->input.policy = "corun";
    set_cpus(job, "0,2,4,6");
    set_cpus(f->jobs[1], "1,3,5,7");
    ran(f, job, 5000);
    job->region->profile->locality = 1; /* it stays there */
    make(f, 0);
    assert_false(f->share[0].halved);
    measure_clear(&job->region->measure); /* that tells enough */
    job->region->profile->locality = NAN;
    set_cpus(job, "0-3");
    set_cpus(f->jobs[1], "4-7");
    ran(f, job, 5000);
    job->options.min_cores = 3; /* half would be less */
    f->jobs[0]->options.max_cores = 4;
    assert_int_equal(plan_make(f->planner, &f->input, &f->plan, NULL), 0);
    assert_false(f->share[0].halved);
    job->options.min_cores = 0;
    job->doing = JOB_PINNED;
    assert_int_equal(plan_make(f->planner, &f->input, &f->plan, NULL), 0);
    assert_false(f->share[0].halved);
    job->doing = JOB_MALLEABLE;
    assert_int_equal(plan_make(f->planner, &f->input, &f->plan, NULL), 0);
    assert_true(f->share[0].halved);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, fake_plan_free)

UNIT(test_plan_nodes)
{
    const struct CMUnitTest tests[] = {T(test_measured), T(test_moves), T(test_loan),
                                       T(test_scattered), T(test_terse), T(test_room),
                                       T(test_halved), T(test_not_halved)};

    return cmocka_run_group_tests_name("test_plan_nodes", tests, NULL, NULL);
}
