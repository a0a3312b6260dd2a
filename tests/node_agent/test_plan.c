/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Plans on a machine that is not there: pool, limits, profiling, turns. */

#include "tests/node_agent/unit.h"

#include "node_agent/plan.h"
#include "protocol/cpulist.h"

#define MS UINT64_C(1000000)
#define MOST 4

struct fixture {
    struct topology *topology;
    struct job_table table;
    struct job *jobs[MOST];
    struct plan_share share[MOST];
    struct plan plan;
    struct plan_input input;
    struct planner *planner;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    setenv("HWLOC_SYNTHETIC", "pack:1 core:8 pu:1", 1);
    f->topology = topology_new(NULL, NULL);
    unsetenv("HWLOC_SYNTHETIC");
    for (uint32_t i = 0; i < MOST; i++) {
        f->jobs[i] = job_add(&f->table, i + 1);
        f->jobs[i]->kind = SECTION_PARALLEL;
        f->jobs[i]->granted = *topology_cpus(f->topology);
    }
    f->input = (struct plan_input){.topology = f->topology,
                                   .policy = "nupoco",
                                   .jobs = f->jobs,
                                   .count = 2,
                                   .profile_ns = 150 * MS};
    f->plan.share = f->share;
    f->planner = f->topology ? planner_new(f->topology) : NULL;
    *state = f;
    return f->planner ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    while (f->table.first)
        job_remove(&f->table, f->table.first);
    planner_free(f->planner);
    topology_free(f->topology);
    free(f);
    return 0;
}

static int cores(const struct fixture *f, size_t i)
{
    return cpuset_count(&f->share[i].cpus);
}

/* Make a plan; its shares are disjoint and granted. */
static void make(struct fixture *f)
{
    struct errtext err = {""};
    struct cosched_cpuset seen = {{0}};

    if (plan_make(f->planner, &f->input, &f->plan, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < f->input.count; i++) {
        assert_false(cpuset_intersects(&seen, &f->share[i].cpus));
        assert_true(cpuset_subset(&f->share[i].cpus, &f->jobs[i]->granted));
        assert_int_equal(cpuset_empty(&f->share[i].cpus), f->share[i].parked);
        cpuset_or(&seen, &f->share[i].cpus);
    }
}

static void test_profiling(void **state)
{
    struct fixture *f = *state;
    struct section *section = section_find(&f->jobs[1]->sections, 1, 1);

    f->jobs[1]->section = section;
    make(f);
    assert_int_equal(f->share[1].profile_dop, 7); /* one for the other job */
    assert_int_equal(cores(f, 1), 7);
    assert_int_equal(cores(f, 0), 1);
    section_grant(section, 7, 150 * MS);
    measure_add(&section->measure, 7, 150 * MS, (double[COUNTERS_UNITS]){0});
    make(f);
    assert_int_equal(f->share[1].profile_dop, 4);
    assert_int_equal(cores(f, 1), 4);
    assert_int_equal(cores(f, 0), 4);
}

static void test_one_is_profiled_at_a_time(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++)
        f->jobs[i]->section = section_find(&f->jobs[i]->sections, 1, 1);
    f->jobs[1]->profiling = true; /* goes on */
    make(f);
    assert_int_equal(f->share[0].profile_dop, 0);
    assert_int_equal(f->share[1].profile_dop, 7);
}

static void test_serial_and_limits(void **state)
{
    struct fixture *f = *state;

    f->input.count = 3;
    f->jobs[0]->kind = SECTION_SERIAL;
    f->jobs[1]->options.max_cores = 2;
    f->jobs[2]->options.min_cores = 3;
    make(f);
    assert_int_equal(cores(f, 0), 1);
    assert_in_range(cores(f, 1), 1, 2);
    assert_in_range(cores(f, 2), 3, 7);
}

static void test_turns(void **state)
{
    struct fixture *f = *state;
    struct cosched_cpuset two = {{0x3}};
    int had[MOST] = {0};

    for (int i = 0; i < MOST; i++)
        f->jobs[i]->granted = two;
    f->input.count = MOST;
    for (f->input.slice = 0; f->input.slice < MOST; f->input.slice++) {
        make(f);
        assert_true(f->plan.turns);
        for (int i = 0; i < MOST; i++)
            had[i] += cores(f, (size_t)i);
    }
    for (int i = 0; i < MOST; i++)
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

static void test_repair(void **state)
{
    struct cosched_cpuset granted[] = {{{0x3}}, {{0xc}}};
    int owner[] = {1, 1, 0, POLICY_NO_CPU};

    (void)state;
    plan_repair(granted, 2, owner, 4);
    assert_int_equal(owner[0], 0);
    assert_int_equal(owner[1], 0);
    assert_int_equal(owner[2], 1);
    assert_int_equal(owner[3], POLICY_NO_CPU);
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

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_profiling),         T(test_one_is_profiled_at_a_time),
        T(test_serial_and_limits), T(test_turns),
        T(test_different_grants),  T(test_repair),
        T(test_policy_of_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
