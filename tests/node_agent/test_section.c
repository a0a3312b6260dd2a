/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Sections: from unknown to known, and rho from throughputs. */

#include "tests/node_agent/unit.h"

#include <math.h>

#include "model/machine.h"
#include "model/station.h"
#include "node_agent/section.h"

#define MS UINT64_C(1000000)
#define PROFILE (150 * MS)
#define EPOCH (50 * MS)

struct fixture {
    struct machine *machine;
    struct cosched_cpuset cpus;
    struct counters_setup setup;
    struct counters *counters;
    struct section_list list;
    struct section *section;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->machine = machine_new_uniform(2, 8, 1);
    f->cpus.word[0] = 0xffff;
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    f->counters = counters_open("progress", &f->setup, NULL, 0, NULL);
    f->section = section_find(&f->list, 1, 0x40);
    *state = f;
    return !f->machine || !f->counters || !f->section;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    section_list_clear(&f->list);
    counters_close(f->counters);
    machine_free(f->machine);
    free(f);
    return 0;
}

/* One epoch at DOP of a job with effective RHO that does RATE units a second on
 * one core, off by the factor ERROR.  True when the section advanced. */
static bool epoch(struct fixture *f, size_t dop, double rho, double rate,
                  double error)
{
    double work[COUNTERS_UNITS] = {
        [COUNTERS_ITERATIONS] =
            rate * 0.05 * station_speedup(dop, rho) * error,
        [COUNTERS_BARRIERS] = 1,
    };

    measure_add(&f->section->measure, dop, EPOCH, work);
    return section_advance(f->section, f->counters, PROFILE);
}

/* Profile as the scheduler does.  Returns the number of epochs it took. */
static int profile(struct fixture *f, size_t most, double rho, double noise)
{
    unsigned seed = 7;
    int epochs = 0;

    for (size_t dop; (dop = section_wants(f->section, most, PROFILE)) != 0;) {
        double error = 1 + noise * (2.0 * rand_r(&seed) / RAND_MAX - 1);
        section_grant(f->section, dop, PROFILE);
        epoch(f, dop, rho, 40000, error);
        if (++epochs > 100)
            break;
    }
    return epochs;
}

static void test_states(void **state)
{
    struct fixture *f = *state;
    struct section *s = f->section;

    assert_int_equal(s->state, SECTION_UNKNOWN);
    assert_int_equal(section_wants(s, 16, PROFILE), 16);
    section_grant(s, 16, PROFILE);
    assert_int_equal(s->state, SECTION_CLEAN);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(section_wants(s, 16, PROFILE), 16);
        assert_false(epoch(f, 16, 0.1, 1e5, 1));
    }
    assert_int_equal(section_wants(s, 16, PROFILE), 8);
    section_grant(s, 8, PROFILE);
    assert_int_equal(s->state, SECTION_HALF);
    assert_false(epoch(f, 8, 0.1, 1e5, 1));
    assert_false(epoch(f, 8, 0.1, 1e5, 1));
    assert_true(epoch(f, 8, 0.1, 1e5, 1));
    assert_int_equal(s->state, SECTION_KNOWN);
    assert_non_null(s->profile);
    assert_int_equal(section_wants(s, 16, PROFILE), 0);
    assert_ptr_equal(section_find(&f->list, 1, 0x40), s); /* remembered */
}

static void test_rho(void **state)
{
    static const double rhos[] = {0, 0.02, 0.1, 0.3, 1};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rhos) / sizeof(rhos[0]); i++) {
        f->section = section_find(&f->list, 2, i);
        assert_int_equal(profile(f, 16, rhos[i], 0), 6);
        assert_non_null(f->section->profile);
        assert_true(fabs(f->section->fit.rho - rhos[i]) <= 0.02 * rhos[i] + 1e-3);
    }
}

/* With 2 % of noise per epoch a memory-bound section must still be told from a
 * compute-bound one by an order of magnitude. */
static void test_noise(void **state)
{
    struct fixture *f = *state;

    f->section = section_find(&f->list, 3, 1);
    profile(f, 16, 0.002, 0.02);
    double light = f->section->fit.rho;
    f->section = section_find(&f->list, 3, 2);
    profile(f, 16, 0.3, 0.02);
    assert_true(f->section->fit.rho > 0.2 && f->section->fit.rho < 0.45);
    assert_true(light < 0.03);
}

/* The pool shrinks before the clean measurement is long enough. */
static void test_smaller_pool(void **state)
{
    struct fixture *f = *state;

    section_grant(f->section, 16, PROFILE);
    epoch(f, 16, 0.1, 1e5, 1);
    assert_int_equal(section_wants(f->section, 15, PROFILE), 15);
    section_grant(f->section, 15, PROFILE);
    assert_int_equal(f->section->state, SECTION_CLEAN);
    assert_int_equal(profile(f, 15, 0.1, 0), 6);
    assert_int_equal(f->section->state, SECTION_KNOWN);
}

/* DoPs that came about otherwise count as well. */
static void test_known_by_chance(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++)
        assert_false(epoch(f, 5, 0.1, 1e5, 1));
    for (int i = 0; i < 2; i++)
        assert_false(epoch(f, 2, 0.1, 1e5, 1));
    assert_true(epoch(f, 2, 0.1, 1e5, 1));
    assert_int_equal(f->section->state, SECTION_KNOWN);
}

static void test_nothing_to_learn(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(section_wants(f->section, 1, PROFILE), 0);
    assert_int_equal(section_wants(f->section, 16, 0), 0);
    /* Too little work to measure: it waits instead of guessing. */
    for (int i = 0; i < 6; i++)
        assert_false(epoch(f, 4 + (size_t)(i / 3), 0.1, 20, 1));
    assert_null(f->section->profile);
}

static void test_list_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct section *folded = section_folded(&f->list);

    assert_true(folded->folded);
    for (uint64_t i = 0; i < 2 * SECTION_LIMIT; i++)
        assert_non_null(section_find(&f->list, 9, i));
    assert_int_equal(f->list.count, SECTION_LIMIT);
    assert_ptr_equal(section_find(&f->list, 10, 0), folded);
    assert_ptr_equal(section_find(&f->list, 1, 0x40), f->section);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_states),           T(test_rho),
        T(test_noise),            T(test_known_by_chance),
        T(test_smaller_pool),
        T(test_nothing_to_learn), T(test_list_is_bounded),
        T(test_points),           T(test_backends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
