/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Attribution: who did what, nothing invented, nothing counted twice; and
 * profiles that give back the rates they were made from. */

#include "tests/support/unit.h"

#include <math.h>

#include "model/cputime.h"
#include "model/station.h"
#include "node_agent/counters/attribute.h"
#include "protocol/cpulist.h"
#include "tests/support/uniform_machine.h"

#define CPUS 8
#define NODES 2
#define MEMORIES 2
#define MS UINT64_C(1000000)

struct fixture {
    struct machine *machine;
    struct cosched_cpuset cpus;
    int package[CPUS];
    struct counters_setup setup;
    struct sample *sample;
    struct attribute_job job[3];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->machine = machine_new_uniform(NODES, CPUS / NODES, MEMORIES);
    machine_connect_all(f->machine, MACHINE_DEFAULT_SERVICE_US);
    f->cpus.word[0] = 0xff;
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    for (int c = 0; c < CPUS; c++)
        f->package[c] = c / (CPUS / 2);
    f->setup.package = f->package;
    f->setup.packages = 2;
    f->sample = sample_new(CPUS, NODES, MEMORIES, 2);
    f->sample->time_ns = 50 * MS;
    /* Job 1 has node 0 and a CPU of node 1, job 2 two CPUs of node 1. */
    f->job[0] = (struct attribute_job){.id = 1, .cpus = {{0x1f}}};
    f->job[1] = (struct attribute_job){.id = 2, .cpus = {{0x60}}};
    f->job[2] = (struct attribute_job){.id = 3};
    *state = f;
    return 0;
}

static void forget_loops(struct fixture *f)
{
    for (size_t j = 0; j < 3; j++) {
        loop_free(f->job[j].loop);
        f->job[j].loop = NULL;
    }
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    forget_loops(f);
    sample_free(f->sample);
    machine_free(f->machine);
    free(f);
    return 0;
}

static void attribute_all(struct fixture *f)
{
    forget_loops(f);
    assert_int_equal(attribute(&f->setup, f->sample, f->job, 3), 0);
    assert_null(f->job[2].loop); /* it has no CPUs */
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        fail_msg("got %.12g, expected %.12g", got, want);
}

static void misses(struct fixture *f, int cpu, double reads, double remote)
{
    f->sample->cpu[cpu].read_misses = reads;
    f->sample->cpu[cpu].remote_misses = remote;
}

static void all_misses(struct fixture *f)
{
    for (int c = 0; c < 4; c++)
        misses(f, c, 100, 20); /* job 1, node 0 */
    misses(f, 4, 100, 50);     /* job 1, node 1 */
    misses(f, 5, 200, 0);      /* job 2 */
    misses(f, 6, 200, 0);
    misses(f, 7, 40, 40);      /* nobody's: the system */
}

static void test_misses_alone(void **state)
{
    struct fixture *f = *state;

    all_misses(f);
    attribute_all(f);
    const struct loop *a = f->job[0].loop, *b = f->job[1].loop;
    assert_int_equal(a->cores[0], 4);
    assert_int_equal(a->cores[1], 1);
    assert_int_equal(b->cores[0], 0);
    assert_int_equal(b->cores[1], 2);
    near(a->total_us, 50000);
    near(a->read_misses[0], 320); /* node 0 to its home */
    near(a->read_misses[1], 80);
    near(a->read_misses[2], 50); /* node 1 to memory 0 */
    near(a->read_misses[3], 50);
    near(b->read_misses[2], 0);
    near(b->read_misses[3], 400);
    near(b->requests[3].read, 400);
}

/* Memory 0 is missed by job 1 (320 + 50) and the system (40); memory 1 by job 1
 * (80 + 50) and job 2 (400). */
static void test_controllers_are_split(void **state)
{
    struct fixture *f = *state;

    all_misses(f);
    f->sample->memory[0] = (struct sample_memory){820, 410, NAN};
    f->sample->memory[1] = (struct sample_memory){1060, 530, 53};
    attribute_all(f);
    const struct loop *a = f->job[0].loop, *b = f->job[1].loop;
    near(a->requests[0].read, 640);
    near(a->requests[0].write, 320);
    near(a->requests[0].prefetch, 0);
    near(a->requests[2].read, 100);
    near(a->requests[3].read, 100);
    near(b->requests[3].read, 800);
    near(b->requests[3].write, 400);
    near(b->requests[3].prefetch, 40);
    near(a->read_misses[0], 320);
}

/* A controller that is said to have read less than was missed. */
static void test_fewer_reads_than_misses(void **state)
{
    struct fixture *f = *state;

    all_misses(f);
    f->sample->memory[0] = (struct sample_memory){10, 0, NAN};
    f->sample->memory[1] = (struct sample_memory){10, 0, NAN};
    attribute_all(f);
    near(f->job[1].loop->requests[3].read, 400);
    near(f->job[1].loop->read_misses[3], 400);
}

