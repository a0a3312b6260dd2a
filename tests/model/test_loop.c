/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Loop profiles: what is wrong with one gets named. */

#include "tests/model/near.h"

#include "model/loop.h"

/* Two LLC domains of which the second has no cores, three NUMA nodes. */
static struct loop *sample(void)
{
    struct loop *loop = loop_new(2, 3);

    assert_non_null(loop);
    loop->cores[0] = 4;
    loop->total_us = 100;
    for (size_t j = 0; j < 3; j++) {
        loop->requests[j] = (struct loop_requests){10, 5, 2};
        loop->read_misses[j] = 8;
    }
    return loop;
}

static void test_good(void **state)
{
    (void)state;
    struct loop *loop = sample();
    struct loop_problem problem = {LOOP_CORES, 7, 7};

    assert_int_equal(loop_check(loop, &problem), MODEL_OK);
    assert_int_equal(problem.field, LOOP_CORES); /* left alone */
    assert_int_equal(loop_cores(loop), 4);
    assert_int_equal(loop_active_nodes(loop), 1);
    assert_near(loop_requests_to(loop, 1).write, 5, 0);
    assert_near(loop_misses_to(loop, 2), 8, 0);
    loop_free(loop);
    assert_null(loop_new(0, 1));
    assert_null(loop_new(1, 0));
    loop_free(NULL);
}

/* The loop with NUMBER (in sample()'s loop) set to each bad value is refused
 * and FIELD named, with its nodes. */
static void refuses(struct loop *loop, double *number, double more,
                    enum loop_field field, size_t i, size_t j)
{
    double bad[] = {-1, NAN, INFINITY, -INFINITY, more}, good = *number;

    for (size_t b = 0; b < 5; b++) {
        struct loop_problem problem = {LOOP_GOOD, 9, 9};

        if (bad[b] == good) /* nothing beyond the others for this field */
            continue;
        *number = bad[b];
        assert_int_equal(loop_check(loop, &problem), MODEL_EINVAL);
        assert_int_equal(problem.field, field);
        assert_int_equal(problem.llc_domain, i);
        assert_int_equal(problem.numa_node, j);
    }
    *number = good;
    assert_int_equal(loop_check(loop, NULL), MODEL_OK);
}

static void test_bad(void **state)
{
    (void)state;
    struct loop *loop = sample();
    struct loop_problem problem;

    refuses(loop, &loop->total_us, 0, LOOP_TOTAL, 0, 0);
    refuses(loop, &loop->work, 0, LOOP_WORK, 0, 0);
    refuses(loop, &loop->sync_share, 1, LOOP_SYNC, 0, 0);
    refuses(loop, &loop->requests[2].read, NAN, LOOP_READS, 0, 2);
    refuses(loop, &loop->requests[1].write, NAN, LOOP_WRITES, 0, 1);
    refuses(loop, &loop->requests[1].prefetch, NAN, LOOP_PREFETCHES, 0, 1);
    refuses(loop, &loop->read_misses[1], 17.1, LOOP_READ_MISSES, 0, 1);
    refuses(loop, &loop->llc_accesses[1], NAN, LOOP_LLC_ACCESSES, 1, 0);
    refuses(loop, &loop->useful_cycles[1], NAN, LOOP_USEFUL_CYCLES, 1, 0);
    refuses(loop, &loop->stalled_cycles[0], NAN, LOOP_STALLED_CYCLES, 0, 0);
    /* Requests of a node without cores. */
    refuses(loop, &loop->requests[4].read, 1, LOOP_READS, 1, 1);
    refuses(loop, &loop->requests[5].write, 1, LOOP_WRITES, 1, 2);
    loop->cores[0] = 0;
    assert_int_equal(loop_check(loop, &problem), MODEL_EINVAL);
    assert_int_equal(problem.field, LOOP_CORES);
    loop_free(loop);
}

/* Each field has a name of its own. */
static void test_names(void **state)
{
    (void)state;
    for (enum loop_field a = LOOP_NODES; a <= LOOP_STALLED_CYCLES; a++) {
        assert_true(loop_field_name(a)[0]);
        for (enum loop_field b = LOOP_NODES; b < a; b++)
            assert_string_not_equal(loop_field_name(a), loop_field_name(b));
    }
    assert_string_equal(loop_field_name(LOOP_GOOD), "");
    assert_string_equal(loop_field_name(LOOP_STALLED_CYCLES + 1), "");
    assert_int_equal(loop_field_indices(LOOP_READS), 2);
    assert_int_equal(loop_field_indices(LOOP_USEFUL_CYCLES), 1);
    assert_int_equal(loop_field_indices(LOOP_TOTAL), 0);
}

UNIT(test_loop)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests_name("test_loop", tests, NULL, NULL);
}
