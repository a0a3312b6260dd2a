/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Local search: steps, bounds, convergence. */

#include "tests/model/near.h"

#include "model/policy/search/local_search.h"

#define NODES 3
#define JOBS 3
#define CELLS (NODES * JOBS)

struct world {
    size_t min[JOBS], max[JOBS];
    size_t layout[CELLS];
    struct local_search_kind scratch[NODES];
    const double *weight; /* [CELLS] of a core, for linear() */
    size_t calls;
    struct local_search_input in;
};

/* Each core is worth its place. */
static double linear(void *arg, const size_t *layout)
{
    struct world *w = arg;
    double sum = 0;

    w->calls++;
    for (size_t c = 0; c < CELLS; c++)
        sum += w->weight[c] * (double)layout[c];
    return sum;
}

static double fail_third(void *arg, const size_t *layout)
{
    struct world *w = arg;

    (void)layout;
    return ++w->calls < 3 ? 1 : NAN;
}

/* Four cores of each LLC domain, those of node i are job i's. */
static void setup(struct world *w)
{
    *w = (struct world){.layout = {4, 0, 0, 0, 4, 0, 0, 0, 4}};
    for (size_t j = 0; j < JOBS; j++) {
        w->min[j] = 1;
        w->max[j] = 12;
    }
    w->in = (struct local_search_input){.llc_domains = NODES,
                                 .jobs = JOBS,
                                 .min = w->min,
                                 .max = w->max,
                                 .value = linear,
                                 .arg = w,
                                 .evaluations = 10000,
                                 .scratch = w->scratch};
}

static void assert_layout(const struct world *w, const size_t *expected)
{
    for (size_t c = 0; c < CELLS; c++)
        if (w->layout[c] != expected[c])
            fail_msg("LLC domain %zu, job %zu: %zu cores, not %zu", c / JOBS,
                     c % JOBS, w->layout[c], expected[c]);
}

/* Everything goes where it is worth most, but for the minima. */
static void test_gifts(void **state)
{
    static const double weight[CELLS] = {3, 1, 1, 3, 1, 1, 3, 1, 1};
    struct world w;

    (void)state;
    setup(&w);
    w.weight = weight;
    struct local_search_result result = local_search(&w.in, w.layout);
    assert_true(result.converged);
    assert_near(result.value, 3 * 10 + 2, 1e-12);
    assert_int_equal(result.evaluations, w.calls);
    assert_true(result.steps > 0);
    setup(&w);
    w.weight = weight;
    w.max[0] = 6;
    w.min[2] = 3;
    result = local_search(&w.in, w.layout);
    assert_near(result.value, 3 * 6 + 6, 1e-12);
    assert_true(w.layout[2] + w.layout[5] + w.layout[8] >= 3);
}

/* Numbers of cores are fixed: only swaps bring jobs home. */
static void test_swaps(void **state)
{
    static const double weight[CELLS] = {0, 0, 1, 1, 0, 0, 0, 1, 0};
    struct world w;

    (void)state;
    setup(&w);
    w.weight = weight;
    for (size_t j = 0; j < JOBS; j++)
        w.min[j] = w.max[j] = 4;
    struct local_search_result result = local_search(&w.in, w.layout);
    assert_true(result.converged);
    assert_layout(&w, (size_t[]){0, 0, 4, 4, 0, 0, 0, 4, 0});
}

/* Cores of job 0 are worth something where it has as many on each LLC domain. */
static double even(void *arg, const size_t *layout)
{
    (void)arg;
    for (size_t i = 1; i < NODES; i++)
        if (layout[i * JOBS] != layout[0])
            return 0;
    return (double)layout[0];
}

/* Each gift alone loses, one on each LLC domain gains; not beyond the bounds. */
static void test_levy(void **state)
{
    struct world w;

    (void)state;
    for (size_t max = 8; max < 10; max++) {
        setup(&w);
        memcpy(w.layout, (size_t[]){2, 2, 0, 2, 2, 0, 2, 2, 0}, sizeof(w.layout));
        w.in.value = even;
        w.min[2] = w.max[2] = 0;
        w.max[0] = max;
        assert_true(local_search(&w.in, w.layout).converged);
        if (max < 9)
            assert_layout(&w, (size_t[]){2, 2, 0, 2, 2, 0, 2, 2, 0});
        else
            assert_layout(&w, (size_t[]){3, 1, 0, 3, 1, 0, 3, 1, 0});
    }
}

/* Cores that are nobody's are as good as others. */
static void test_moves(void **state)
{
    static const double weight[CELLS] = {0, 0, 0, 2, 0, 0, 1, 0, 1};
    static const size_t pool[NODES] = {8, 3, 8};
    struct world w;

    (void)state;
    setup(&w);
    w.weight = weight;
    memcpy(w.layout, (size_t[]){4, 4, 0, 0, 0, 0, 0, 0, 4}, sizeof(w.layout));
    for (size_t j = 0; j < JOBS; j++)
        w.min[j] = w.max[j] = 4;
    w.in.pool = pool;
    struct local_search_result result = local_search(&w.in, w.layout);
    assert_true(result.converged);
    assert_layout(&w, (size_t[]){0, 4, 0, 3, 0, 0, 1, 0, 4});
}

