/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Regions: from unknown to known, and rho from throughputs. */

#include "tests/support/unit.h"

#include <math.h>

#include "model/locality.h"
#include "model/machine.h"
#include "model/station.h"
#include "node_agent/core/region.h"
#include "tests/support/uniform_machine.h"

#define MS UINT64_C(1000000)
#define PROFILE (150 * MS)
#define EPOCH (50 * MS)
#define NOISE 0.02

static const struct region_budget budget = {PROFILE, 0.02};
static const struct region_budget none = {0, 0.02};

struct fixture {
    struct machine *machine;
    struct cosched_cpuset cpus;
    struct counters_setup setup;
    struct counters *counters;
    struct region_list list;
    struct region *region;
    size_t drifts;
    unsigned seed;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->machine = machine_new_uniform(2, 8, 1);
    f->cpus.word[0] = 0xffff;
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    f->counters = counters_open("progress", &f->setup, NULL, 0, NULL);
    f->region = region_find(&f->list, 1, 0x40);
    *state = f;
    return !f->machine || !f->counters || !f->region;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    region_list_clear(&f->list);
    counters_close(f->counters);
    machine_free(f->machine);
    free(f);
    return 0;
}

/* One epoch at DOP of a job with effective RHO that does RATE units a second on
 * one core, off by the factor ERROR.  True when the region advanced. */
static bool epoch(struct fixture *f, size_t dop, double rho, double rate,
                  double error, bool probed)
{
    double work[COUNTERS_UNITS] = {
        [COUNTERS_ITERATIONS] =
            rate * 0.05 * station_speedup(dop, rho) * error,
        [COUNTERS_BARRIERS] = 1,
    };

    f->drifts += region_measure(f->region, dop, EPOCH, work, probed);
    return region_advance(f->region, &f->list, f->counters, PROFILE);
}

/* SECONDS of a job that has OWN of MOST cores, probed as the scheduler does. */
static void live(struct fixture *f, size_t own, size_t most, double rho,
                 double rate, double seconds)
{
    for (long n = lround(seconds / 0.05); n > 0; n--) {
        double error = 1 + NOISE * (2.0 * rand_r(&f->seed) / RAND_MAX - 1);
        size_t dop = region_wants(f->region, most, &budget);
        if (dop)
            region_grant(f->region, dop, false, &budget);
        epoch(f, dop ? dop : own, rho, rate, error, dop > 0);
        assert_true((double)f->region->probe_ns <=
                    budget.share * (double)f->region->run_ns);
    }
}

static void test_knowledge(void **state)
{
    struct fixture *f = *state;
    struct region *s = f->region;

    assert_string_equal(region_knowledge(s), "unknown");
    assert_int_equal(region_wants(s, 16, &budget), 0); /* no budget yet */
    live(f, 8, 16, 0.1, 1e5, 3.9);
    assert_int_equal(s->probe_ns, 0);
    live(f, 8, 16, 0.1, 1e5, 0.2);
    assert_int_equal(s->probe_ns, EPOCH);
    assert_in_range(s->probe_dop, 1, 7);
    assert_false(s->known);
    assert_null(s->profile);
    live(f, 8, 16, 0.1, 1e5, 20);
    assert_string_equal(region_knowledge(s), "known");
    assert_non_null(s->profile);
    assert_ptr_equal(region_find(&f->list, 1, 0x40), s); /* remembered */
}

/* What has the whole pool is probed with less. */
static void test_half(void **state)
{
    struct fixture *f = *state;

    live(f, 16, 16, 0.1, 1e5, 4.1);
    assert_in_range(f->region->probe_dop, 1, 15);
    assert_int_equal(f->region->probe_ns, EPOCH);
}

static void test_rho(void **state)
{
    static const double rhos[] = {0, 0.02, 0.1, 0.3, 1, 2};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rhos) / sizeof(rhos[0]); i++) {
        f->region = region_find(&f->list, 2, i);
        live(f, 8, 16, rhos[i], 1e5, 60);
        assert_true(f->region->known);
        assert_non_null(f->region->profile);
        if (rhos[i] < 0.05)
            assert_true(f->region->fit.compute_bound);
        else
            assert_true(fabs(f->region->seen.rho / rhos[i] - 1) < 0.15);
    }
}

