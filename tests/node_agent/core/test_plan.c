/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Plans on a machine that is not there: pool, limits, profiling, turns. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/core/plan_facts.h"
#include "node_agent/core/plan_fields.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/core/fake_plan.h"

#define MS UINT64_C(1000000)

static int setup_on(void **state, const char *synthetic)
{
    int rc = fake_plan_new(state, synthetic);
    struct fixture *f = *state;

    f->input.budget = (struct region_budget){150 * MS, 0.02};
    return rc;
}

static int setup(void **state)
{
    return setup_on(state, "pack:1 core:8 pu:1");
}

static int cores(const struct fixture *f, size_t i)
{
    return cpuset_count(&f->share[i].cpus);
}

/* Make a plan; its shares are granted, and disjoint unless all have all. */
static void make(struct fixture *f)
{
    struct errtext err = {""};
    struct cosched_cpuset seen = {{0}};

    if (plan_make(f->planner, &f->input, &f->plan, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < f->input.count; i++) {
        assert_true(f->plan.native ||
                    !cpuset_intersects(&seen, &f->share[i].cpus));
        assert_true(cpuset_subset(&f->share[i].cpus, &f->jobs[i]->granted));
        assert_int_equal(cpuset_empty(&f->share[i].cpus), f->share[i].parked);
        cpuset_or(&seen, &f->share[i].cpus);
    }
}

/* REGION ran on four cores for so long that it may be probed. */
static void let_run(struct region *region)
{
    double work[COUNTERS_UNITS] = {[COUNTERS_ITERATIONS] = 1000};

    for (int i = 0; i < 100; i++)
        region_measure(region, 4, 50 * MS, work, false);
}

static void test_profiling(void **state)
{
    struct fixture *f = *state;
    struct region *region = region_find(&f->jobs[1]->regions, 1, 1);

    f->jobs[1]->region = region;
    make(f);
    assert_int_equal(f->share[1].profile_dop, 0); /* not that soon */
    let_run(region);
    make(f);
    assert_int_equal(f->share[1].profile_dop, 1);
    assert_int_equal(cores(f, 1), 1);
    assert_int_equal(cores(f, 0), 7);
    region_grant(region, 7, false, &f->input.budget); /* one for the other job */
    make(f);
    assert_int_equal(f->share[1].profile_dop, 7);
    assert_int_equal(cores(f, 1), 7);
    assert_int_equal(cores(f, 0), 1);
    region_measure(region, 7, 50 * MS, (double[COUNTERS_UNITS]){0}, true);
    make(f);
    assert_int_equal(f->share[1].profile_dop, 0);
    assert_int_equal(cores(f, 1), 4);
    assert_int_equal(cores(f, 0), 4);
}

static void test_weights(void **state)
{
    struct fixture *f = *state;

    f->input.policy = "equal";
    make(f);
    assert_int_equal(cores(f, 0), 4);
    f->jobs[0]->options.weight = 3; /* the controller has not said so */
    make(f);
    assert_int_equal(cores(f, 0), 4);
    f->jobs[0]->weight = 3;
    make(f);
    assert_int_equal(cores(f, 0), 6);
    assert_int_equal(cores(f, 1), 2);
}

/* The more work a job has left, the more cores (DESIGN's golden numbers, here on
 * 8 cores). */
static void test_remaining_work(void **state)
{
    static const double rho[] = {0, 0.5};
    struct fixture *f = *state;

    f->input.policy = "corun";
    for (size_t i = 0; i < 2; i++) {
        struct region *s = region_find(&f->jobs[i]->regions, 1, 1);
        s->known = true;
        s->profile = workload_new_rho(1, rho[i], MACHINE_DEFAULT_SERVICE_US);
        f->jobs[i]->region = s;
    }
    f->jobs[0]->expected_s = f->jobs[1]->expected_s = 100;
    make(f);
    int few = cores(f, 0);
    f->jobs[0]->expected_s = 400;
    make(f);
    assert_true(cores(f, 0) > few);
    assert_true(cores(f, 1) >= 1);
}

/* While sharing is drained jobs share the time, and are credited with what they do. */
static void test_drained(void **state)
{
    struct fixture *f = *state;

    f->input.drained = "";
    make(f);
    for (size_t i = 0; i < 2; i++)
        assert_true(f->share[i].relative_speed == 0.5);
}

static void test_one_is_profiled_at_a_time(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        f->jobs[i]->region = region_find(&f->jobs[i]->regions, 1, 1);
        let_run(f->jobs[i]->region);
    }
    f->jobs[1]->profiling = true; /* goes on */
    make(f);
    assert_int_equal(f->share[0].profile_dop, 0);
    assert_int_equal(f->share[1].profile_dop, 1);
}