/* Cores that do harm are left to nobody and idle ones that help are taken, if that gains enough. */
static void test_idle(void **state)
{
    static const double weight[CELLS] = {-1, -2, -2, -3, 1, -3, -3, -3, 1};
    static const size_t pool[NODES] = {4, 4, 6};
    struct world w;

    (void)state;
    for (size_t dear = 0; dear < 2; dear++) {
        setup(&w);
        w.weight = weight;
        w.min[0] = 2;
        w.in.pool = pool;
        w.in.idle_gain = dear ? 2 : 1;
        assert_true(local_search(&w.in, w.layout).converged);
        assert_layout(&w, (size_t[]){dear ? 4 : 2, 0, 0, 0, 4, 0, 0, 0, 6});
    }
}

/* Cores at home count, but not one at a time. */
static double at_home(void *arg, const size_t *layout)
{
    struct world *w = arg;
    double sum = 0;

    w->calls++;
    for (size_t j = 0; j < JOBS; j++)
        sum += layout[j * JOBS + j] == 4
                   ? 1
                   : -0.1 * (double)layout[j * JOBS + j];
    return sum;
}

/* All that two jobs have changes hands at once, if neither gets too much. */
static void test_trades(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    memcpy(w.layout, (size_t[]){0, 4, 0, 4, 0, 0, 0, 0, 4}, sizeof(w.layout));
    w.in.value = at_home;
    struct local_search_result result = local_search(&w.in, w.layout);
    assert_true(result.converged);
    assert_int_equal(result.steps, 1);
    assert_layout(&w, (size_t[]){4, 0, 0, 0, 4, 0, 0, 0, 4});
}

/* Mixed alike everywhere: two such LLC domains can still be sorted out. */
static void test_alike(void **state)
{
    static const double weight[CELLS] = {1, 0, 0, 0, 1, 0, 0, 1, 0};
    struct world w;

    (void)state;
    setup(&w);
    w.weight = weight;
    memcpy(w.layout, (size_t[]){2, 2, 0, 2, 2, 0, 2, 2, 0}, sizeof(w.layout));
    w.min[2] = w.max[2] = 0;
    w.min[0] = w.max[0] = w.min[1] = w.max[1] = 6;
    local_search(&w.in, w.layout);
    assert_layout(&w, (size_t[]){4, 0, 0, 0, 4, 0, 2, 2, 0});
}

/* LLC domains of different kinds are both tried. */
static void test_kinds(void **state)
{
    static const double weight[CELLS] = {0, 0, 0, 0, 9, 0, 0, 0, 0};
    static const size_t kind[NODES] = {0, 1, 0};
    struct world w;

    (void)state;
    for (size_t known = 0; known < 2; known++) {
        setup(&w);
        w.weight = weight;
        memcpy(w.layout, (size_t[]){4, 0, 0, 4, 0, 0, 0, 4, 0},
               sizeof(w.layout));
        w.min[2] = 0;
        w.max[1] = 4; /* no trade */
        w.in.kind = known ? kind : NULL;
        struct local_search_result result = local_search(&w.in, w.layout);
        assert_near(result.value, known ? 36 : 0, 1e-12);
    }
}

static void test_ends(void **state)
{
    static const double weight[CELLS] = {3, 1, 1, 3, 1, 1, 3, 1, 1};
    struct world w;

    (void)state;
    for (size_t evaluations = 1; evaluations < 6; evaluations++) {
        setup(&w);
        w.weight = weight;
        w.in.evaluations = evaluations;
        struct local_search_result result = local_search(&w.in, w.layout);
        assert_false(result.converged);
        assert_int_equal(w.calls, evaluations);
        double value = result.value; /* is that of the layout */
        assert_near(linear(&w, w.layout), value, 1e-12);
    }
    setup(&w);
    w.in.value = fail_third;
    assert_false(local_search(&w.in, w.layout).converged);
    assert_int_equal(w.calls, 3);
    assert_layout(&w, (size_t[]){4, 0, 0, 0, 4, 0, 0, 0, 4});
    /* Steps that gain too little are none. */
    setup(&w);
    w.weight = weight;
    w.in.gain = 1000;
    assert_int_equal(local_search(&w.in, w.layout).steps, 0);
    assert_layout(&w, (size_t[]){4, 0, 0, 0, 4, 0, 0, 0, 4});
}

UNIT(test_local_search)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gifts), cmocka_unit_test(test_swaps),
        cmocka_unit_test(test_levy),
        cmocka_unit_test(test_moves), cmocka_unit_test(test_idle),
        cmocka_unit_test(test_trades),
        cmocka_unit_test(test_alike), cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests_name("test_local_search", tests, NULL, NULL);
}
