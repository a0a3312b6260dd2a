/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters: which backend is chosen and why, what several give together, what
 * remains when one fails; samples and measures. */

#include "tests/support/unit.h"

#include <math.h>

#include "model/machine.h"
#include "model/station.h"
#include "node_agent/counters/counters.h"
#include "tests/support/tree.h"
#include "tests/support/uniform_machine.h"

#define MS UINT64_C(1000000)

/* ---- backends that do as they are told ---------------------------------- */

static struct {
    bool good_opens, good_moves, good_fails;
    int opened, closed, assigned;
    char argument[64];
} told;

static int state_of_good;

static int good_open(const struct counters_setup *setup, void **state,
                     struct errtext *err)
{
    snprintf(told.argument, sizeof(told.argument), "%s", setup->argument);
    if (!told.good_opens)
        return errtext_set(err, EACCES, "good: not permitted");
    told.opened++;
    *state = &state_of_good;
    return 0;
}

static int good_sample(void *state, struct sample *s, struct errtext *err)
{
    assert_ptr_equal(state, &state_of_good);
    if (told.good_fails)
        return errtext_set(err, EBUSY, "good: taken by another tool");
    for (size_t c = 0; c < s->cpus; c++) {
        s->cpu[c].cycles = told.good_moves ? 1e6 : 0;
        s->cpu[c].stalled = 0;
    }
    s->energy_j[0] = 1;
    if (!told.good_moves)
        s->energy_j[0] = 0;
    return 0;
}

static int good_assign(void *state, const struct counters_job *jobs,
                       size_t count, struct errtext *err)
{
    (void)state;
    (void)jobs;
    (void)err;
    told.assigned += (int)count;
    return 0;
}

static void good_describe(const void *state, struct counters_ability *a)
{
    (void)state;
    a[COUNTERS_CYCLES] = (struct counters_ability){.can = true, .why = "yes"};
    a[COUNTERS_STALLED] = (struct counters_ability){.can = true, .why = "yes"};
    snprintf(a[COUNTERS_TRAFFIC].why, sizeof(a[0].why), "too hard");
}

static void good_close(void *state)
{
    assert_ptr_equal(state, &state_of_good);
    told.closed++;
}

static int side_open(const struct counters_setup *setup, void **state,
                     struct errtext *err)
{
    (void)setup;
    (void)err;
    *state = NULL;
    told.opened++;
    return 0;
}

static int side_sample(void *state, struct sample *s, struct errtext *err)
{
    static const uint32_t job = 5;

    (void)state;
    (void)err;
    s->energy_j[0] = 2;
    s->memory[0].reads = 3;
    s->coverage = 0.5;
    return sample_set_groups(s, &job, 1);
}

static void side_describe(const void *state, struct counters_ability *a)
{
    (void)state;
    a[COUNTERS_TRAFFIC] = (struct counters_ability){.can = true, .why = "me"};
}

static void side_close(void *state)
{
    (void)state;
    told.closed++;
}

static const struct counters_backend good = {
    .name = "good",
    .help = "does as it is told",
    .flags = COUNTERS_AUTO,
    .open = good_open,
    .assign = good_assign,
    .sample = good_sample,
    .describe = good_describe,
    .close = good_close,
};
static const struct counters_backend side = {
    .name = "side",
    .help = "fills in",
    .flags = COUNTERS_SUPPLEMENT,
    .open = side_open,
    .sample = side_sample,
    .describe = side_describe,
    .close = side_close,
};
static const struct counters_backend *const alone[] = {&good, NULL};
static const struct counters_backend *const both[] = {
    &good, &counters_progress, &side, NULL};

/* ---- fixture ------------------------------------------------------------ */

static int loads;

static void load(const struct counters_setup *setup)
{
    (void)setup;
    loads++;
}

struct fixture {
    struct machine *machine;
    struct cosched_cpuset cpus;
    struct counters_setup setup;
    struct counters *counters;
    char reason[512];
    struct errtext err;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    memset(&told, 0, sizeof(told));
    told.good_opens = told.good_moves = true;
    f->machine = machine_new_uniform(1, 4, 1);
    f->cpus.word[0] = 0xf;
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    f->setup.load = load;
    f->setup.backends = both;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    counters_close(f->counters);
    assert_int_equal(told.opened, told.closed);
    machine_free(f->machine);
    free(f);
    return 0;
}