static void test_traffic(void **state)
{
    struct fixture *f = *state;

    all_misses(f);
    /* What node 1 asks memory 1: job 1 has 50 of 450 misses, job 2 400. */
    f->sample->traffic[3] = (struct sample_memory){900, 450, 90};
    f->sample->memory[1] = (struct sample_memory){1, 1, 1}; /* less precise */
    attribute_all(f);
    near(f->job[1].loop->requests[3].read, 800);
    near(f->job[1].loop->requests[3].write, 400);
    near(f->job[1].loop->requests[3].prefetch, 80);
    near(f->job[0].loop->requests[3].read, 100);
}

/* Without locality misses go where the memories were read. */
static void test_no_locality(void **state)
{
    struct fixture *f = *state;

    for (int c = 0; c < CPUS; c++)
        misses(f, c, 100, NAN);
    attribute_all(f);
    near(f->job[0].loop->read_misses[0], 400); /* home */
    near(f->job[0].loop->read_misses[1], 0);
    f->sample->memory[0].reads = 300;
    f->sample->memory[1].reads = 900;
    attribute_all(f);
    near(f->job[0].loop->read_misses[0], 100);
    near(f->job[0].loop->read_misses[1], 300);
    f->sample->cpu[0].read_misses = NAN; /* one half is enough */
    f->sample->cpu[0].local_misses = 60;
    f->sample->cpu[0].remote_misses = 40;
    attribute_all(f);
    near(f->job[0].loop->read_misses[0], 75 + 60);
}

static void test_groups(void **state)
{
    static const uint32_t ids[] = {2, 1, 9};
    struct fixture *f = *state;

    assert_int_equal(sample_set_groups(f->sample, ids, 3), 0);
    f->sample->group[0 * NODES + 1] = (struct sample_group){30, 50, 4096};
    f->sample->group[1 * NODES + 0] = (struct sample_group){100, 100, 100};
    f->sample->group[1 * NODES + 1] = (struct sample_group){NAN, 8, 1};
    attribute_all(f);
    const struct loop *a = f->job[0].loop, *b = f->job[1].loop;
    near(a->requests[0].read, 100);
    near(a->requests[3].read, 8);
    near(b->requests[3].read, 30);
    near(b->requests[2].read, 20);
    near(b->read_misses[2], 20);
}

static void test_nothing(void **state)
{
    struct fixture *f = *state;

    attribute_all(f);
    assert_null(f->job[0].loop);
    assert_null(f->job[1].loop);
    assert_true(isnan(f->job[0].energy_j));
    all_misses(f);
    f->sample->time_ns = 0;
    attribute_all(f);
    assert_null(f->job[0].loop);
}

static void test_energy(void **state)
{
    struct fixture *f = *state;

    f->sample->energy_j[0] = 8;
    f->sample->energy_j[1] = 4;
    attribute_all(f); /* by CPUs: all of package 0 and a quarter of 1 */
    near(f->job[0].energy_j, 9);
    near(f->job[1].energy_j, 2);
    near(f->job[2].energy_j, 0);
    for (int c = 0; c < CPUS; c++) {
        f->sample->cpu[c].cycles = c == 5 ? 3000 : 1000;
        f->sample->cpu[c].stalled = 250;
    }
    attribute_all(f); /* by cycles: package 1 did 6000 */
    near(f->job[0].energy_j, 8 + 4.0 / 6);
    near(f->job[1].energy_j, 16.0 / 6);
    near(f->job[0].loop->useful_cycles[0], 4 * 750);
    near(f->job[1].loop->stalled_cycles[1], 500);
}

/* Any sample: every loop is a valid one, and the parts are no more than the
 * whole, where the whole was counted. */
static void test_any_sample(void **state)
{
    struct fixture *f = *state;
    unsigned seed = 1;

    for (int round = 0; round < 2000; round++) {
        double *v = (double *)f->sample->cpu, sum[MEMORIES] = {0};
        size_t n = CPUS * sizeof(*f->sample->cpu) / sizeof(*v);
        for (size_t i = 0; i < n; i++)
            v[i] = rand_r(&seed) % 4 ? rand_r(&seed) % 1000 : NAN;
        for (size_t m = 0; m < MEMORIES; m++) {
            f->sample->memory[m].reads = rand_r(&seed) % 3 ? 1e6 : NAN;
            f->sample->memory[m].writes = rand_r(&seed) % 3 ? 1e6 : NAN;
        }
        attribute_all(f);
        for (size_t j = 0; j < 2; j++) {
            const struct loop *l = f->job[j].loop;
            if (!l)
                continue;
            assert_int_equal(loop_check(l, NULL), MODEL_OK);
            for (size_t m = 0; m < MEMORIES; m++)
                sum[m] += loop_requests_to(l, m).read;
        }
        for (size_t m = 0; m < MEMORIES; m++)
            if (!isnan(f->sample->memory[m].reads))
                assert_true(sum[m] <= 1e6 * (1 + 1e-12));
    }
}

/* ---- profiles ----------------------------------------------------------- */

/* What a loop with these rates per core would count in a second on CORES of
 * node 0, by the model itself. */