/* What can make no difference is not probed. */
static void test_no_probe_for_nothing(void **state)
{
    struct fixture *f = *state;

    live(f, 8, 16, 0, 1e5, 60);
    uint64_t probed = f->region->probe_ns;
    assert_true(probed > 0);
    live(f, 8, 16, 0, 1e5, 600);
    assert_int_equal(f->region->probe_ns, probed);
}

static void test_drift(void **state)
{
    struct fixture *f = *state;

    live(f, 8, 16, 0.02, 1e5, 60);
    assert_true(f->region->fit.compute_bound);
    assert_int_equal(f->drifts, 0);
    const struct workload *before = f->region->profile;
    for (int i = 0; i < 10 && !f->drifts; i++)
        live(f, 8, 16, 0.5, 1e5, 0.05);
    assert_int_equal(f->drifts, 1);
    assert_ptr_equal(f->region->profile, before); /* better than none */
    live(f, 8, 16, 0.5, 1e5, 60);
    assert_false(f->region->fit.compute_bound);
    assert_true(fabs(f->region->fit.rho / 0.5 - 1) < 0.3);
    assert_int_equal(f->drifts, 1);
}

/* The pool shrinks before the first probe, and during one. */
static void test_smaller_pool(void **state)
{
    struct fixture *f = *state;

    live(f, 8, 16, 0.1, 1e5, 4);
    region_grant(f->region, 16, false, &budget);
    assert_string_equal(region_knowledge(f->region), "probed");
    assert_int_equal(f->region->probe_dop, 16);
    assert_int_equal(region_wants(f->region, 16, &budget), 16);
    assert_int_equal(region_wants(f->region, 15, &budget), 1);
    region_grant(f->region, 1, false, &budget);
    assert_int_equal(f->region->probe_dop, 1);
    epoch(f, 1, 0.1, 1e5, 1, true);
    assert_int_equal(region_wants(f->region, 15, &budget), 0);
}

/* DoPs that came about otherwise are enough. */
static void test_known_by_chance(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 6; i++)
        assert_false(epoch(f, 8, 0.3, 1e5, 1, false));
    for (int i = 0; i < 9; i++)
        epoch(f, 2, 0.3, 1e5, 1, false);
    assert_true(f->region->known);
    assert_non_null(f->region->profile);
    assert_int_equal(f->region->probe_ns, 0);
}

/* Two cores, the only DoPs are 1 and 2. */
static void test_two_cores(void **state)
{
    struct fixture *f = *state;

    machine_free(f->machine);
    counters_close(f->counters);
    f->machine = machine_new_uniform(1, 2, 1);
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    f->counters = counters_open("progress", &f->setup, NULL, 0, NULL);
    live(f, 2, 2, 1, 1e5, 2);
    live(f, 1, 2, 1, 1e5, 2);
    assert_true(f->region->known);
    assert_true(fabs(f->region->seen.rho - 1) < 0.2);
    f->region = region_find(&f->list, 5, 1);
    live(f, 2, 2, 0.05, 1e5, 2);
    live(f, 1, 2, 0.05, 1e5, 2);
    assert_true(f->region->fit.compute_bound);
}

static void test_nothing_to_learn(void **state)
{
    struct fixture *f = *state;

    live(f, 1, 1, 0.1, 1e5, 60);
    assert_int_equal(f->region->probe_ns, 0);
    assert_int_equal(region_wants(f->region, 16, &none), 0);
    /* Too little work to measure: it waits instead of guessing. */
    f->region = region_find(&f->list, 4, 1);
    for (int i = 0; i < 6; i++)
        assert_false(epoch(f, 4 + (size_t)(i / 3), 0.1, 20, 1, false));
    assert_null(f->region->profile);
}

static void test_list_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct region *folded = region_folded(&f->list);

    assert_true(folded->folded);
    for (uint64_t i = 0; i < 2 * REGION_LIMIT; i++)
        assert_non_null(region_find(&f->list, 9, i));
    assert_int_equal(f->list.count, REGION_LIMIT);
    assert_ptr_equal(region_find(&f->list, 10, 0), folded);
    assert_ptr_equal(region_find(&f->list, 1, 0x40), f->region);
}

static void test_points(void **state)
{
    struct measure m = {0};
    double work[COUNTERS_UNITS] = {1, 2, 3, 4};

    (void)state;
    assert_null(measure_find(&m, 0));
    for (size_t dop = 1; dop <= MEASURE_POINTS; dop++)
        measure_add(&m, dop, dop * MS, work);
    measure_add(&m, 2, MS, work);
    assert_int_equal(measure_find(&m, 2)->time_ns, 3 * MS);
    assert_true(measure_find(&m, 2)->work[COUNTERS_BARRIERS] > 3.9);
    measure_add(&m, 100, MS, work); /* takes the place of the shortest */
    assert_null(measure_find(&m, 1));
    assert_non_null(measure_find(&m, 100));
    measure_clear(&m);
}

