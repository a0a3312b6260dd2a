/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's chromosomes and their evolution. */

#include "tests/model/near.h"

#include "tests/model/moca_reference.h"
#include "model/policy/search/evolution.h"
#include "tests/support/uniform_machine.h"

#define NODES 4
#define JOBS 3
#define CPUS 16
#define RATE 150.0

/* Thesis figure 4.17: sixteen cores, four NUMA nodes of service rate 150 and
 * link delay 1/150, rates to each NUMA node from 0 to 40. */
struct world {
    struct machine *machine;
    struct workload *work[JOBS];
    size_t pool[NODES], min[JOBS], max[JOBS];
    double weight[JOBS];
    size_t layout[NODES * JOBS];
    struct chromosome_space space;
    struct evolution *evolution;
    struct evolution_input in;
    struct evolution_result out;
};

static void setup(struct world *w, size_t jobs)
{
    *w = (struct world){.machine = machine_new_uniform(NODES, 4, NODES)};
    assert_non_null(w->machine);
    assert_int_equal(machine_connect_all(w->machine, 1 / RATE), MODEL_OK);
    for (size_t m = 0; m < NODES; m++) {
        w->machine->controller_service_us[m] = 1 / RATE;
        w->pool[m] = CPUS / NODES;
    }
    for (size_t j = 0; j < jobs; j++) {
        w->work[j] = workload_new(NODES);
        assert_non_null(w->work[j]);
        w->min[j] = 1;
        w->max[j] = CPUS;
        w->weight[j] = 1;
    }
    w->space = (struct chromosome_space){
        .machine = w->machine,
        .jobs = jobs,
        .pool = w->pool,
        .profile = (const struct workload *const *)w->work,
        .weight = w->weight,
        .min = w->min,
        .max = w->max,
    };
    w->evolution = evolution_new(w->machine);
    assert_non_null(w->evolution);
    w->in = (struct evolution_input){.space = &w->space,
                                     .generations = EVOLUTION_GENERATIONS,
                                     .mutation = 0.05,
                                     .cpu_threshold = 0.7,
                                     .bw_threshold = 0.7,
                                     .seed = 1};
    w->out.layout = w->layout;
}

static void teardown(struct world *w)
{
    evolution_free(w->evolution);
    for (size_t j = 0; j < JOBS; j++)
        workload_free(w->work[j]);
    machine_free(w->machine);
}

/* Rates of all jobs up to MOST, reads a part of them. */
static void shuffle(struct world *w, struct dice *dice, double most)
{
    for (size_t j = 0; j < w->space.jobs; j++) {
        for (size_t m = 0; m < NODES; m++) {
            struct workload_rate *rate = &w->work[j]->rate[m];
            rate->mrr_per_us = most * dice_unit(dice);
            rate->read_per_us = rate->mrr_per_us * dice_unit(dice) / 8;
        }
        w->work[j]->sync_share = 0.3 * dice_unit(dice);
    }
}

static void evolve(struct world *w)
{
    assert_int_equal(evolution_run(w->evolution, &w->in, &w->out), MODEL_OK);
}

static size_t cores_of(const struct world *w, size_t j)
{
    size_t sum = 0;

    for (size_t i = 0; i < NODES; i++)
        sum += w->layout[i * w->space.jobs + j];
    return sum;
}

/* What moca_evaluate() says of the result. */
static struct moca_result judged(const struct world *w)
{
    static double response[NODES];
    struct moca_input in = {w->machine, w->space.jobs, w->space.profile,
                            w->layout, CPUS, w->space.form};
    struct moca_result result = {.response_us = response};

    assert_int_equal(moca_evaluate(&in, &result), MODEL_OK);
    return result;
}

/* ---- chromosomes ---- */

/* The worth is that of model/policy/search/chromosome.h for any allocation in both forms, also
 * when it is remembered. */