static struct loop *count(const struct machine *machine, size_t cores,
                          double reads, double misses_per_us, double writes)
{
    struct loop *l = loop_new(NODES, MEMORIES);
    struct loop_requests rate[NODES * MEMORIES] = {{0}};
    double miss[NODES * MEMORIES] = {0}, stall[NODES];
    struct hierarchy_result result = {.stall = stall};

    l->cores[0] = cores;
    for (size_t m = 0; m < MEMORIES; m++) {
        rate[m] = (struct loop_requests){.read = reads, .write = writes};
        miss[m] = misses_per_us;
    }
    struct hierarchy_input input = {.machine = machine,
                                    .method = HIERARCHY_CLOSED,
                                    .cores = l->cores,
                                    .rate = rate,
                                    .misses = miss};
    assert_int_equal(hierarchy_solve(&input, &result), MODEL_OK);
    l->total_us = 1e6;
    double cpu_us = l->total_us / (1 + stall[0]);
    for (size_t m = 0; m < MEMORIES; m++) {
        l->requests[m].read = reads * cpu_us * (double)cores;
        l->requests[m].write = writes * cpu_us * (double)cores;
        l->read_misses[m] = misses_per_us * cpu_us * (double)cores;
    }
    l->llc_accesses[0] = 40 * cpu_us * (double)cores;
    return l;
}

static void test_profile_calibrated(void **state)
{
    static const double rates[][3] = {
        {1, 0.5, 0.5}, {10, 8, 5}, {40, 30, 20}, {0.01, 0.01, 0},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct loop *l =
            count(f->machine, 4, rates[i][0], rates[i][1], rates[i][2]);
        double rho = -1;
        struct workload *w = attribute_profile(f->machine, true, l, &rho);
        assert_non_null(w);
        for (size_t m = 0; m < MEMORIES; m++) {
            double mrr = rates[i][0] + rates[i][2];
            assert_true(fabs(w->rate[m].mrr_per_us / mrr - 1) < 1e-3);
            assert_true(fabs(w->rate[m].read_per_us / rates[i][1] - 1) < 1e-3);
            assert_true(fabs(rho / (mrr * MACHINE_DEFAULT_SERVICE_US) - 1) <
                        1e-3);
        }
        assert_true(fabs(w->llc_per_us / 40 - 1) < 1e-3);
        workload_free(w);
        loop_free(l);
    }
}

/* Without service times stalled cycles tell the load: n cores that meet at one
 * station compute for speedup(n) / (n (1 + rho)) of their time (4.2.1). */
static void test_profile_from_cycles(void **state)
{
    static const double rhos[] = {0, 0.01, 0.1, 0.5, 3};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rhos) / sizeof(rhos[0]); i++) {
        struct loop *l = loop_new(NODES, MEMORIES);
        double share =
                   station_speedup(8, rhos[i]) / (8 * (1 + rhos[i])),
               rho = -1, sum = 0;
        l->cores[0] = l->cores[1] = 4;
        l->total_us = 1e6;
        for (size_t n = 0; n < NODES; n++) {
            l->useful_cycles[n] = 1e9 * share;
            l->stalled_cycles[n] = 1e9 * (1 - share);
        }
        l->requests[0].read = 3e6; /* three quarters go to memory 0 */
        l->requests[3].read = 1e6;
        l->read_misses[0] = 3e6;
        l->read_misses[3] = 1e6;
        struct workload *w = attribute_profile(f->machine, false, l, &rho);
        assert_non_null(w);
        for (size_t m = 0; m < MEMORIES; m++)
            sum += w->rate[m].mrr_per_us * MACHINE_DEFAULT_SERVICE_US;
        assert_true(fabs(sum - rhos[i]) <= 1e-6 + 1e-6 * rhos[i]);
        assert_true(fabs(rho - 0.75 * sum) < 1e-9 + 1e-6 * sum);
        workload_free(w);
        loop_free(l);
    }
}

static void test_profile_refused(void **state)
{
    struct fixture *f = *state;
    struct loop *l = count(f->machine, 4, 10, 10, 0);
    double rho;

    /* Not calibrated and no cycles: nothing to go by. */
    assert_null(attribute_profile(f->machine, false, l, &rho));
    assert_int_equal(errno, ENODATA);
    /* More misses than the machine could have served in the time. */
    l->total_us /= 100;
    assert_null(attribute_profile(f->machine, true, l, &rho));
    assert_int_equal(errno, ENODATA);
    loop_free(l);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_attribute)
{
    const struct CMUnitTest tests[] = {
        T(test_misses_alone),
        T(test_controllers_are_split),
        T(test_fewer_reads_than_misses),
        T(test_traffic),
        T(test_no_locality),
        T(test_groups),
        T(test_nothing),
        T(test_energy),
        T(test_any_sample),
        T(test_profile_calibrated),
        T(test_profile_from_cycles),
        T(test_profile_refused),
    };

    return cmocka_run_group_tests_name("test_attribute", tests, NULL, NULL);
}