/* RATE units of work a second on DOP cores, for an epoch. */
static void run_on(struct region *region, size_t dop, double rate, bool probed)
{
    double work[COUNTERS_UNITS] = {[COUNTERS_ITERATIONS] = rate / 20};

    region_measure(region, dop, 50 * MS, work, probed);
}

/* A job alone has all cores and needs no second point, unless fewer could save energy. */
static void test_profiling_for_energy(void **state)
{
    struct fixture *f = *state;
    struct machine *machine = (struct machine *)(uintptr_t)topology_machine(f->topology);

    f->input.count = 1;
    f->input.policy = "corun";
    f->jobs[0]->region = region_find(&f->jobs[0]->regions, 1, 1);
    for (int i = 0; i < 100; i++)
        run_on(f->jobs[0]->region, 8, 2000, false);
    f->jobs[0]->options.objective = POLICY_LEAST_ENERGY;
    make(f);
    assert_int_equal(f->share[0].profile_dop, 0); /* what is saved nobody knows */
    machine->power = (struct machine_power){10, 1, 5, 4, 1};
    make(f);
    assert_in_range(f->share[0].profile_dop, 1, 7);
    assert_int_equal(cores(f, 0), f->share[0].profile_dop);
    f->jobs[0]->options.objective = POLICY_AS_SITE;
    make(f);
    assert_int_equal(f->share[0].profile_dop, 0);
    f->input.policy_options = "cost:edp";
    make(f);
    assert_in_range(f->share[0].profile_dop, 1, 7);
}

/* Two cores leave no other number of them to be measured than both, while the other
 * job waits; if both are worth more than twice one, the jobs take turns. */
static void test_measured_alone(void **state)
{
    struct fixture *f = *state;
    struct region *region[2];

    f->input.policy = "corun";
    for (size_t i = 0; i < 2; i++) {
        f->jobs[i]->region = region[i] = region_find(&f->jobs[i]->regions, 1, 1);
        for (int epoch = 0; epoch < 7; epoch++)
            run_on(region[i], 1, 1000, false);
    }
    make(f);
    assert_int_equal(cores(f, 0), 1); /* not that soon */
    for (size_t i = 0; i < 2; i++)
        for (int epoch = 0; epoch < 2; epoch++)
            run_on(region[i], 1, 1000, false);
    for (size_t i = 0; i < 2; i++) {
        make(f);
        assert_int_equal(cores(f, i), 2);
        assert_int_equal(f->share[i].profile_dop, 2);
        assert_true(f->share[i].alone);
        assert_true(f->share[1 - i].parked);
        assert_false(f->plan.turns);
        region_grant(region[i], 2, true, &f->input.budget);
        run_on(region[i], 2, i ? 3000 : 2000, true);
    }
    assert_true(region[0]->probe_ns < 10 * MS); /* what it did meanwhile is not lost */
    make(f);
    assert_true(f->plan.turns);
    assert_non_null(strstr(f->plan.reason, "measured to need 0.83"));
    assert_int_equal(cores(f, 0) + cores(f, 1), 2);
    f->input.policy = "nupoco"; /* knows no turns */
    make(f);
    assert_false(f->share[0].parked || f->share[1].parked);
}

