/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which near share jobs are told, by what runs where. */

#include "tests/support/unit.h"

#include "node_agent/core/colocation_watch.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/region.h"
#include "protocol/near_share.h"
#include "tests/support/uniform_machine.h"

#define DOMAINS 2
#define CORES 8
#define JOBS 2
#define RHO 0.2
#define ALL_NEAR (1 + COSCHED_NEAR_WHOLE)

struct world {
    struct machine *machine;
    struct colocation_watch *watch;
    struct region region[JOBS];
    struct job job[JOBS];
    struct observer_reading reading[JOBS];
    struct attribute_job share[JOBS];
};

/* Each job has one of two LLC domains, and interleaved pages; between NUMA nodes a request takes
 * LINK_US. */
static void begin(struct world *w, double link_us)
{
    *w = (struct world){.machine = machine_new_uniform(DOMAINS, CORES, DOMAINS)};
    assert_int_equal(machine_connect_all(w->machine, link_us), MODEL_OK);
    w->watch = colocation_watch_new(w->machine);
    assert_non_null(w->watch);
    for (size_t j = 0; j < JOBS; j++) {
        w->region[j].profile = workload_new_rho(DOMAINS, RHO, MACHINE_DEFAULT_SERVICE_US);
        w->job[j].interleaved = true;
        w->reading[j] = (struct observer_reading){.region = &w->region[j], .job = &w->job[j],
                                                  .dop = CORES};
        w->share[j].loop = loop_new(DOMAINS, DOMAINS);
        w->share[j].loop->cores[j] = CORES;
    }
}

static void end(struct world *w)
{
    colocation_watch_free(w->watch);
    for (size_t j = 0; j < JOBS; j++) {
        workload_free(w->region[j].profile);
        loop_free(w->share[j].loop);
    }
    machine_free(w->machine);
}

static void run(struct world *w, size_t count, double seconds)
{
    for (double s = 0; s < seconds; s += 0.05)
        colocation_watch_add(w->watch, w->reading, w->share, count, 50e3);
}

/* Nothing is said until it is known; then both are told the same. */
static void test_near(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0.1);
    run(&w, JOBS, 0.1);
    assert_int_equal(w.job[0].near_share, 0);
    run(&w, JOBS, 1);
    assert_int_equal(w.job[0].near_share, ALL_NEAR);
    assert_int_equal(w.job[1].near_share, ALL_NEAR);
    end(&w);
}

/* Less than COLOCATION_WATCH_GAIN is not worth moving pages: they stay on all nodes. */
static void test_small_gain(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 1e-6);
    run(&w, JOBS, 3);
    assert_int_equal(w.job[0].near_share, 1);
    end(&w);
}

/* Another mix has to last before pages move back. */
static void test_changes(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0.005);
    run(&w, JOBS, 3);
    assert_int_equal(w.job[0].near_share, ALL_NEAR);
    workload_free(w.region[0].profile);
    w.region[0].profile = workload_new_rho(DOMAINS, 10 * RHO, MACHINE_DEFAULT_SERVICE_US);
    w.reading[1].dop = 1; /* the first needs both controllers now */
    w.share[1].loop->cores[1] = 1;
    run(&w, JOBS, 0.2);
    assert_int_equal(w.job[0].near_share, ALL_NEAR);
    run(&w, JOBS, 20);
    assert_true(w.job[0].near_share < ALL_NEAR);
    end(&w);
}

/* A minute in which nothing is known does not make one look count for a minute. */
static void test_gap(void **state)
{
    struct world w;

    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        begin(&w, 0.005);
        run(&w, JOBS, 3);
        assert_int_equal(w.job[0].near_share, ALL_NEAR);
        run(&w, 1, silent ? 0 : 60);
        if (silent) /* the agent was stopped */
            colocation_watch_add(w.watch, w.reading, w.share, 1, 60e6);
        workload_free(w.region[0].profile);
        w.region[0].profile = workload_new_rho(DOMAINS, 10 * RHO, MACHINE_DEFAULT_SERVICE_US);
        w.reading[1].dop = 1;
        w.share[1].loop->cores[1] = 1;
        run(&w, JOBS, 0.2);
        assert_int_equal(w.job[0].near_share, ALL_NEAR);
        end(&w);
    }
}

/* Who has no such pages, or does not want them moved, is told nothing. */
static void test_refuses(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0.1);
    w.job[0].interleaved = false;
    run(&w, JOBS, 1);
    assert_int_equal(w.job[0].near_share, 0);
    assert_int_equal(w.job[1].near_share, ALL_NEAR);
    end(&w);
    begin(&w, 0.1);
    w.job[1].options.interleave = OPTION_INTERLEAVE_OFF;
    run(&w, JOBS, 1);
    assert_int_equal(w.job[0].near_share, ALL_NEAR);
    assert_int_equal(w.job[1].near_share, 0);
    end(&w);
}

/* Nobody knows what is best beside a job that nobody knows; one alone needs no word. */
static void test_unknown(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0.1);
    w.reading[1].region = NULL;
    run(&w, JOBS, 1);
    assert_int_equal(w.job[0].near_share, 0);
    w.reading[1].dop = 1;
    run(&w, JOBS, 1);
    assert_int_equal(w.job[0].near_share, ALL_NEAR);
    end(&w);
    begin(&w, 0.1);
    run(&w, 1, 1);
    run(&w, 0, 1);
    assert_int_equal(w.job[0].near_share, 0);
    end(&w);
}

UNIT(test_colocation_watch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),    cmocka_unit_test(test_small_gain),
        cmocka_unit_test(test_changes), cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_gap),
    };

    return cmocka_run_group_tests_name("test_colocation_watch", tests, NULL, NULL);
}
