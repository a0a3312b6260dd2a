/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What jobs may have of what Slurm granted them. */

#include "tests/support/unit.h"

#include "model/policy.h"
#include "node_agent/core/grants.h"

static void test_space(void **state)
{
    struct cosched_cpuset granted[] = {{{0x3}}, {{0xc}}};
    int owner[] = {1, 1, 0, POLICY_NO_CPU};

    (void)state;
    grants_repair(granted, 2, owner, 4);
    assert_int_equal(owner[0], 0);
    assert_int_equal(owner[1], 0);
    assert_int_equal(owner[2], 1);
    assert_int_equal(owner[3], POLICY_NO_CPU);
}

/* Job 0 runs: it has two CPUs of its own instead of those that it was not granted, if there
 * are as many; who waits gets none. */
static void test_turns(void **state)
{
    struct cosched_cpuset granted[] = {{{0xb}}, {{0xc}}};
    int owner[] = {POLICY_NOBODY, POLICY_NO_CPU, 0, 0}, wide[] = {POLICY_NOBODY, 0, 0, 0};

    (void)state;
    grants_repair_turns(granted, 2, owner, 4);
    assert_int_equal(owner[0], 0);
    assert_int_equal(owner[1], POLICY_NO_CPU);
    assert_int_equal(owner[2], POLICY_NOBODY);
    assert_int_equal(owner[3], 0);
    grants_repair_turns(granted, 2, wide, 4);
    assert_int_equal(grants_owned(wide, 4, 0), 3);
    assert_int_equal(wide[2], POLICY_NOBODY);
    assert_int_equal(grants_owned(wide, 4, 1), 0);
}

/* Jobs 1 to 3 may have two CPUs each.  1 keeps what it has, 2 takes those that no limited job
 * has, 3 has more than it may and begins anew. */
static void test_overlap(void **state)
{
    struct cosched_cpuset granted[] = {{{0xf}}, {{0x1f}}, {{0xf}}, {{0xe}}};
    struct cosched_cpuset share[] = {{{0x1}}, {{0x11}}, {{0}}, {{0xe}}};
    const size_t most[] = {4, 2, 2, 2};
    int owner[] = {POLICY_NOBODY, POLICY_NOBODY, POLICY_NOBODY, POLICY_NOBODY, POLICY_NO_CPU};

    (void)state;
    grants_overlap(granted, most, 4, owner, share);
    assert_int_equal(share[0].word[0], 0xf);
    assert_int_equal(share[1].word[0], 0x3); /* CPU 4 is nobody's to give */
    assert_int_equal(share[2].word[0], 0xc);
    assert_int_equal(share[3].word[0], 0x6);
}

UNIT(test_grants)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_overlap),
    };

    return cmocka_run_group_tests_name("test_grants", tests, NULL, NULL);
}