/* The first regions of a job run on the whole pool, one job after the other. */
static void test_clean(void **state)
{
    struct fixture *f = *state;
    struct region *region[2];

    f->input.clean_ns = 100 * MS;
    for (size_t i = 0; i < 2; i++)
        f->jobs[i]->region = region[i] = region_find(&f->jobs[i]->regions, 1, 1);
    for (size_t i = 0; i < 2; i++)
        for (size_t epoch = 0; epoch < 2; epoch++) {
            uint64_t before = plan_signature(&f->input, 0);
            make(f);
            assert_int_equal(cores(f, i), 8);
            assert_true(f->share[i].alone && f->share[1 - i].parked);
            assert_non_null(strstr(f->plan.reason, "is new and runs alone"));
            assert_false(f->plan.turns);
            region_grant(region[i], 8, true, &f->input.budget);
            run_on(region[i], 8, 1000, true);
            if (epoch) /* there is a reason to decide again */
                assert_true(plan_signature(&f->input, 0) != before);
        }
    make(f);
    assert_int_equal(cores(f, 0), 4);
    assert_int_equal(cores(f, 1), 4);
    f->jobs[0]->region = region_find(&f->jobs[0]->regions, 1, 2); /* it is not new by that */
    make(f);
    assert_int_equal(cores(f, 0), 4);
    f->input.policy = "equal"; /* uses no profiles */
    f->input.clean_ns = 60000 * MS;
    make(f);
    assert_int_equal(cores(f, 0), 4);
}

static int setup_two_cores(void **state)
{
    return setup_on(state, "pack:1 core:2 pu:1");
}

static void test_serial_and_limits(void **state)
{
    struct fixture *f = *state;

    f->input.count = 3;
    f->jobs[0]->doing = JOB_SERIAL;
    f->jobs[1]->options.max_cores = 2;
    f->jobs[2]->options.min_cores = 3;
    make(f);
    assert_int_equal(cores(f, 0), 1);
    assert_in_range(cores(f, 1), 1, 2);
    assert_in_range(cores(f, 2), 3, 7);
}

/* A minimum takes nothing from the share of others, but what these cannot use. */
static void test_greedy(void **state)
{
    struct fixture *f = *state;

    f->input.count = 2;
    f->jobs[0]->options.min_cores = 7;
    make(f);
    assert_int_equal(cores(f, 0), 4);
    assert_int_equal(cores(f, 1), 4);
    f->jobs[1]->options.max_cores = 2;
    make(f);
    assert_int_equal(cores(f, 0), 6);
    assert_int_equal(cores(f, 1), 2);
    f->jobs[1]->options.max_cores = 0;
    f->jobs[1]->doing = JOB_SERIAL;
    make(f);
    assert_int_equal(cores(f, 0), 7);
    assert_int_equal(cores(f, 1), 1);
    /* Both: nobody gets more than he should. */
    f->jobs[1]->doing = JOB_MALLEABLE;
    f->jobs[1]->options.min_cores = 1000;
    make(f);
    assert_int_equal(cores(f, 0), 4);
    assert_int_equal(cores(f, 1), 4);
}

static void test_turns(void **state)
{
    struct fixture *f = *state;
    struct cosched_cpuset two = {{0x3}};
    int had[PLAN_JOBS] = {0};

    for (int i = 0; i < PLAN_JOBS; i++)
        f->jobs[i]->granted = two;
    f->input.count = PLAN_JOBS;
    for (f->input.slice = 0; f->input.slice < PLAN_JOBS; f->input.slice++) {
        make(f);
        assert_true(f->plan.turns);
        for (int i = 0; i < PLAN_JOBS; i++)
            had[i] += cores(f, (size_t)i);
    }
    for (int i = 0; i < PLAN_JOBS; i++)
        assert_int_equal(had[i], 2);
}

/* Jobs that Slurm gave different CPUs. */
static void test_different_grants(void **state)
{
    struct fixture *f = *state;
    struct cosched_cpuset low = {{0x0f}}, high = {{0xf8}}, three = {{0x08}};

    f->jobs[0]->granted = low;
    f->jobs[1]->granted = high;
    f->jobs[2]->granted = three;
    f->input.count = 3;
    make(f);
    for (size_t i = 0; i < 3; i++)
        assert_true(cores(f, i) >= 1);
    assert_int_equal(f->share[2].cpus.word[0], 0x08);
}

