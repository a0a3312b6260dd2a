/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "moca" with evaluate:sample: allocations that are run, and what becomes of them. */

#include "tests/model/near.h"

#include "model/policy.h"
#include "model/policy/search/sampling.h"
#include "tests/support/uniform_machine.h"

#define NODES 4
#define SIZE 4
#define CPUS (NODES * SIZE)
#define MAX_JOBS 3
#define EPOCH_US 50000.0
#define MOST_LOOKS 1000

/* A node on which a core of job j computes for `share[j]` of its time, and serves `serve[j]` of a
 * controller's; on its own LLC domain j twice that. */
struct world {
    struct machine *machine;
    struct workload *profile[MAX_JOBS];
    struct policy_facts facts[MAX_JOBS];
    struct policy_job jobs[MAX_JOBS];
    double share[MAX_JOBS], serve[MAX_JOBS];
    double options[POLICY_OPTIONS_MAX];
    int before[CPUS], owner[CPUS];
    struct policy_input in;
    struct policy_decision out;
};

static void set_options(struct world *w, const char *text)
{
    const struct policy *moca = policy_find("moca");
    const char *bad;

    policy_options_init(moca, w->options);
    assert_int_equal(policy_options_parse(moca, text, w->options, &bad), MODEL_OK);
}

static void setup(struct world *w, size_t jobs)
{
    *w = (struct world){.machine = machine_new_uniform(NODES, SIZE, NODES)};
    assert_non_null(w->machine);
    assert_int_equal(machine_connect_all(w->machine, 0.002), MODEL_OK);
    for (size_t j = 0; j < MAX_JOBS; j++) {
        w->profile[j] = workload_new(NODES);
        assert_non_null(w->profile[j]);
        policy_facts_init(&w->facts[j]);
        w->facts[j].counted.us = 1;
        w->share[j] = 0.1 + 0.3 * (double)j;
        w->serve[j] = 0.1;
        w->jobs[j] = (struct policy_job){.id = (uint32_t)(10 + j),
                                         .kind = REGION_PARALLEL,
                                         .profile = w->profile[j],
                                         .min_cores = 1,
                                         .max_cores = CPUS,
                                         .weight = 1,
                                         .facts = &w->facts[j]};
    }
    for (size_t c = 0; c < CPUS; c++)
        w->before[c] = POLICY_NOBODY;
    w->in = (struct policy_input){.machine = w->machine,
                                  .jobs = w->jobs,
                                  .job_count = jobs,
                                  .owner = w->before,
                                  .fairness_percent = 100,
                                  .options = w->options,
                                  .state = policy_state_new(policy_find("moca"), w->machine)};
    assert_non_null(w->in.state);
    w->out.owner = w->owner;
    set_options(w, "evaluate:sample");
}

static void teardown(struct world *w)
{
    policy_state_free(w->in.state);
    for (size_t j = 0; j < MAX_JOBS; j++)
        workload_free(w->profile[j]);
    machine_free(w->machine);
}

/* A decision that is put into effect. */
static void decide(struct world *w)
{
    assert_int_equal(policy_decide(policy_find("moca"), &w->in, &w->out), MODEL_OK);
    memcpy(w->before, w->owner, sizeof(w->before));
}

/* What happens on core CPU of job J: computing, and serving if SERVES. */
static double rate(const struct world *w, size_t j, size_t cpu, bool serves)
{
    return (serves ? w->serve[j] : w->share[j]) * (cpu / SIZE == j ? 2 : 1);
}

/* The worth of what is in effect: cpu_util + bw_util. */
static double worth(const struct world *w)
{
    double cpu = 0, bw = 0;

    for (size_t c = 0; c < CPUS; c++)
        if (w->before[c] >= 0) {
            cpu += rate(w, (size_t)w->before[c], c, false);
            bw += rate(w, (size_t)w->before[c], c, true);
        }
    return cpu / CPUS + bw / NODES;
}

/* The jobs run for an epoch in parallel regions, and get FACTOR times as much done. */
static void run(struct world *w, double factor)
{
    for (size_t j = 0; j < w->in.job_count; j++)
        w->facts[j].counted.us += EPOCH_US;
    for (size_t c = 0; c < CPUS; c++) {
        if (w->before[c] < 0)
            continue;
        size_t j = (size_t)w->before[c];
        w->facts[j].counted.computing_us += factor * EPOCH_US * rate(w, j, c, false);
        w->facts[j].counted.serving_us += factor * EPOCH_US * rate(w, j, c, true);
    }
}