static bool begin(struct fixture *f, const char *specification)
{
    f->counters = counters_open(specification, &f->setup, f->reason,
                                sizeof(f->reason), &f->err);
    return f->counters != NULL;
}

/* ---- choice ------------------------------------------------------------- */

static void test_refusals(void **state)
{
    struct fixture *f = *state;

    assert_false(begin(f, "abacus"));
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(f->err.text, "abacus"));
    assert_false(begin(f, "goo")); /* no abbreviations */
    assert_int_equal(errno, EINVAL);
    assert_false(begin(f, ""));
    told.good_opens = false;
    assert_false(begin(f, "good"));
    assert_int_equal(errno, EACCES);
    assert_non_null(strstr(f->err.text, "not permitted"));
    f->setup.backends = alone;
    assert_false(begin(f, "auto"));
    assert_int_equal(errno, ENOTSUP);
}

static void test_auto_takes_the_first(void **state)
{
    struct fixture *f = *state;

    assert_true(begin(f, "auto"));
    assert_string_equal(counters_name(f->counters), "good");
    assert_string_equal(counters_names(f->counters), "good + side");
    assert_non_null(strstr(f->reason, "chose good"));
}

static void test_auto_says_why_not(void **state)
{
    struct fixture *f = *state;

    told.good_opens = false;
    assert_true(begin(f, "auto"));
    assert_string_equal(counters_name(f->counters), "progress");
    assert_non_null(strstr(f->reason, "not good: not permitted"));
}

/* As likwid is in some virtual machines: all succeeds, all is zero. */
static void test_auto_wants_values_that_move(void **state)
{
    struct fixture *f = *state;

    told.good_moves = false;
    loads = 0;
    assert_true(begin(f, "auto"));
    assert_true(loads > 1);
    assert_string_equal(counters_name(f->counters), "progress");
    assert_non_null(strstr(f->reason, "do not move"));
    counters_close(f->counters);
    assert_true(begin(f, "good")); /* who asks for it by name gets it */
}

static void test_argument(void **state)
{
    struct fixture *f = *state;

    assert_true(begin(f, "good:a:b"));
    assert_string_equal(told.argument, "a:b");
}

static void test_describe(void **state)
{
    struct fixture *f = *state;
    struct counters_ability a[COUNTERS_METRICS];

    assert_true(begin(f, "good"));
    counters_describe(f->counters, a);
    assert_true(a[COUNTERS_CYCLES].can);
    assert_true(a[COUNTERS_TRAFFIC].can); /* the supplement can */
    assert_true(a[COUNTERS_WORK].can);
    assert_false(a[COUNTERS_READ_MISSES].can);
    assert_int_equal(counters_points(f->counters), 1);
    for (size_t m = 0; m < COUNTERS_METRICS; m++)
        assert_non_null(counters_metric_name(m));
    counters_close(f->counters);
    assert_true(begin(f, "progress"));
    assert_int_equal(counters_points(f->counters), 2);
}

/* ---- samples ------------------------------------------------------------ */

