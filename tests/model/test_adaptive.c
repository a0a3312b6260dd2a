/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Thesis algorithm 3: who changes places with whom, and that it ends. */

#include "tests/model/near.h"

#include "model/adaptive.h"

#define NODES 6
#define JOBS 4

/* Jobs whose cores ask at one rate each, wherever they are. */
struct world {
    size_t nodes, jobs;
    size_t pool[NODES], layout[NODES * JOBS], order[NODES];
    double rate[JOBS], missing[JOBS]; /* of a core */
    double access[NODES * JOBS], miss[NODES * JOBS];
    struct adaptive_swap swap[NODES / 2];
};

static double node_access(const struct world *w, size_t i)
{
    double sum = 0;

    for (size_t j = 0; j < w->jobs; j++)
        sum += (double)w->layout[i * w->jobs + j] * w->rate[j];
    return sum;
}

static void measure(struct world *w)
{
    for (size_t c = 0; c < w->nodes * w->jobs; c++) {
        double cores = (double)w->layout[c];
        w->access[c] = cores * w->rate[c % w->jobs];
        w->miss[c] = cores * w->missing[c % w->jobs];
    }
}

static size_t step_again(struct world *w)
{
    struct adaptive_input in = {.llc_domains = w->nodes,
                                .jobs = w->jobs,
                                .pool = w->pool,
                                .access = w->access,
                                .miss = w->miss,
                                .threshold = ADAPTIVE_THRESHOLD,
                                .cores = ADAPTIVE_CORES};

    return adaptive_step(&in, w->layout, w->swap, w->order);
}

static size_t step(struct world *w)
{
    measure(w);
    return step_again(w);
}

/* NODES LLC domains of SIZE cores; node i belongs to job i at first. */
static void setup(struct world *w, size_t nodes, size_t size)
{
    *w = (struct world){.nodes = nodes, .jobs = nodes < JOBS ? nodes : JOBS};
    for (size_t i = 0; i < nodes; i++) {
        w->pool[i] = size;
        w->layout[i * w->jobs + (i < w->jobs ? i : w->jobs - 1)] = size;
    }
}

static void assert_layout(const struct world *w, const size_t *expected)
{
    for (size_t c = 0; c < w->nodes * w->jobs; c++)
        if (w->layout[c] != expected[c])
            fail_msg("LLC domain %zu, job %zu: %zu cores, not %zu", c / w->jobs,
                     c % w->jobs, w->layout[c], expected[c]);
}

/* Memory-bound and compute-bound side by side: two cores per epoch, until the
 * caches are used alike within the threshold. */
static void test_two_jobs(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 8);
    w.rate[0] = w.missing[0] = 10;
    w.rate[1] = w.missing[1] = 1;
    assert_int_equal(step(&w), 1);
    assert_int_equal(w.swap[0].busy, 0);
    assert_int_equal(w.swap[0].idle, 1);
    assert_int_equal(w.swap[0].busy_job, 0);
    assert_int_equal(w.swap[0].idle_job, 1);
    assert_int_equal(w.swap[0].cores, 2);
    assert_near(w.swap[0].busy_access, 80, 1e-12);
    assert_near(w.swap[0].idle_access, 8, 1e-12);
    assert_layout(&w, (size_t[]){6, 2, 2, 6}); /* 62 and 26: more than 2 */
    assert_int_equal(step(&w), 1);
    assert_layout(&w, (size_t[]){4, 4, 4, 4});
    assert_int_equal(step(&w), 0);
}

static void test_threshold(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 4);
    w.rate[0] = 2;
    w.rate[1] = 1;
    assert_int_equal(step(&w), 0); /* not more than twice as many */
    w.rate[0] = 2.01;
    assert_int_equal(step(&w), 1);
}

/* All cores of both would only change names, for ever. */
static void test_no_mirror(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 2);
    w.rate[0] = 10;
    w.rate[1] = 1;
    assert_int_equal(step(&w), 1);
    assert_int_equal(w.swap[0].cores, 1);
    assert_layout(&w, (size_t[]){1, 1, 1, 1});
    assert_int_equal(step(&w), 0);
    setup(&w, 2, 1); /* one core each: nothing to gain */
    w.rate[0] = 10;
    w.rate[1] = 1;
    assert_int_equal(step(&w), 0);
}

/* Busiest with idlest, second busiest with second idlest. */
static void test_pairs(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 4, 8);
    w.rate[0] = 3;
    w.rate[1] = 100;
    w.rate[2] = 10;
    w.rate[3] = 1;
    assert_int_equal(step(&w), 2);
    assert_int_equal(w.swap[0].busy, 1);
    assert_int_equal(w.swap[0].idle, 3);
    assert_int_equal(w.swap[1].busy, 2);
    assert_int_equal(w.swap[1].idle, 0);
    setup(&w, 3, 8); /* the one in the middle has no partner */
    w.rate[0] = 1;
    w.rate[1] = 100;
    w.rate[2] = 10;
    assert_int_equal(step(&w), 1);
    assert_int_equal(w.layout[2 * 3 + 2], 8);
}

/* The busy LLC domain gives the job that misses most, not the one that asks
 * most; the idle one gives the job that asks least. */
static void test_who(void **state)
{
    struct world w = {.nodes = 2,
                      .jobs = 4,
                      .pool = {8, 8},
                      .layout = {4, 4, 0, 0, 0, 0, 4, 4},
                      .rate = {20, 19, 1, 2},
                      .missing = {1, 5, 3, 0}};

    (void)state;
    assert_int_equal(step(&w), 1);
    assert_int_equal(w.swap[0].busy_job, 1);
    assert_int_equal(w.swap[0].idle_job, 2);
    assert_layout(&w, (size_t[]){4, 2, 2, 0, 0, 2, 2, 4});
}