static size_t count_of(const struct world *w, int job)
{
    size_t n = 0;

    for (size_t c = 0; c < CPUS; c++)
        n += w->owner[c] == job;
    return n;
}

/* The number of allocations that were tried out, as the reason has it. */
static size_t tried(const struct world *w)
{
    const char *text = strstr(w->out.reason, "tried out, ");
    size_t number;

    assert_non_null(text);
    assert_int_equal(sscanf(text, "tried out, %zu have been", &number), 1);
    return number;
}

/* Decide and run until nothing more is tried out; returns the number of epochs.  *BEST is the
 * worth of the best that was in effect, *AT what it was.  In the first epoch with other cores
 * jobs get ODD times as much done. */
static size_t finish(struct world *w, double odd, double *best, int *at)
{
    size_t looks = 0;

    *best = 0;
    for (decide(w); w->out.periodic; decide(w)) {
        run(w, w->out.moved ? odd : 1);
        if (worth(w) > *best) {
            *best = worth(w);
            memcpy(at, w->before, sizeof(w->before));
        }
        assert_true(++looks < MOST_LOOKS);
    }
    return looks;
}

/* As many of each job in each LLC domain. */
static bool same_layout(const int *a, const int *b)
{
    int count[NODES][MAX_JOBS] = {{0}};

    for (size_t c = 0; c < CPUS; c++) {
        if (a[c] >= 0)
            count[c / SIZE][a[c]]++;
        if (b[c] >= 0)
            count[c / SIZE][b[c]]--;
    }
    for (size_t i = 0; i < CPUS / SIZE * MAX_JOBS; i++)
        if (count[i / MAX_JOBS][i % MAX_JOBS])
            return false;
    return true;
}

/* ---- the course of it ---- */

/* Each is tried out for four epochs, and the one that measured best stays. */
static void test_keeps_best(void **state)
{
    (void)state;
    for (size_t generations = 0; generations < 8; generations++) {
        struct world w;
        char text[64];
        int at[CPUS];
        double best;
        size_t most = 4 + 2 * (generations ? generations : SAMPLING_GENERATIONS);
        setup(&w, 2);
        snprintf(text, sizeof(text), "evaluate:sample;generations:%zu", generations);
        set_options(&w, text);
        size_t looks = finish(&w, 1, &best, at);
        assert_in_range(looks, 4 * 4, 4 * most);
        assert_near(worth(&w), best, 1e-12);
        snprintf(text, sizeof(text), "best of %zu allocations tried out: cores used 0.", most);
        assert_non_null(strstr(w.out.reason, text));
        /* And stays, also with a region of another kind of work. */
        memcpy(at, w.before, sizeof(at));
        w.jobs[0].region++;
        w.share[0] = 0.9;
        run(&w, 1);
        decide(&w);
        assert_false(w.out.periodic);
        assert_true(same_layout(at, w.before));
        teardown(&w);
    }
}

/* Without mutation children become as their parents, which nobody runs again. */
static void test_no_twins(void **state)
{
    struct world w;
    int at[CPUS];
    double best;

    (void)state;
    setup(&w, 2);
    set_options(&w, "evaluate:sample;mutation:0;generations:30");
    assert_in_range(finish(&w, 1, &best, at), 4 * 4, 4 * 50);
    assert_non_null(strstr(w.out.reason, "best of 64 allocations tried out"));
    teardown(&w);
}

/* What happens in the first epoch, of moves and cold caches, is no part of a run. */
static void test_skips_first(void **state)
{
    int at[2][CPUS];
    double best[2];

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct world w;
        setup(&w, 2);
        finish(&w, k ? 50 : 1, &best[k], at[k]);
        memcpy(at[k], w.before, sizeof(at[k]));
        teardown(&w);
    }
    assert_near(best[0], best[1], 1e-12);
    assert_true(same_layout(at[0], at[1]));
}