static void test_worth(void **state)
{
    struct dice dice = {7};
    struct world w;

    (void)state;
    setup(&w, JOBS);
    struct chromosome_judge *judge = chromosome_judge_new(w.machine);
    assert_non_null(judge);
    for (size_t round = 0; round < 200; round++) {
        uint8_t gene[CPUS];
        struct chromosome c = {.gene = gene};
        shuffle(&w, &dice, 40);
        w.space.form = round % 2 ? MOCA_CONSISTENT : MOCA_PAPER;
        assert_int_equal(chromosome_judge_set(judge, &w.space), MODEL_OK);
        assert_int_equal(chromosome_genes(judge), CPUS);
        for (size_t again = 0; again < 20; again++) {
            for (size_t g = 0; g < CPUS; g++) {
                size_t j = dice_range(&dice, 0, JOBS);
                gene[g] = j < JOBS ? (uint8_t)j : GENE_NOBODY;
            }
            assert_int_equal(chromosome_evaluate(judge, &c), MODEL_OK);
            chromosome_to_layout(judge, gene, w.layout);
            struct moca_result expected = judged(&w);
            assert_near(c.cpu, expected.cpu_util, 1e-12);
            assert_near(c.bw, expected.bw_util, 1e-12);
        }
    }
    chromosome_judge_free(judge);
    teardown(&w);
}

/* A weight counts a job's computing several times. */
static void test_weight(void **state)
{
    struct world w;
    uint8_t gene[CPUS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    struct chromosome c = {.gene = gene};

    (void)state;
    setup(&w, 2);
    w.weight[1] = 3;
    struct chromosome_judge *judge = chromosome_judge_new(w.machine);
    assert_non_null(judge);
    assert_int_equal(chromosome_judge_set(judge, &w.space), MODEL_OK);
    assert_int_equal(chromosome_evaluate(judge, &c), MODEL_OK);
    assert_near(c.cpu, 2, 1e-12);
    chromosome_judge_free(judge);
    teardown(&w);
}

static void test_layouts(void **state)
{
    static const size_t layout[] = {4, 0, 0, 1, 2, 0, 0, 0, 0, 0, 1, 3};
    static const uint8_t expected[] = {
        0, 0, 0, 0, 0, 1, 1, GENE_NOBODY, GENE_NOBODY, GENE_NOBODY,
        GENE_NOBODY, GENE_NOBODY, 1, 2, 2, 2};
    size_t back[NODES * JOBS];
    uint8_t gene[CPUS];
    struct world w;

    (void)state;
    setup(&w, JOBS);
    struct chromosome_judge *judge = chromosome_judge_new(w.machine);
    assert_non_null(judge);
    assert_int_equal(chromosome_judge_set(judge, &w.space), MODEL_OK);
    chromosome_from_layout(judge, layout, gene);
    assert_memory_equal(gene, expected, sizeof(expected));
    chromosome_to_layout(judge, gene, back);
    assert_memory_equal(back, layout, sizeof(layout));
    chromosome_judge_free(judge);
    teardown(&w);
}

static void random_bounds(struct world *w, struct dice *dice)
{
    size_t left = CPUS;

    for (size_t j = 0; j < JOBS; j++) {
        w->min[j] = dice_range(dice, 1, left - (JOBS - 1 - j));
        left -= w->min[j];
        w->max[j] = dice_range(dice, w->min[j], CPUS);
    }
}

/* Within bounds, and no core idle that somebody may have; what is within
 * bounds stays. */
static void test_repair(void **state)
{
    struct dice dice = {5};
    struct world w;

    (void)state;
    setup(&w, JOBS);
    struct chromosome_judge *judge = chromosome_judge_new(w.machine);
    assert_non_null(judge);
    for (size_t round = 0; round < 2000; round++) {
        uint8_t gene[CPUS], before[CPUS];
        size_t total[JOBS + 1] = {0}, room = 0;
        random_bounds(&w, &dice);
        assert_int_equal(chromosome_judge_set(judge, &w.space), MODEL_OK);
        for (size_t g = 0; g < CPUS; g++) {
            size_t j = dice_range(&dice, 0, JOBS);
            gene[g] = j < JOBS ? (uint8_t)j : GENE_NOBODY;
        }
        chromosome_repair(judge, gene, dice_next(&dice));
        for (size_t g = 0; g < CPUS; g++)
            total[gene[g] < JOBS ? gene[g] : JOBS]++;
        for (size_t j = 0; j < JOBS; j++) {
            assert_in_range(total[j], w.min[j], w.max[j]);
            room += w.max[j] - total[j];
        }
        assert_true(!total[JOBS] || !room);
        memcpy(before, gene, sizeof(gene));
        chromosome_repair(judge, gene, dice_next(&dice));
        assert_memory_equal(gene, before, sizeof(gene));
    }
    chromosome_judge_free(judge);
    teardown(&w);
}

static void test_bad_space(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2);
    struct machine *other = machine_new_uniform(2, 8, 2);
    assert_non_null(other);
    w.min[0] = 16; /* and one for the other job */
    assert_int_equal(evolution_run(w.evolution, &w.in, &w.out), MODEL_EINVAL);
    w.min[0] = 3;
    w.max[0] = 2;
    assert_int_equal(evolution_run(w.evolution, &w.in, &w.out), MODEL_EINVAL);
    w.max[0] = 3;
    w.space.jobs = 0;
    assert_int_equal(evolution_run(w.evolution, &w.in, &w.out), MODEL_EINVAL);
    w.space.jobs = 2;
    w.space.machine = other;
    assert_int_equal(evolution_run(w.evolution, &w.in, &w.out), MODEL_EINVAL);
    w.space.machine = w.machine;
    w.work[1]->rate[0].mrr_per_us = -1;
    assert_int_equal(evolution_run(w.evolution, &w.in, &w.out), MODEL_EINVAL);
    w.work[1]->rate[0].mrr_per_us = 0;
    evolve(&w);
    machine_free(other);
    teardown(&w);
}