/* Counters that see accesses only. */
static void test_no_misses(void **state)
{
    struct world w = {.nodes = 2,
                      .jobs = 3,
                      .pool = {8, 8},
                      .layout = {4, 4, 0, 0, 0, 8},
                      .rate = {20, 19, 1}};

    (void)state;
    measure(&w);
    for (size_t c = 0; c < 6; c++)
        w.miss[c] = NAN;
    assert_int_equal(step_again(&w), 1);
    assert_int_equal(w.swap[0].busy_job, 0);
}

/* Free CPUs are the idlest of all. */
static void test_nobody(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 8);
    w.layout[3] = 3; /* job 1 has three of eight */
    w.rate[0] = 10;
    w.rate[1] = 1;
    assert_int_equal(step(&w), 1);
    assert_true(w.swap[0].idle_job == ADAPTIVE_NOBODY);
    assert_layout(&w, (size_t[]){6, 0, 2, 3});
    /* An idle machine but for one core: it has nowhere better to go. */
    setup(&w, 2, 8);
    w.layout[0] = 1;
    w.layout[3] = 0;
    w.rate[0] = 10;
    assert_int_equal(step(&w), 0);
}

/* LLC domains outside the pool, or with a job that is not known, stay. */
static void test_unknown(void **state)
{
    struct world w;
    struct adaptive_input in;

    (void)state;
    setup(&w, 4, 8);
    w.rate[0] = 100;
    w.rate[1] = 10;
    w.rate[2] = 1;
    w.rate[3] = 0;
    measure(&w);
    w.access[0] = w.access[5] = NAN;
    w.pool[3] = w.layout[15] = 0;
    in = (struct adaptive_input){.llc_domains = 4, .jobs = 4, .pool = w.pool,
                                 .access = w.access, .miss = w.miss};
    assert_false(adaptive_possible(&in, w.layout)); /* only LLC domain 2 */
    assert_int_equal(step_again(&w), 0);
    w.access[5] = 80;
    w.access[4] = NAN; /* job 0 has no core there */
    assert_true(adaptive_possible(&in, w.layout));
    assert_int_equal(step_again(&w), 1);
    assert_int_equal(w.swap[0].busy, 1);
    assert_int_equal(w.swap[0].idle, 2);
}

/* One job on both sides has nobody to change places with. */
static void test_same_job(void **state)
{
    struct world w = {.nodes = 2,
                      .jobs = 1,
                      .pool = {8, 8},
                      .layout = {8, 8},
                      .access = {80, 8},
                      .miss = {80, 8}};

    (void)state;
    assert_int_equal(step_again(&w), 0);
}

static void shuffle(struct world *w, struct dice *dice)
{
    *w = (struct world){.nodes = dice_range(dice, 1, NODES),
                        .jobs = dice_range(dice, 1, JOBS)};
    for (size_t j = 0; j < w->jobs; j++) {
        w->rate[j] = (double)(1 << dice_range(dice, 0, 8)) * dice_unit(dice);
        w->missing[j] = w->rate[j] * dice_unit(dice);
    }
    for (size_t i = 0; i < w->nodes; i++) {
        w->pool[i] = dice_range(dice, 0, 16);
        for (size_t k = 0; k < w->pool[i]; k++) {
            size_t j = dice_range(dice, 0, w->jobs);
            if (j < w->jobs)
                w->layout[i * w->jobs + j]++;
        }
    }
}

static size_t cores_of(const struct world *w, size_t j)
{
    size_t sum = 0;

    for (size_t i = 0; i < w->nodes; i++)
        sum += w->layout[i * w->jobs + j];
    return sum;
}

static void check_step(struct world *w)
{
    struct world before = *w;
    size_t swaps = step(w);

    for (size_t s = 0; s < swaps; s++) {
        const struct adaptive_swap *swap = &w->swap[s];
        double high = swap->busy_access;
        assert_near(node_access(&before, swap->busy), high, 1e-9);
        assert_in_range(swap->cores, 1, ADAPTIVE_CORES);
        assert_true(high > 2 * swap->idle_access);
        assert_true(node_access(w, swap->busy) < high);
        assert_true(node_access(w, swap->idle) < high);
    }
    for (size_t j = 0; j < w->jobs; j++)
        assert_int_equal(cores_of(w, j), cores_of(&before, j));
    for (size_t i = 0; i < w->nodes; i++) {
        size_t used = 0;
        for (size_t j = 0; j < w->jobs; j++)
            used += w->layout[i * w->jobs + j];
        assert_true(used <= w->pool[i]);
    }
}

/* Nobody gains or loses a core, each swap helps the busier LLC domain, and with
 * unchanging rates it ends soon. */
static void test_ends(void **state)
{
    struct dice dice = {3};
    size_t most = 0;

    (void)state;
    for (size_t round = 0; round < 3000; round++) {
        struct world w;
        size_t steps = 0;
        shuffle(&w, &dice);
        for (; step(&w); steps++)
            if (steps == 200)
                fail_msg("round %zu does not end", round);
        check_step(&w);
        most = steps > most ? steps : most;
        shuffle(&w, &dice);
        check_step(&w);
    }
    assert_in_range(most, 2, 40);
}

UNIT(test_adaptive)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_jobs),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_no_mirror),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_who),
        cmocka_unit_test(test_no_misses),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_same_job),
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests_name("test_adaptive", tests, NULL, NULL);
}