/* What the common rules make of an allocation when it is asked for runs to its end, however they
 * see it meanwhile: a rule that wavered with each region would let no run come to its end. */
static void test_rules(void **state)
{
    struct world w;
    size_t looks = 0, ruled = 0;

    (void)state;
    setup(&w, 2);
    w.in.fairness_percent = 0;
    for (decide(&w); w.out.periodic; decide(&w)) {
        ruled += strstr(w.out.reason, "for its fair share") != NULL;
        run(&w, 1);
        for (size_t m = 0; m < NODES; m++) {
            w.profile[0]->rate[m] = (struct workload_rate){looks % 2 ? 90 : 1, 1};
            w.profile[1]->rate[m] = (struct workload_rate){looks % 2 ? 1 : 90, 1};
        }
        w.jobs[0].region = ++looks;
    }
    assert_in_range(looks, 4 * 4, 4 * 12);
    assert_in_range(ruled, 1, 12);
    teardown(&w);
}

/* Above both thresholds only the use of cores counts. */
static void test_thresholds(void **state)
{
    double cpu[2];

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct world w;
        int at[CPUS];
        double best;
        setup(&w, 2);
        w.share[0] = 0.4;
        w.share[1] = 0.45;
        w.serve[0] = 0.4;
        set_options(&w, k ? "evaluate:sample;cpu_threshold:0;bw_threshold:0" : "evaluate:sample");
        finish(&w, 1, &best, at);
        assert_int_equal(strstr(w.out.reason, "both goals reached") != NULL, k);
        const char *used = strstr(w.out.reason, "cores used ");
        assert_int_equal(sscanf(used, "cores used %lf", &cpu[k]), 1);
        teardown(&w);
    }
    assert_true(cpu[1] > cpu[0]);
}

/* ---- when it may ---- */

/* Only with several jobs, all in parallel regions and counted for. */
static void test_conditions(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2);
    set_options(&w, "");
    decide(&w);
    assert_false(w.out.periodic);
    set_options(&w, "evaluate:sample");
    w.jobs[1].kind = REGION_SERIAL;
    decide(&w);
    assert_false(w.out.periodic);
    assert_int_equal(count_of(&w, 1), 1);
    w.jobs[1].kind = REGION_PARALLEL;
    w.facts[1].counted.us = 0;
    decide(&w);
    assert_false(w.out.periodic);
    assert_non_null(strstr(w.out.reason, "best of 104 allocations: "));
    w.facts[1].counted.us = 1;
    w.in.job_count = 1;
    for (size_t c = 0; c < CPUS; c++)
        w.before[c] = 0;
    decide(&w);
    assert_false(w.out.periodic);
    w.in.job_count = 2;
    decide(&w);
    assert_true(w.out.periodic);
    teardown(&w);
}

/* A run in which a job leaves its regions does not count: the same one is made again. */
static void test_left_regions(void **state)
{
    struct world w;
    int wanted[CPUS];

    (void)state;
    setup(&w, 2);
    for (decide(&w); tried(&w) < 2; decide(&w))
        run(&w, 1);
    memcpy(wanted, w.before, sizeof(wanted));
    for (size_t k = 0; k < 3; k++) {
        run(&w, 1);
        decide(&w);
    }
    w.jobs[0].kind = REGION_SERIAL;
    run(&w, 1);
    decide(&w);
    assert_false(w.out.periodic);
    assert_int_equal(count_of(&w, 0), 1);
    w.jobs[0].kind = REGION_PARALLEL;
    decide(&w);
    assert_true(same_layout(wanted, w.before));
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(tried(&w), 2);
        run(&w, 1);
        decide(&w);
    }
    assert_int_equal(tried(&w), 3);
    teardown(&w);
}

/* The same where it came back so soon that its cores are those of before. */
static void test_left_briefly(void **state)
{
    struct world w;
    int wanted[CPUS];

    (void)state;
    setup(&w, 2);
    for (decide(&w); tried(&w) < 2; decide(&w))
        run(&w, 1);
    memcpy(wanted, w.before, sizeof(wanted));
    for (size_t k = 0; k < 3; k++) {
        run(&w, 1);
        decide(&w);
    }
    w.jobs[0].kind = REGION_SERIAL;
    decide(&w);
    memcpy(w.before, wanted, sizeof(wanted));
    w.jobs[0].kind = REGION_PARALLEL;
    run(&w, 1);
    decide(&w);
    assert_int_equal(tried(&w), 2);
    teardown(&w);
}

