/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Stall factors of jobs that run side by side, from what was counted of them. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/core/observer.h"
#include "node_agent/core/region.h"
#include "node_agent/core/stall_watch.h"
#include "tests/support/uniform_machine.h"

#define DOMAINS 2
#define JOBS 2
#define RHO 0.2

struct world {
    struct machine *machine;
    struct stall_watch *watch;
    struct region region[JOBS];
    struct job job[JOBS];
    struct observer_reading reading[JOBS];
    struct attribute_job share[JOBS];
};

static void begin(struct world *w)
{
    *w = (struct world){.machine = machine_new_uniform(DOMAINS, 8, DOMAINS)};
    w->watch = stall_watch_new(w->machine);
    assert_non_null(w->watch);
    for (size_t j = 0; j < JOBS; j++) {
        w->region[j].profile = workload_new_rho(DOMAINS, RHO, MACHINE_DEFAULT_SERVICE_US);
        w->reading[j].region = &w->region[j];
        w->reading[j].job = &w->job[j];
        w->share[j].loop = loop_new(DOMAINS, DOMAINS);
    }
}

static void end(struct world *w)
{
    stall_watch_free(w->watch);
    for (size_t j = 0; j < JOBS; j++) {
        workload_free(w->region[j].profile);
        loop_free(w->share[j].loop);
    }
    machine_free(w->machine);
}

/* Each job has CORES, on the first LLC domain the one more if they are odd, and stalls for the part
 * STALLED of its time; for MS. */
static void run(struct world *w, size_t cores, const double stalled[JOBS], double ms)
{
    for (size_t j = 0; j < JOBS; j++) {
        struct loop *loop = w->share[j].loop;
        w->reading[j].dop = cores;
        loop->total_us = ms * 1e3;
        for (size_t i = 0; i < DOMAINS; i++) {
            double cycles = ms * 2e6 * (double)(loop->cores[i] = (cores + 1 - i) / 2);
            loop->stalled_cycles[i] = cycles * stalled[j];
            loop->useful_cycles[i] = cycles - loop->stalled_cycles[i];
        }
    }
    stall_watch_add(w->watch, w->reading, w->share, JOBS, ms * 1e3);
}

/* Each job learns for itself, when the same has gone on for long enough. */
static void test_learns(void **state)
{
    const double seen[JOBS] = {0.05, 0.5};
    struct world w;

    (void)state;
    begin(&w);
    for (int i = 0; i < 3; i++)
        run(&w, 4, seen, 60);
    assert_true(w.region[0].stalls.us == 0 && w.region[0].profile->stall_factor == 1);
    run(&w, 4, seen, 60);
    assert_true(w.region[0].profile->stall_factor < 0.7);
    assert_true(w.region[1].profile->stall_factor > 1.5);
    for (size_t j = 0; j < JOBS; j++)
        assert_true(fabs(w.region[j].profile->stall_factor - stall_factor(&w.region[j].stalls)) <
                    0.2 * stall_factor(&w.region[j].stalls));
    end(&w);
}

/* Other cores, or another region, are another situation: what was counted before is forgotten. */
static void test_changes(void **state)
{
    const double seen[JOBS] = {0.05, 0.5};
    struct region other = {.profile = workload_new_rho(DOMAINS, RHO, MACHINE_DEFAULT_SERVICE_US)};
    struct world w;

    (void)state;
    begin(&w);
    for (size_t i = 0; i < 20; i++) {
        w.reading[1].region = i % 4 < 2 ? &w.region[1] : &other;
        run(&w, i % 2 ? 4 : 6, seen, 150);
    }
    assert_true(w.region[0].stalls.us == 0 && w.region[1].stalls.us == 0);
    run(&w, 4, seen, 60);
    assert_true(other.stalls.us > 0 && w.region[0].stalls.us > 0 && w.region[1].stalls.us == 0);
    workload_free(other.profile);
    end(&w);
}

/* Nobody knows how long jobs should stall beside one that nobody knows, if it has several cores. */
static void test_unknown(void **state)
{
    const double seen[JOBS] = {0.05, 0.5};
    struct world w;

    (void)state;
    begin(&w);
    w.reading[1].region = NULL;
    for (int i = 0; i < 10; i++)
        run(&w, 4, seen, 100);
    assert_true(w.region[0].stalls.us == 0);
    struct loop *loop = w.share[1].loop;
    w.share[1].loop = NULL;
    stall_watch_add(w.watch, w.reading, w.share, JOBS, 1e6);
    assert_true(w.region[0].stalls.us == 0);
    w.share[1].loop = loop;
    run(&w, 4, seen, 300);
    w.reading[1].dop = 1; /* it computes, whatever it is */
    loop->cores[0] = 1;
    loop->cores[1] = 0;
    stall_watch_add(w.watch, w.reading, w.share, JOBS, 3e5);
    assert_true(w.region[0].stalls.us > 0 && w.region[1].stalls.us == 0);
    stall_watch_add(w.watch, w.reading, w.share, 0, 3e5);
    end(&w);
}

UNIT(test_stall_watch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests_name("test_stall_watch", tests, NULL, NULL);
}
