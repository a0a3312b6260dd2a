/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "nupoco": greedy numbers of cores, then places by LLC accesses. */

#include "tests/model/near.h"

#include "model/policy.h"
#include "tests/support/uniform_machine.h"

#define NODES 2
#define SIZE 8
#define CPUS (NODES * SIZE)
#define JOBS 2

struct world {
    struct machine *machine;
    struct workload *profile[JOBS];
    struct policy_facts facts[JOBS];
    double access[JOBS][NODES], miss[JOBS][NODES];
    struct policy_job jobs[JOBS];
    double options[POLICY_OPTIONS_MAX];
    int owner[CPUS];
    struct policy_input in;
    struct policy_decision out;
    size_t had[JOBS];
};

/* Two compute-bound jobs, of which one uses the LLC ten times as much. */
static void setup(struct world *w)
{
    const struct policy *policy = policy_find("nupoco");

    *w = (struct world){.machine = machine_new_uniform(NODES, SIZE, NODES)};
    assert_non_null(w->machine);
    for (size_t j = 0; j < JOBS; j++) {
        w->profile[j] = workload_new(NODES);
        assert_non_null(w->profile[j]);
        w->profile[j]->llc_per_us = j ? 1 : 10;
        policy_facts_init(&w->facts[j]);
        w->facts[j].llc_access = w->access[j];
        w->facts[j].llc_miss = w->miss[j];
        w->jobs[j] = (struct policy_job){.id = (uint32_t)(10 + j),
                                         .kind = REGION_PARALLEL,
                                         .profile = w->profile[j],
                                         .min_cores = 1,
                                         .max_cores = CPUS,
                                         .weight = 1,
                                         .region = j + 1,
                                         .facts = &w->facts[j]};
    }
    for (size_t cpu = 0; cpu < CPUS; cpu++)
        w->owner[cpu] = POLICY_NOBODY;
    policy_options_init(policy, w->options);
    w->in.machine = w->machine;
    w->in.jobs = w->jobs;
    w->in.job_count = JOBS;
    w->in.owner = w->owner;
    w->in.options = w->options;
    w->in.fairness_percent = POLICY_FAIRNESS_PERCENT;
    w->in.state = policy_state_new(policy, w->machine);
    assert_non_null(w->in.state);
}

static void teardown(struct world *w)
{
    policy_state_free(w->in.state);
    for (size_t j = 0; j < JOBS; j++)
        workload_free(w->profile[j]);
    machine_free(w->machine);
}

static size_t count_on(const struct world *w, size_t node, int job)
{
    size_t n = 0;

    for (size_t cpu = node * SIZE; cpu < (node + 1) * SIZE; cpu++)
        n += w->owner[cpu] == job;
    return n;
}

/* What the counters of the machine would say now. */
static void measure(struct world *w)
{
    for (size_t j = 0; j < JOBS; j++)
        for (size_t i = 0; i < NODES; i++) {
            size_t cores = count_on(w, i, (int)j);
            w->access[j][i] = cores ? (j ? 1.0 : 10.0) * (double)cores : NAN;
            w->miss[j][i] = w->access[j][i] / 2;
        }
}

/* An epoch; counts what moved from the owners' view. */
static void decide(struct world *w)
{
    int next[CPUS];

    w->out.owner = next;
    measure(w);
    for (size_t j = 0; j < JOBS; j++)
        w->had[j] = count_on(w, 0, (int)j) + count_on(w, 1, (int)j);
    assert_int_equal(policy_decide(policy_find("nupoco"), &w->in, &w->out),
                     MODEL_OK);
    memcpy(w->owner, next, sizeof(next));
}

static void assert_same_cores(const struct world *w)
{
    for (size_t j = 0; j < JOBS; j++)
        assert_int_equal(count_on(w, 0, (int)j) + count_on(w, 1, (int)j),
                         w->had[j]);
}

/* First whole LLC domains, then two cores per epoch until the accesses are
 * within the threshold, then nothing for ever. */