/* Another set of jobs, another pool: all begins anew. */
static void test_begins_anew(void **state)
{
    struct world w;
    int at[CPUS];
    double best;

    (void)state;
    setup(&w, 2);
    for (decide(&w); tried(&w) < 5; decide(&w))
        run(&w, 1);
    w.in.job_count = 3;
    decide(&w);
    assert_int_equal(tried(&w), 0);
    finish(&w, 1, &best, at);
    assert_near(worth(&w), best, 1e-12);
    w.in.job_count = 2;
    for (size_t c = 0; c < CPUS; c++)
        w.before[c] = w.before[c] == 2 ? POLICY_NOBODY : w.before[c];
    decide(&w);
    assert_int_equal(tried(&w), 0);
    finish(&w, 1, &best, at);
    w.before[0] = POLICY_NO_CPU;
    decide(&w);
    assert_int_equal(tried(&w), 0);
    assert_int_equal(w.owner[0], POLICY_NO_CPU);
    teardown(&w);
}

/* Jobs that are no longer counted for: the best so far, or the model's. */
static void test_gives_up(void **state)
{
    struct world w;

    (void)state;
    for (size_t before = 0; before < 6; before += 3) {
        size_t looks = 0;
        setup(&w, 2);
        for (decide(&w); tried(&w) < before; decide(&w))
            run(&w, 1);
        for (; w.out.periodic; decide(&w))
            assert_true(++looks <= SAMPLING_LOOKS);
        assert_non_null(strstr(w.out.reason, before ? "best of 3 allocations tried out"
                                                    : "best of 104 allocations: "));
        /* What was measured of two jobs is nothing of three. */
        w.in.job_count = 3;
        for (decide(&w); w.out.periodic; decide(&w))
            assert_true(++looks <= 2 * SAMPLING_LOOKS);
        assert_non_null(strstr(w.out.reason, "best of 104 allocations: "));
        teardown(&w);
    }
}

/* ---- laws ---- */

/* Nobody ever has less than its minimum or more than its maximum, also when these change. */
static void test_bounds(void **state)
{
    struct dice dice = {43};

    (void)state;
    for (size_t round = 0; round < 100; round++) {
        struct world w;
        setup(&w, dice_range(&dice, 2, MAX_JOBS));
        for (size_t look = 0; look < 60; look++) {
            for (size_t j = 0; j < w.in.job_count && look % 9 == 0; j++) {
                w.jobs[j].min_cores = dice_range(&dice, 1, CPUS / MAX_JOBS);
                w.jobs[j].max_cores = dice_range(&dice, w.jobs[j].min_cores, CPUS);
                w.share[j] = dice_unit(&dice);
            }
            decide(&w);
            run(&w, 1);
            for (size_t j = 0; j < w.in.job_count; j++)
                assert_in_range(count_of(&w, (int)j), w.jobs[j].min_cores, w.jobs[j].max_cores);
        }
        teardown(&w);
    }
}

static void test_bad_options(void **state)
{
    const struct policy *moca = policy_find("moca");
    static const char *const texts[] = {"evaluate:", "evaluate:run", "evaluate:1",
                                        "generations:-1", "generations:10001"};
    double values[POLICY_OPTIONS_MAX];
    const char *bad;

    (void)state;
    policy_options_init(moca, values);
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        bad = NULL;
        assert_int_equal(policy_options_parse(moca, texts[k], values, &bad), MODEL_EINVAL);
        assert_ptr_equal(bad, texts[k]);
    }
}

UNIT(test_sampling)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_best),   cmocka_unit_test(test_no_twins),
        cmocka_unit_test(test_skips_first),  cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_conditions),   cmocka_unit_test(test_left_regions),
        cmocka_unit_test(test_left_briefly), cmocka_unit_test(test_begins_anew),
        cmocka_unit_test(test_gives_up),     cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_rules),        cmocka_unit_test(test_bad_options),
    };

    return cmocka_run_group_tests_name("test_sampling", tests, NULL, NULL);
}