static void test_policy_of_jobs(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(plan_policy(&f->input)->name, "nupoco");
    strcpy(f->jobs[0]->options.policy, "equal");
    assert_string_equal(plan_policy(&f->input)->name, "equal");
    strcpy(f->jobs[1]->options.policy, "greedy"); /* they disagree */
    assert_string_equal(plan_policy(&f->input)->name, "nupoco");
    f->input.policy = "bogus";
    struct errtext err = {""};
    assert_int_equal(plan_make(f->planner, &f->input, &f->plan, &err), -1);
    assert_non_null(strstr(err.text, "bogus"));
}

/* ---- policies ---- */

/* Put the plan into effect, as the scheduler does. */
static void carry_out(struct fixture *f)
{
    for (size_t i = 0; i < f->input.count; i++)
        f->jobs[i]->cpus = f->share[i].cpus;
}

static void know(struct job *job, double rho)
{
    job->region = region_find(&job->regions, 1, job->id);
    workload_free(job->region->profile);
    job->region->profile = workload_new_rho(1, rho, MACHINE_DEFAULT_SERVICE_US);
    job->region->known = true;
}

static size_t running(const struct fixture *f)
{
    size_t count = 0;

    for (size_t i = 0; i < f->input.count; i++)
        count += !f->share[i].parked;
    return count;
}

/* All policies take over from each other while three jobs run; no job is
 * dropped: it has CPUs, or it waits and somebody runs. */
static void test_switching(void **state)
{
    struct fixture *f = *state;

    f->input.count = 3;
    for (size_t i = 0; i < 3; i++)
        know(f->jobs[i], 0.1 * (double)i);
    for (size_t from = 0; policies[from]; from++)
        for (size_t to = 0; policies[to]; to++) {
            f->input.policy = policies[from]->name;
            make(f);
            carry_out(f);
            f->input.policy = policies[to]->name;
            for (int i = 0; i < 3; i++) {
                make(f);
                carry_out(f);
                assert_ptr_equal(f->plan.policy, policies[to]);
                assert_true(running(f) >= 1);
                assert_true(f->plan.reason[0] != '\0');
            }
        }
}

static void test_modes(void **state)
{
    struct fixture *f = *state;

    f->input.policy = "batch";
    make(f);
    assert_int_equal(cores(f, 0), 8);
    assert_true(f->share[1].parked);
    assert_false(f->plan.turns || f->plan.native); /* no slices: to the end */
    f->input.policy = "native";
    f->jobs[1]->options.max_cores = 3;
    make(f);
    assert_true(f->plan.native);
    assert_int_equal(cores(f, 0), 8);
    assert_int_equal(cores(f, 1), 3);
    /* Two that saturate memory alternate. */
    f->jobs[1]->options.max_cores = 0;
    know(f->jobs[0], 2);
    know(f->jobs[1], 2);
    f->input.policy = "corun";
    f->input.policy_options = "gain:0.02";
    for (f->input.slice = 0; f->input.slice < 4; f->input.slice++) {
        make(f);
        assert_true(f->plan.turns);
        assert_int_equal(cores(f, f->input.slice % 2), 8);
        assert_true(f->share[1 - f->input.slice % 2].parked);
    }
}

/* Under the kernel, too, a job has its maximum; limited jobs do not crowd. */
static void test_native_limits(void **state)
{
    struct fixture *f = *state;
    struct cosched_cpuset second;

    f->input.count = 3;
    f->jobs[0]->options.max_cores = f->jobs[1]->options.max_cores = 2;
    f->input.policy = "best-simple";
    make(f);
    assert_int_equal(cores(f, 0) + cores(f, 1), 4);
    assert_int_equal(cores(f, 2), 8);
    assert_false(cpuset_intersects(&f->share[0].cpus, &f->share[1].cpus));
    /* They stay where they are when another one has gone. */
    carry_out(f);
    second = f->share[1].cpus;
    f->input.jobs++;
    f->input.count--;
    assert_int_equal(plan_make(f->planner, &f->input, &f->plan, NULL), 0);
    assert_true(cpuset_equal(&f->share[0].cpus, &second));
}

/* Who runs in batch has only what Slurm gave it. */
static void test_batch_grants(void **state)
{
    struct fixture *f = *state;

    f->input.policy = "batch";
    f->jobs[0]->granted = (struct cosched_cpuset){{0xc0}};
    make(f);
    assert_int_equal(f->share[0].cpus.word[0], 0xc0);
    assert_true(f->share[1].parked);
}