/* SECONDS on CORES of LLC domain 0, with so many reads per us of computing, for
 * which a core waits 0.01 us each. */
static void count(struct fixture *f, size_t cores, double reads_per_us, double seconds)
{
    const double work[COUNTERS_UNITS] = {0};
    struct loop *loop = loop_new(2, 1);
    double wait = 0.01 * reads_per_us, computing = (double)cores * 5e4 / (1 + wait);

    loop->cores[0] = cores;
    loop->total_us = 5e4;
    loop->requests[0].read = loop->read_misses[0] = computing * reads_per_us;
    loop->useful_cycles[0] = 1000 * computing;
    loop->stalled_cycles[0] = 1000 * ((double)cores * 5e4 - computing);
    for (long n = lround(seconds / 0.05); n > 0; n--) {
        region_measure(f->region, cores, EPOCH, work, false);
        measure_add_loop(&f->region->measure, cores, loop);
        region_advance(f->region, &f->list, f->counters, PROFILE);
    }
    loop_free(loop);
}

static double known_reads(const struct fixture *f)
{
    assert_non_null(f->region->profile);
    return f->region->profile->rate[0].read_per_us;
}

/* A program that reports nothing reads its input for long, then computes. */
static void test_changed_for_good(void **state)
{
    struct fixture *f = *state;

    f->setup.calibrated = true;
    counters_close(f->counters);
    f->counters = counters_open("progress", &f->setup, NULL, 0, NULL);
    count(f, 8, 0.01, 5);
    assert_true(known_reads(f) < 0.02);
    count(f, 8, 20, 2.5);
    assert_true(fabs(known_reads(f) - 20) < 1);
    /* A serial stretch now and then is part of it. */
    for (int i = 0; i < 10; i++) {
        count(f, 8, 0.01, 0.3);
        assert_true(known_reads(f) > 15);
        count(f, 8, 20, 2.7);
    }
    /* So is what differs by less than a decision would. */
    double before = known_reads(f);
    count(f, 8, 20.2, 20);
    assert_true(fabs(known_reads(f) - before) <= 0.1 * before);
}

/* Nor is it another program where fewer of its threads share a cache: that is what is known of it
 * then. */
static void test_fewer_in_a_cache(void **state)
{
    struct fixture *f = *state;
    struct region *other = region_find(&f->list, 1, 0x80);

    f->setup.calibrated = true;
    counters_close(f->counters);
    f->counters = counters_open("progress", &f->setup, NULL, 0, NULL);
    count(f, 8, 20, 2);
    assert_true(fabs(f->region->profile->llc_power - CACHE_POWER_USUAL) < 1e-6);
    assert_true(f->region->profile->llc_cores == 8);
    count(f, 2, 20 * pow(2. / 8, 0.8), 5);
    assert_non_null(measure_find(&f->region->measure, 8)->loop);
    assert_true(fabs(f->region->profile->llc_power - 0.8) < 0.05);
    double rate = known_reads(f) * workload_crowd(f->region->profile, 8);
    assert_true(fabs(rate - 20) < 1);
    /* Of what the job does elsewhere the same is expected. */
    f->region = other;
    count(f, 8, 5, 2);
    assert_true(fabs(other->profile->llc_power - 0.8) < 0.05);
}

/* A load that one controller takes easily is not that of every link. */
static void test_profile_follows_loads(void **state)
{
    struct fixture *f = *state;

    f->setup.calibrated = true;
    counters_close(f->counters);
    f->counters = counters_open("progress", &f->setup, NULL, 0, NULL);
    f->machine->controller_service_us[0] = 0.001;
    count(f, 8, 6, 2);
    assert_true(fabs(known_reads(f) - 6) < 0.1);
    count(f, 8, 11, 30);
    assert_true(known_reads(f) > 9);
}