static void test_supplements_fill_in(void **state)
{
    struct fixture *f = *state;
    const struct sample *s;

    assert_true(begin(f, "good"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(counters_sample(f->counters, 7 * MS, &s, NULL), 0);
        assert_int_equal(s->time_ns, 7 * MS);
        assert_true(s->cpu[2].cycles == 1e6);
        assert_true(s->energy_j[0] == 1); /* the chosen one's */
        assert_true(s->memory[0].reads == 3);
        assert_true(isnan(s->memory[0].writes));
        assert_true(s->coverage == 0.5);
        assert_int_equal(s->groups, 1);
        assert_int_equal(s->group_job[0], 5);
    }
    told.good_fails = true; /* what the other has still counts */
    assert_int_equal(counters_sample(f->counters, MS, &s, &f->err), -1);
    assert_string_equal(f->err.text, "good: taken by another tool");
    assert_true(isnan(s->cpu[0].cycles));
    assert_true(s->energy_j[0] == 2);
}

static void test_assign(void **state)
{
    struct fixture *f = *state;
    struct counters_job jobs[2] = {{.id = 1}, {.id = 2}};

    assert_true(begin(f, "good"));
    assert_int_equal(counters_assign(f->counters, jobs, 2, NULL), 0);
    assert_int_equal(told.assigned, 2);
}

static void test_arithmetic(void **state)
{
    double coverage = 1;

    (void)state;
    assert_true(sample_wrap(5, 9, 48) == 4);
    assert_true(sample_wrap((UINT64_C(1) << 48) - 3, 4, 48) == 7);
    assert_true(sample_wrap(UINT64_MAX, 1, 64) == 2);
    assert_true(sample_wrap(UINT32_MAX, 0, 32) == 1);
    assert_true(sample_scale(10, 4, 4, &coverage) == 10 && coverage == 1);
    assert_true(sample_scale(10, 4, 1, &coverage) == 40 && coverage == 0.25);
    assert_true(sample_scale(10, 4, 2, &coverage) == 20 && coverage == 0.25);
    assert_true(isnan(sample_scale(10, 4, 0, &coverage)) && coverage == 0);
    assert_true(isnan(sample_scale(10, 0, 0, &coverage)));
    assert_true(sample_add(1, 2) == 3 && sample_add(NAN, 2) == 2);
    assert_true(sample_add(1, NAN) == 1 && isnan(sample_add(NAN, NAN)));
    assert_null(sample_new(0, 1, 1, 1));
}

/* ---- measures and profiles ---------------------------------------------- */

static struct loop *counted(size_t cores, double total_us, double share)
{
    struct loop *l = loop_new(1, 1);

    l->cores[0] = cores;
    l->total_us = total_us;
    l->useful_cycles[0] = 1e6 * share;
    l->stalled_cycles[0] = 1e6 * (1 - share);
    return l;
}

static void test_measure(void **state)
{
    struct measure m = {0};
    double work[COUNTERS_UNITS] = {1, 2, 3, 4};
    struct loop *l = counted(2, 100, 0.5), *other = loop_new(2, 1);

    (void)state;
    measure_add_loop(&m, 2, l); /* no such point */
    assert_null(measure_find(&m, 2));
    measure_add(&m, 0, MS, work);
    for (size_t i = 0; i < MEASURE_POINTS; i++)
        assert_int_equal(m.point[i].dop, 0);
    measure_add(&m, 2, MS, work);
    measure_add_loop(&m, 2, l);
    measure_add_loop(&m, 2, l);
    const struct measure_point *p = measure_find(&m, 2);
    assert_true(p->loop->total_us == 200 && p->loop->useful_cycles[0] == 1e6);
    l->useful_cycles[0] = l->stalled_cycles[0] = 0; /* not known this time: left out */
    measure_add_loop(&m, 2, l);
    assert_true(p->loop->total_us == 200 && p->loop->useful_cycles[0] == 1e6);
    l->useful_cycles[0] = 5e5;
    l->llc_accesses[0] = 7; /* known for the first time: begins anew */
    measure_add_loop(&m, 2, l);
    assert_true(p->loop->total_us == 100 && p->loop->llc_accesses[0] == 7 &&
                p->loop->useful_cycles[0] == 5e5);
    other->cores[0] = other->cores[1] = 1; /* elsewhere: begins again */
    other->total_us = 7;
    measure_add_loop(&m, 2, other);
    assert_true(p->loop->total_us == 7);
    /* The one with the least time makes room, its loop with it. */
    for (size_t dop = 3; dop < 3 + MEASURE_POINTS; dop++)
        measure_add(&m, dop, dop * MS, work);
    assert_null(measure_find(&m, 2));
    measure_clear(&m);
    loop_free(l);
    loop_free(other);
}

/* Who spins seems to compute: told of it, the profile has the same rates, and the
 * share of synchronisation on all cores (4.11), whatever a process says. */
static void test_profile_of_spinning(void **state)
{
    struct fixture *f = *state;
    struct measure m = {0};
    double work[COUNTERS_UNITS] = {1e6}, rho = 0.4, idle = 0.2;
    double share = station_speedup(4, rho) / (4 * (1 + rho));
    struct counters_fit fit;
    struct loop *l = counted(4, 200e3, (1 - idle) * share + idle);

    l->stalled_cycles[0] = 1e6 * (1 - idle) * (1 - share);
    measure_idle(l, idle * l->total_us, 1);
    assert_true(fabs(l->sync_share - idle) < 1e-12);
    assert_true(fabs(l->useful_cycles[0] - 1e6 * (1 - idle) * share) < 1);
    assert_true(begin(f, "good"));
    measure_add(&m, 4, 200 * MS, work);
    measure_add_loop(&m, 4, l);
    measure_add_loop(&m, 4, l);
    assert_true(fabs(measure_find(&m, 4)->loop->sync_share - idle) < 1e-12);
    struct workload *w = counters_profile(f->counters, &m, 150 * MS, &fit, &f->err);
    assert_non_null(w);
    assert_true(fabs(fit.rho - rho) < 1e-6);
    double all = (double)machine_all_cpus(counters_setup(f->counters)->machine);
    assert_true(fabs(w->sync_share - fmin(1, idle * all / 4)) < 1e-9);
    workload_free(w);
    measure_clear(&m);
    measure_idle(l, -1, 1); /* as before */
    assert_true(fabs(l->sync_share - idle) < 1e-12);
    measure_idle(l, 1e300, 1);
    assert_true(l->sync_share < 1 && l->useful_cycles[0] > 0);
    /* What rounds leave idle is no synchronisation. */
    measure_idle(l, 0.4 * l->total_us, 0.75);
    assert_true(fabs(l->sync_share - 0.2) < 1e-12);
    measure_idle(l, 0.1 * l->total_us, 0.75);
    assert_true(l->sync_share == 0);
    loop_free(l);
}

static void test_profile_from_counters(void **state)
{
    struct fixture *f = *state;
    struct measure m = {0};
    double work[COUNTERS_UNITS] = {1e6}, rho = 0.4;
    struct counters_fit fit;
    struct loop *l =
        counted(4, 200e3, station_speedup(4, rho) / (4 * (1 + rho)));

    assert_true(begin(f, "good"));
    measure_add(&m, 4, 200 * MS, work);
    assert_null(counters_profile(f->counters, &m, 150 * MS, &fit, &f->err));
    assert_int_equal(errno, EAGAIN); /* work at one DoP says nothing */
    measure_add_loop(&m, 4, l);
    assert_null(counters_profile(f->counters, &m, 900 * MS, &fit, &f->err));
    assert_int_equal(errno, EAGAIN);
    struct workload *w =
        counters_profile(f->counters, &m, 150 * MS, &fit, &f->err);
    assert_non_null(w);
    assert_int_equal(fit.from, FIT_OF_REQUESTS);
    assert_true(fabs(fit.rho - rho) < 1e-6);
    workload_free(w);
    measure_clear(&m);
    loop_free(l);
}

/* Counters that say nothing leave it to the work at two DoPs. */
static void test_profile_from_work(void **state)
{
    struct fixture *f = *state;
    struct measure m = {0};
    struct counters_fit fit;

    assert_true(begin(f, "good"));
    for (size_t dop = 1; dop <= 4; dop++)
        for (int i = 0; i < 20; i++) {
            double work[COUNTERS_UNITS] = {1e6 * station_speedup(dop, 0.3)};
            measure_add(&m, dop, 50 * MS, work);
        }
    struct workload *w =
        counters_profile(f->counters, &m, 150 * MS, &fit, &f->err);
    assert_non_null(w);
    assert_int_equal(fit.from, FIT_OF_WORK);
    assert_true(fabs(fit.rho - 0.3) < 0.02);
    workload_free(w);
    measure_clear(&m);
}

static void test_cpu_model(void **state)
{
    struct tree *t = tree_new();
    char text[32];

    (void)state;
    assert_null(counters_cpu_model(t->root, text, sizeof(text)));
    tree_write(t, "cpuinfo", "processor\t: 0\nBogoMIPS\t: 50\n");
    assert_null(counters_cpu_model(t->root, text, sizeof(text)));
    tree_write(t, "cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n"
                             "cpu family\t: 6\nmodel\t\t: 85\n"
                             "model name\t: Xeon 8280 99\nstepping\t: 7\n");
    assert_string_equal(counters_cpu_model(t->root, text, sizeof(text)),
                        "6-85-7");
    tree_free(t);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_counters)
{
    const struct CMUnitTest tests[] = {
        T(test_refusals),
        T(test_auto_takes_the_first),
        T(test_auto_says_why_not),
        T(test_auto_wants_values_that_move),
        T(test_argument),
        T(test_describe),
        T(test_supplements_fill_in),
        T(test_assign),
        T(test_profile_from_counters),
        T(test_profile_of_spinning),
        T(test_profile_from_work),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_cpu_model),
    };

    return cmocka_run_group_tests_name("test_counters", tests, NULL, NULL);
}
