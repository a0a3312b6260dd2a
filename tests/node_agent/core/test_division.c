/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A job's CPUs are divided among its processes, on a machine that is not there. */

#include "tests/support/unit.h"

#include "node_agent/core/division.h"
#include "protocol/cpulist.h"

#define MOST 8
#define LATE (2 * DIVISION_IDLE_NS)

struct fixture {
    struct topology *topology;
    struct job job;
    struct process process[MOST]; /* in the order in which they attached */
};

/* Two LLC domains of four cores with two CPUs each. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    setenv("HWLOC_SYNTHETIC", "pack:2 l3:1 core:4 pu:2", 1);
    f->topology = topology_new(NULL, NULL);
    unsetenv("HWLOC_SYNTHETIC");
    *state = f;
    return f->topology ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    topology_free(f->topology);
    free(f);
    return 0;
}

/* The job has CPUS, and COUNT processes that are all busy. */
static void prepare(struct fixture *f, const char *cpus, size_t count)
{
    assert_int_equal(cpulist_parse(cpus, &f->job.cpus, NULL), 0);
    memset(f->process, 0, sizeof(f->process));
    f->job.processes = NULL;
    for (size_t i = 0; i < count; i++) {
        f->process[i].next = f->job.processes;
        f->job.processes = &f->process[i];
    }
}

/* The parts are those of WANT, "LIST LIST ...". */
static void expect(struct fixture *f, const char *want)
{
    char copy[128], list[128], *rest = NULL;
    size_t i = 0;

    division_make(f->topology, &f->job, LATE);
    strcpy(copy, want);
    for (char *part = strtok_r(copy, " ", &rest); part;
         part = strtok_r(NULL, " ", &rest), i++) {
        cpulist_format(&f->process[i].part, list, sizeof(list));
        if (strcmp(list, part) != 0)
            fail_msg("%s: part %zu is %s", want, i, list);
    }
}

static void division__machine(void **state)
{
    struct fixture *f = *state;
    const struct machine *m = topology_machine(f->topology);

    assert_int_equal(m->llc_domains, 2);
    assert_int_equal(topology_llc_domains(f->topology)[7], 0);
    assert_int_equal(topology_llc_domains(f->topology)[8], 1);
}

static void division__one_has_all(void **state)
{
    struct fixture *f = *state;

    prepare(f, "2-9", 1);
    expect(f, "2-9");
    prepare(f, "2-9", 0);
    expect(f, "");
}

static void division__equal_parts(void **state)
{
    struct fixture *f = *state;

    prepare(f, "0-15", 2);
    expect(f, "0-7 8-15");
    prepare(f, "0-15", 4);
    expect(f, "0-3 4-7 8-11 12-15");
    prepare(f, "4-13", 2); /* cores 2 to 6 */
    expect(f, "4-9 10-13");
    /* What Slurm did not give, no process gets. */
    prepare(f, "0,2,4,7", 2);
    expect(f, "0,2 4,7");
}

static void division__more_than_cores(void **state)
{
    struct fixture *f = *state;

    prepare(f, "0-3", 2);
    expect(f, "0-1 2-3");
    prepare(f, "0-3", 4);
    expect(f, "0-1 0-1 2-3 2-3");
    prepare(f, "0-1", 3);
    expect(f, "0-1 0-1 0-1");
    prepare(f, "0-5", 5);
    expect(f, "0-1 0-1 2-3 2-3 4-5");
}

static void division__by_teams(void **state)
{
    struct fixture *f = *state;

    prepare(f, "0-15", 2);
    f->process[0].team = 1;
    expect(f, "0-1 2-15");
    f->process[1].team = 3; /* four are left over */
    expect(f, "0-5 6-15");
    f->process[0].team = f->process[1].team = 40;
    expect(f, "0-7 8-15");
}

static void division__idle_ones(void **state)
{
    struct fixture *f = *state;

    prepare(f, "0-15", 3);
    f->process[1].serial = true;
    f->process[1].serial_since_ns = LATE - DIVISION_IDLE_NS;
    expect(f, "0-7 0-15 8-15");
    f->process[1].serial_since_ns++;
    expect(f, "0-5 6-11 12-15");
    /* One whose page cannot be believed counts for nothing. */
    f->process[0].bad = true;
    expect(f, "0-15 0-7 8-15");
    f->process[2].bad = true;
    expect(f, "0-15 0-15 0-15");
}

static void division__no_cpus(void **state)
{
    struct fixture *f = *state;

    prepare(f, "0", 3);
    cpuset_zero(&f->job.cpus);
    expect(f, "");
    for (size_t i = 0; i < 3; i++)
        assert_true(cpuset_empty(&f->process[i].part));
}

static void division__quotas(void **state)
{
    static const struct {
        size_t count, parts;
        uint32_t team[4];
        size_t want[4];
    } table[] = {
        {1, 1, {0}, {1}},
        {8, 1, {2}, {8}},
        {8, 2, {0, 0}, {4, 4}},
        {9, 2, {0, 0}, {5, 4}},
        {8, 3, {1, 0, 0}, {1, 4, 3}},
        {8, 3, {1, 2, 0}, {1, 2, 5}},
        {8, 3, {1, 1, 2}, {3, 2, 3}},
        {8, 4, {1, 1, 1, 1}, {2, 2, 2, 2}},
        {4, 4, {9, 9, 9, 9}, {1, 1, 1, 1}},
        {64, 2, {UINT32_MAX, 16}, {48, 16}},
    };
    size_t quota[4];

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        division_quotas(table[i].count, table[i].team, table[i].parts, quota);
        for (size_t k = 0; k < table[i].parts; k++)
            if (quota[k] != table[i].want[k])
                fail_msg("row %zu, part %zu: %zu", i, k, quota[k]);
    }
}

UNIT(test_division)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(division__machine),
        cmocka_unit_test(division__one_has_all),
        cmocka_unit_test(division__equal_parts),
        cmocka_unit_test(division__more_than_cores),
        cmocka_unit_test(division__by_teams),
        cmocka_unit_test(division__idle_ones),
        cmocka_unit_test(division__no_cpus),
        cmocka_unit_test(division__quotas),
    };

    return cmocka_run_group_tests_name("test_division", tests, setup, teardown);
}