static void test_epochs(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 8);
    assert_int_equal(count_on(&w, 1, 1), 8);
    assert_non_null(strstr(w.out.reason, "predicted system utilisation"));
    decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 6);
    assert_int_equal(count_on(&w, 1, 0), 2);
    assert_int_equal(w.out.moved, 4);
    assert_same_cores(&w);
    assert_non_null(strstr(w.out.reason, "4 cores change places between 2 LLC "
                                         "domains, of which the busiest has 10.0 "
                                         "times the LLC accesses"));
    decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 4);
    for (size_t epoch = 0; epoch < 5; epoch++) {
        decide(&w);
        assert_int_equal(w.out.moved, 0);
        assert_same_cores(&w);
        assert_non_null(strstr(w.out.reason, "no swap of cores"));
    }
    assert_near(w.out.system_util, 2, 1e-9);
    assert_true(w.out.periodic);
    teardown(&w);
}

static void test_options(void **state)
{
    const struct policy *policy = policy_find("nupoco");
    const char *bad;
    struct world w;

    (void)state;
    setup(&w);
    assert_int_equal(policy_options_parse(policy, "swap:1", w.options, &bad),
                     MODEL_OK);
    decide(&w);
    decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 7);
    assert_int_equal(policy_options_parse(policy, "threshold:20", w.options,
                                          &bad),
                     MODEL_OK);
    decide(&w); /* other options: the numbers of cores are looked at again */
    decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 7);
    teardown(&w);
    setup(&w);
    assert_int_equal(policy_options_parse(policy, "placement:common", w.options,
                                          &bad),
                     MODEL_OK);
    for (size_t epoch = 0; epoch < 3; epoch++)
        decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 8);
    teardown(&w);
}

/* Without counters of the LLC, or of one job only: the common placement. */
static void test_no_counters(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct world w;
        setup(&w);
        if (k == 0)
            w.jobs[0].facts = w.jobs[1].facts = NULL;
        else if (k == 1)
            w.facts[0].llc_access = w.facts[1].llc_access = NULL;
        else
            w.jobs[1].facts = NULL;
        if (k < 2)
            w.profile[1]->llc_per_us = 0;
        for (size_t epoch = 0; epoch < 3; epoch++) {
            decide(&w);
            assert_non_null(
                strstr(w.out.reason, "predicted system utilisation"));
            assert_int_equal(w.out.moved, epoch ? 0 : CPUS);
            assert_int_equal(w.out.periodic, k == 2);
        }
        assert_int_equal(count_on(&w, 0, 0), 8);
        teardown(&w);
    }
}

/* Misses alone are not known: accesses say who misses. */
static void test_no_misses(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    w.facts[0].llc_miss = w.facts[1].llc_miss = NULL;
    decide(&w);
    decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 6);
    teardown(&w);
}

/* A region, a job's rates or the bounds change: numbers of cores first. */
static void test_new_situation(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct world w;
        setup(&w);
        decide(&w);
        decide(&w);
        if (k == 0)
            w.jobs[0].region = 7;
        else if (k == 1)
            w.profile[0]->rate[0].mrr_per_us = 1;
        else if (k == 2)
            w.jobs[1].max_cores = 6;
        else
            w.jobs[1].kind = REGION_SERIAL;
        decide(&w);
        assert_non_null(strstr(w.out.reason, "predicted system utilisation"));
        if (k == 2)
            assert_int_equal(count_on(&w, 0, 1) + count_on(&w, 1, 1), 6);
        decide(&w); /* and then places again */
        assert_null(strstr(w.out.reason, "predicted system utilisation"));
        teardown(&w);
    }
}

/* Without memory each decision is the first. */
static void test_no_state(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    policy_state_free(w.in.state);
    w.in.state = NULL;
    decide(&w);
    decide(&w);
    assert_int_equal(count_on(&w, 0, 0), 8);
    teardown(&w);
}

UNIT(test_policy_nupoco)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_no_counters),
        cmocka_unit_test(test_no_misses),
        cmocka_unit_test(test_new_situation),
        cmocka_unit_test(test_no_state),
    };

    return cmocka_run_group_tests_name("test_policy_nupoco", tests, NULL, NULL);
}