/* ---- evolution ---- */

/* Same seed, same answer; another seed searches elsewhere. */
static void test_seed(void **state)
{
    struct dice dice = {11};
    size_t first[NODES * JOBS], differ = 0;
    struct world w;

    (void)state;
    setup(&w, JOBS);
    shuffle(&w, &dice, 40);
    w.in.generations = 3;
    evolve(&w);
    memcpy(first, w.layout, sizeof(first));
    for (uint64_t seed = 0; seed < 10; seed++) {
        w.in.seed = seed;
        evolve(&w);
        differ += memcmp(first, w.layout, sizeof(first)) != 0;
        if (seed == 1)
            assert_int_equal(differ, 1);
    }
    assert_in_range(differ, 5, 9);
    teardown(&w);
}

/* The result is worth what it says, within bounds, and no generation makes it
 * worse. */
static void test_progress(void **state)
{
    struct dice dice = {13};
    struct world w;

    (void)state;
    setup(&w, JOBS);
    for (size_t round = 0; round < 100; round++) {
        double best = 0;
        bool reached = false;
        shuffle(&w, &dice, 60);
        random_bounds(&w, &dice);
        w.in.seed = round;
        w.in.cpu_threshold = w.in.bw_threshold = dice_unit(&dice);
        for (w.in.generations = 0; w.in.generations <= 40;
             w.in.generations += 8) {
            evolve(&w);
            struct moca_result expected = judged(&w);
            assert_near(w.out.cpu, expected.cpu_util, 1e-12);
            assert_near(w.out.bw, expected.bw_util, 1e-12);
            assert_int_equal(w.out.judged, 4 + 2 * w.in.generations);
            for (size_t j = 0; j < JOBS; j++)
                assert_in_range(cores_of(&w, j), w.min[j], w.max[j]);
            assert_int_equal(w.out.reached,
                             w.out.cpu > w.in.cpu_threshold &&
                                 w.out.bw > w.in.bw_threshold);
            assert_true(w.out.reached >= reached);
            double worth = w.out.cpu + (w.out.reached ? 0 : w.out.bw);
            assert_true(w.out.reached != reached || worth >= best);
            best = worth;
            reached = w.out.reached;
        }
    }
    teardown(&w);
}

