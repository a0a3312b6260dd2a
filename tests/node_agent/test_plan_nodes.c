/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Plans on four CPU nodes of two cores: which of them are divided. */

#include "tests/node_agent/unit.h"

#include "protocol/cpulist.h"
#include "tests/node_agent/fake_plan.h"

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

/* CPU nodes on which both jobs have a core; the jobs have all cores together. */
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
        owners[machine->cpu_node[c]] |= owner;
    }
    for (size_t i = 0; i < NODES; i++)
        count += owners[i] == 3;
    return count;
}

/* A job that is measured on an odd number of cores divides one CPU node, for as
 * long as that lasts, however the CPU nodes lay before. */
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

#define T(test) cmocka_unit_test_setup_teardown(test, setup, fake_plan_free)

int main(void)
{
    const struct CMUnitTest tests[] = {T(test_measured), T(test_moves),
                                       T(test_scattered)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