static void test_policy_options(void **state)
{
    struct fixture *f = *state;
    struct errtext err = {""};

    know(f->jobs[0], 0.5);
    know(f->jobs[1], 0.5);
    f->input.policy = "greedy";
    f->input.fairness_percent = 100;
    make(f);
    assert_int_equal(cores(f, 0), 6);
    f->input.fairness_percent = 0;
    make(f);
    assert_in_range(cores(f, 0), 4, 5);
    /* They are not those of a policy that all jobs ask for. */
    f->input.policy_options = "gain:0.1";
    for (int i = 0; i < 2; i++)
        strcpy(f->jobs[i]->options.policy, "equal");
    make(f);
    f->input.policy = "equal";
    assert_int_equal(plan_make(f->planner, &f->input, &f->plan, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "gain:0.1: not an option of policy equal"));
    assert_non_null(strstr(err.text, "hysteresis:0..1"));
}

static void test_check_options(void **state)
{
    struct errtext err = {""};

    (void)state;
    assert_int_equal(plan_check_options("equal", "", &err), 0);
    assert_int_equal(plan_check_options("corun", "objective:makespan", &err), 0);
    assert_int_equal(plan_check_options("corun", "objective:lazy", &err), -1);
    assert_non_null(strstr(err.text, "objective:lazy"));
    assert_non_null(strstr(err.text, "objective:makespan|turnaround"));
    assert_int_equal(plan_check_options("corun", "gain:0.1;x:2;", &err), -1);
    assert_non_null(strstr(err.text, "options: x:2: not an option"));
    assert_int_equal(plan_check_options("bogus", "", &err), -1);
    assert_non_null(strstr(err.text, "bogus"));
}

/* A measurement of two jobs that share their CPUs would be one of neither. */
static void test_no_profiling(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        f->jobs[i]->region = region_find(&f->jobs[i]->regions, 1, 1);
        let_run(f->jobs[i]->region);
    }
    for (size_t p = 0; policies[p]; p++) {
        f->input.policy = policies[p]->name;
        make(f);
        assert_int_equal(f->share[0].profile_dop + f->share[1].profile_dop > 0,
                         policies[p]->profiles);
    }
}

static void test_facts(void **state)
{
    double llc[4];
    struct plan_facts f = {.llc_access = llc, .llc_miss = llc + 2};
    struct region region = {0};
    struct measure *m = &region.measure;
    struct job job = {.done_s = 10};
    struct loop *loop = loop_new(2, 1);

    (void)state;
    plan_facts_fill(&f, &job, 4, 2);
    assert_true(f.facts.done_s == 10 && isnan(f.facts.left_s));
    job.region = &region;
    job.expected_s = 30;
    assert_int_equal(f.facts.point_count, 0);
    assert_true(isnan(f.facts.cpu_share) && isnan(llc[0]) && isnan(llc[3]));
    /* Few iterations at one of them: barriers are what both have. */
    measure_add(m, 4, 100 * MS, (double[COUNTERS_UNITS]){500, 100, 0, 0});
    measure_add(m, 2, 100 * MS, (double[COUNTERS_UNITS]){3, 60, 0, 0});
    loop->total_us = 1000;
    loop->cores[1] = 4;
    loop->useful_cycles[1] = 3e6;
    loop->stalled_cycles[1] = 1e6;
    loop->llc_accesses[1] = 5000;
    loop->requests[1].read = loop->read_misses[1] = 2000;
    measure_add_loop(m, 4, loop);
    plan_facts_fill(&f, &job, 4, 2);
    assert_true(fabs(f.facts.left_s - 20) < 1e-9);
    assert_int_equal(f.facts.point_count, 2);
    assert_true(fabs(f.facts.points[0].throughput /
                     f.facts.points[1].throughput - 100. / 60) < 1e-9);
    assert_true(fabs(f.facts.cpu_share - 0.75) < 1e-9);
    assert_true(isnan(f.facts.llc_access[0]));
    assert_true(fabs(f.facts.llc_access[1] - 5) < 1e-9);
    assert_true(fabs(f.facts.llc_miss[1] - 2) < 1e-9);
    job.expected_s = 1; /* it is longer this time */
    plan_facts_fill(&f, &job, 3, 2); /* nothing was counted on three */
    assert_true(isnan(f.facts.cpu_share));
    assert_true(f.facts.left_s > 0 && f.facts.left_s < 10);
    loop_free(loop);
    measure_clear(m);
}