/* Best allocation of two jobs by trying all: how many cores of each LLC domain
 * the first one has. */
static double exhaust(struct world *w)
{
    double best = 0;

    for (size_t code = 1; code + 1 < 625; code++) {
        for (size_t i = 0, rest = code; i < NODES; i++, rest /= 5) {
            w->layout[i * 2] = rest % 5;
            w->layout[i * 2 + 1] = 4 - rest % 5;
        }
        struct moca_result result = judged(w);
        best = fmax(best, result.cpu_util + result.bw_util);
    }
    return best;
}

/* Figure 4.17: 25 to 50 generations are enough for a good allocation. */
static void test_figure_417(void **state)
{
    struct dice dice = {17};
    double sum[3] = {0}; /* parts of the best */
    struct world w;

    (void)state;
    setup(&w, 2);
    w.in.cpu_threshold = w.in.bw_threshold = 1; /* no Set1: one objective */
    for (size_t round = 0; round < 60; round++) {
        shuffle(&w, &dice, 40);
        double best = exhaust(&w);
        w.in.seed = round;
        for (size_t k = 0; k < 3; k++) {
            w.in.generations = (size_t[]){0, 50, 200}[k];
            evolve(&w);
            double part = (w.out.cpu + w.out.bw) / best;
            assert_true(part <= 1 + 1e-12);
            sum[k] += part / 60;
        }
    }
    assert_true(sum[0] < sum[1] && sum[1] < sum[2]);
    assert_true(1 - sum[1] < 0.25 * (1 - sum[0]));
    teardown(&w);
}

/* Once both goals are reached, only the cores count. */
static void test_sets(void **state)
{
    struct world w;
    double cpu[2], bw[2];

    (void)state;
    setup(&w, 2);
    for (size_t m = 0; m < NODES; m++)
        w.work[1]->rate[m] = (struct workload_rate){30, 1};
    for (size_t k = 0; k < 2; k++) {
        w.in.generations = 200;
        w.in.cpu_threshold = k ? 0.5 : 1;
        w.in.bw_threshold = k ? 0.5 : 1;
        evolve(&w);
        assert_int_equal(w.out.reached, k);
        cpu[k] = w.out.cpu;
        bw[k] = w.out.bw;
    }
    assert_true(bw[1] > 0.5 && bw[1] < bw[0]);
    assert_true(cpu[1] > cpu[0]);
    teardown(&w);
}

/* One of the first four is given: the answer is at least as good. */
static void test_start(void **state)
{
    static const size_t start[] = {4, 0, 4, 0, 0, 4, 0, 4};
    struct dice dice = {19};
    struct world w;

    (void)state;
    setup(&w, 2);
    w.in.cpu_threshold = w.in.bw_threshold = 1;
    w.in.generations = 0;
    for (size_t round = 0; round < 100; round++) {
        shuffle(&w, &dice, 40);
        memcpy(w.layout, start, sizeof(start));
        struct moca_result given = judged(&w);
        w.in.start = start;
        w.in.seed = round;
        evolve(&w);
        assert_true(w.out.cpu + w.out.bw >=
                    given.cpu_util + given.bw_util - 1e-12);
    }
    teardown(&w);
}

UNIT(test_evolution)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worth),      cmocka_unit_test(test_weight),
        cmocka_unit_test(test_layouts),    cmocka_unit_test(test_repair),
        cmocka_unit_test(test_bad_space),  cmocka_unit_test(test_seed),
        cmocka_unit_test(test_progress),   cmocka_unit_test(test_figure_417),
        cmocka_unit_test(test_sets),       cmocka_unit_test(test_start),
    };

    return cmocka_run_group_tests_name("test_evolution", tests, NULL, NULL);
}
