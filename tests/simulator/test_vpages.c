/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Simulated pages: when they move, how long it takes, and where they are then. */

#include "tests/support/unit.h"

#include <math.h>

#include "protocol/near_share.h"
#include "simulator/vpages.h"

#define NODES 4
#define CPUS 16
#define GIB 8.
#define STEP_S 0.05

static const double first[NODES] = {1, 0, 0, 0};

static double sum(const struct vpages *p)
{
    return p->at[0] + p->at[1] + p->at[2] + p->at[3];
}

/* Seconds until they move, or no longer do; 0: not within a minute. */
static double until(struct vpages *p, const double *cpus, uint32_t said, bool moving)
{
    for (double s = STEP_S; s < 60; s += STEP_S) {
        vpages_advance(p, cpus, CPUS, said, STEP_S);
        assert_true(fabs(sum(p) - 1) < 1e-9);
        if (p->moving == moving)
            return s;
    }
    return 0;
}

static void test_moves(void **state)
{
    struct vpages p;

    (void)state;
    assert_true(vpages_init(&p, NODES, GIB));
    assert_true(until(&p, first, 0, true) == 0); /* nothing is said */
    assert_true(until(&p, first, 1, true) == 0); /* all nodes alike, as they are */
    assert_true(fabs(p.at[3] - 0.25) < 1e-12 && p.version == 0 && vpages_rest(&p) == 1);
    assert_true(until(&p, first, 1 + COSCHED_NEAR_WHOLE, true) > 0);
    assert_true(vpages_rest(&p) < 1 && p.version > 0);
    /* Three quarters of 8 GiB, by two CPUs. */
    assert_true(fabs(until(&p, first, 1 + COSCHED_NEAR_WHOLE, false) - 3 / VPAGES_GIB_S) <=
                3 * STEP_S);
    assert_true(p.at[0] > 0.95 && vpages_rest(&p) == 1);
    vpages_release(&p);
}

/* CPUs that come back at once move nothing. */
static void test_short(void **state)
{
    const double even[NODES] = {0.25, 0.25, 0.25, 0.25};
    struct vpages p;

    (void)state;
    assert_true(vpages_init(&p, NODES, GIB));
    vpages_advance(&p, first, CPUS, 1 + COSCHED_NEAR_WHOLE, 0.1);
    assert_true(until(&p, even, 1 + COSCHED_NEAR_WHOLE, true) == 0);
    assert_true(p.version == 0);
    vpages_release(&p);
}

UNIT(test_vpages)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_short),
    };

    return cmocka_run_group_tests_name("test_vpages", tests, NULL, NULL);
}