/* The linker sends the agent's allocations here (local.mk). */
static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

/* With a planner that knows the policy, a plan allocates nothing. */
static void test_allocates_nothing(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++)
        know(f->jobs[i], 0.3);
    for (size_t p = 0; policies[p]; p++) {
        f->input.policy = policies[p]->name;
        make(f);
        carry_out(f);
        size_t before = allocations;
        assert_true(before > 0);
        for (int i = 0; i < 3; i++)
            make(f);
        assert_int_equal(allocations, before);
    }
}

/* ---- epochs ---- */

/* Two last-level caches with four cores each. */
static int setup_two_caches(void **state)
{
    return setup_on(state, "pack:1 l3:2 core:4 pu:1");
}

/* What JOB did in 1000 us on the cores that it has: RATE LLC accesses of each
 * core per us. */
static void count_llc(const struct fixture *f, struct job *job, double rate)
{
    const struct machine *machine = topology_machine(f->topology);
    size_t dop = topology_count_cores(f->topology, &job->cpus);
    struct loop *loop = loop_new(machine->llc_domains, machine->numa_nodes);

    loop->total_us = 1000;
    for (int c = -1; (c = cpuset_next(&job->cpus, c)) >= 0;) {
        size_t node = (size_t)machine->llc_domain[c];
        loop->cores[node]++;
        loop->useful_cycles[node] += 1e6;
        loop->llc_accesses[node] += 1000 * rate;
    }
    measure_clear(&job->region->measure);
    measure_add(&job->region->measure, dop, MS,
                (double[COUNTERS_UNITS]){500, 100, 0, 0});
    measure_add_loop(&job->region->measure, dop, loop);
    loop_free(loop);
}

/* From counters to places: two cores of each job per epoch, once; jobs whose
 * LLC nobody sees are left alone between changes. */
static void test_adaptive(void **state)
{
    struct fixture *f = *state;
    struct cosched_cpuset first[2];

    for (size_t i = 0; i < 2; i++)
        know(f->jobs[i], 0);
    make(f);
    assert_false(f->plan.periodic);
    for (size_t i = 0; i < 2; i++)
        f->jobs[i]->region->profile->llc_per_us = i ? 1 : 10;
    for (int epoch = 0; epoch < 4; epoch++) {
        make(f);
        assert_true(f->plan.periodic);
        assert_int_equal(cores(f, 0), 4);
        assert_int_equal(cores(f, 1), 4);
        carry_out(f);
        for (size_t i = 0; i < 2; i++) {
            if (!epoch)
                first[i] = f->jobs[i]->cpus;
            count_llc(f, f->jobs[i], i ? 1 : 10);
            struct cosched_cpuset kept = f->jobs[i]->cpus;
            cpuset_and(&kept, &first[i]);
            assert_int_equal(cpuset_count(&kept), epoch ? 2 : 4);
        }
    }
    assert_non_null(strstr(f->plan.reason, "no swap of cores"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, fake_plan_free)

UNIT(test_plan)
{
    const struct CMUnitTest tests[] = {
        T(test_profiling),         T(test_one_is_profiled_at_a_time),
        T(test_serial_and_limits), T(test_greedy), T(test_turns),
        T(test_different_grants),
        T(test_policy_of_jobs),    T(test_switching),
        T(test_modes),             T(test_batch_grants),
        T(test_policy_options),    T(test_check_options),
        T(test_no_profiling),      T(test_facts),
        T(test_allocates_nothing), T(test_weights), T(test_profiling_for_energy),
        T(test_remaining_work),    T(test_native_limits), T(test_drained),
        T(test_clean),
        cmocka_unit_test_setup_teardown(test_measured_alone, setup_two_cores,
                                        fake_plan_free),
        cmocka_unit_test_setup_teardown(test_adaptive, setup_two_caches,
                                        fake_plan_free),
    };

    return cmocka_run_group_tests_name("test_plan", tests, NULL, NULL);
}