/* 5 s of threads that ask their own data, HERE of 8 cores on the first of two NUMA nodes. */
static void count_local(struct fixture *f, struct machine *machine, size_t here)
{
    const double work[COUNTERS_UNITS] = {0}, data[2] = {0.5, 0.5};
    double cores[2] = {(double)here / 8, 1 - (double)here / 8}, part[2];
    struct loop *loop = loop_new(2, 2);

    loop->cores[0] = here;
    loop->cores[1] = 8 - here;
    loop->total_us = 5e4;
    for (size_t i = 0; i < 2 && cores[i] > 0; i++) {
        locality_parts(data, cores, 2, i, 1, part);
        for (size_t m = 0; m < 2; m++)
            loop->requests[2 * i + m].read = loop->read_misses[2 * i + m] =
                2e6 * cores[i] * part[m];
        loop->useful_cycles[i] = 2e8 * cores[i];
        loop->stalled_cycles[i] = 2e8 * cores[i];
    }
    f->setup.machine = machine;
    for (int n = 0; n < 100; n++) {
        region_measure(f->region, 8, EPOCH, work, false);
        measure_add_loop(&f->region->measure, 8, loop);
        region_advance(f->region, &f->list, f->counters, PROFILE);
    }
    loop_free(loop);
}

/* What cores on two NUMA nodes have told is still so when they are gathered on one. */
static void test_locality_stays(void **state)
{
    struct fixture *f = *state;
    struct machine *machine = machine_new_uniform(2, 8, 2);

    f->setup.calibrated = true;
    f->setup.machine = machine;
    counters_close(f->counters);
    f->counters = counters_open("progress", &f->setup, NULL, 0, NULL);
    count_local(f, machine, 8);
    assert_non_null(f->region->profile);
    assert_true(isnan(f->region->profile->locality));
    count_local(f, machine, 4);
    assert_true(fabs(f->region->profile->locality - 1) < 1e-6);
    count_local(f, machine, 8);
    assert_true(fabs(f->region->profile->locality - 1) < 1e-6);
    counters_close(f->counters);
    f->counters = NULL;
    machine_free(machine);
}

/* A probe of the job alone costs little of the budget, is not taken over by one beside
 * the others, is made soon, and again as time goes by. */
static void test_alone(void **state)
{
    struct fixture *f = *state;
    struct region *s = f->region;
    size_t probes = 0, epochs;

    for (epochs = 0; epochs < 1200; epochs++) {
        bool alone = region_wants_alone(s, 16, &budget);
        if (alone) {
            region_grant(s, 16, true, &budget);
            assert_int_equal(region_wants(s, 15, &budget), 0);
            assert_true(epochs > 3); /* it is known without, first */
            probes++;
        }
        epoch(f, alone ? 16 : 8, 0.1, 1e5, 1, alone);
        assert_false(epochs == 40 && !probes);
    }
    assert_in_range(probes, 15, 35); /* 2 % of its time */
    assert_true((double)s->probe_ns < 0.15 * (double)probes * EPOCH);
    assert_false(region_wants_alone(s, 16, &none));
}

/* A job that comes to another region during a probe pays for that one in full: the region was
 * not granted a cheaper one, not even when it once was. */
static void test_probe_of_another(void **state)
{
    struct fixture *f = *state;

    epoch(f, 16, 0.1, 1e5, 1, true);
    assert_int_equal(f->region->probe_ns, EPOCH);
    epoch(f, 8, 0.1, 1e5, 1, false);
    region_grant(f->region, 16, true, &budget);
    epoch(f, 16, 0.1, 1e5, 1, true);
    assert_true(f->region->probe_ns < EPOCH * 5 / 4);
    epoch(f, 16, 0.1, 1e5, 1, true);
    assert_true(f->region->probe_ns > 2 * EPOCH);
}

static void test_backends(void **state)
{
    struct fixture *f = *state;
    struct errtext err = {""};

    assert_null(counters_open("abacus", &f->setup, NULL, 0, &err));
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "abacus"));
    assert_string_equal(counters_name(f->counters), "progress");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_region)
{
    const struct CMUnitTest tests[] = {
        T(test_knowledge),           T(test_half),
        T(test_rho),              T(test_no_probe_for_nothing),
        T(test_drift),            T(test_smaller_pool),
        T(test_known_by_chance),  T(test_two_cores),
        T(test_nothing_to_learn), T(test_list_is_bounded),
        T(test_points),           T(test_backends),
        T(test_alone),            T(test_probe_of_another),
        T(test_changed_for_good), T(test_profile_follows_loads),
        T(test_locality_stays),        T(test_fewer_in_a_cache),
    };

    return cmocka_run_group_tests_name("test_region", tests, NULL, NULL);
}
