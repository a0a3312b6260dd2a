/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "moca": bounds, known answers, the same for the same seed. */

#include "tests/model/near.h"

#include "model/policy.h"
#include "tests/support/uniform_machine.h"

#define MAX_CPUS 64
#define MAX_NODES 8
#define MAX_JOBS 4

struct world {
    size_t nodes, size;
    struct machine *machine;
    struct workload *profile[MAX_JOBS];
    struct policy_job jobs[MAX_JOBS];
    double options[POLICY_OPTIONS_MAX];
    int before[MAX_CPUS], owner[MAX_CPUS];
    struct policy_input in;
    struct policy_decision out;
};

/* NODES LLC domains of SIZE cores with a NUMA node each, links between all. */
static void setup(struct world *w, size_t nodes, size_t size, size_t jobs)
{
    *w = (struct world){.nodes = nodes, .size = size};
    w->machine = machine_new_uniform(nodes, size, nodes);
    assert_non_null(w->machine);
    assert_int_equal(machine_connect_all(w->machine, 0.002), MODEL_OK);
    for (size_t j = 0; j < jobs; j++) {
        w->profile[j] = workload_new(nodes);
        assert_non_null(w->profile[j]);
        w->jobs[j] = (struct policy_job){.id = (uint32_t)(10 + j),
                                         .kind = REGION_PARALLEL,
                                         .profile = w->profile[j],
                                         .min_cores = 1,
                                         .max_cores = nodes * size,
                                         .weight = 1};
    }
    for (size_t cpu = 0; cpu < MAX_CPUS; cpu++)
        w->before[cpu] = POLICY_NOBODY;
    w->in.machine = w->machine;
    w->in.jobs = w->jobs;
    w->in.job_count = jobs;
    w->in.owner = w->before;
    w->in.fairness_percent = POLICY_FAIRNESS_PERCENT;
    w->out.owner = w->owner;
}

static void teardown(struct world *w)
{
    for (size_t j = 0; j < MAX_JOBS; j++)
        workload_free(w->profile[j]);
    machine_free(w->machine);
}

/* All its requests go to NUMA node HOME, or evenly to all. */
static void set_rate(struct world *w, size_t j, double rate, size_t home)
{
    for (size_t m = 0; m < w->nodes; m++) {
        double part = home < w->nodes ? (m == home ? rate : 0)
                                      : rate / (double)w->nodes;
        w->profile[j]->rate[m] = (struct workload_rate){part, part / 2};
    }
}

static void decide(struct world *w, const char *name, const char *options)
{
    const struct policy *policy = policy_find(name);
    const char *bad;

    policy_options_init(policy, w->options);
    assert_int_equal(policy_options_parse(policy, options, w->options, &bad),
                     MODEL_OK);
    w->in.options = w->options;
    assert_int_equal(policy_decide(policy, &w->in, &w->out), MODEL_OK);
}

static size_t count_of(const struct world *w, int job)
{
    size_t n = 0;

    for (size_t cpu = 0; cpu < w->machine->cpus; cpu++)
        n += w->owner[cpu] == job;
    return n;
}

/* Rates from nothing to what saturates a controller, some at home, some not. */
static void shuffle(struct world *w, struct dice *dice)
{
    for (size_t j = 0; j < w->in.job_count; j++) {
        double rate = dice_range(dice, 0, 3)
                          ? pow(10, 2.5 * dice_unit(dice))
                          : 0;
        set_rate(w, j, rate, dice_range(dice, 0, 2 * w->nodes));
    }
    for (size_t cpu = 0; cpu < w->machine->cpus; cpu++)
        w->before[cpu] =
            (int)dice_range(dice, 0, w->in.job_count) - 1;
}

/* ---- known answers ---- */

/* Two jobs next to each other's memory change places: corun's local search finds
 * that, and the evolution nearly. */
static void test_crossed_homes(void **state)
{
    static const struct {
        const char *policy;
        size_t least;
    } expected[] = {{"corun", 8}, {"moca", 6}};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct world w;
        size_t near = 0;
        setup(&w, 2, 4, 2);
        set_rate(&w, 0, 30, 1);
        set_rate(&w, 1, 30, 0);
        for (size_t cpu = 0; cpu < 8; cpu++)
            w.before[cpu] = (int)(cpu / 4);
        decide(&w, expected[k].policy, "");
        for (size_t cpu = 0; cpu < 8; cpu++)
            near += w.owner[cpu] == 1 - (int)(cpu / 4);
        assert_in_range(near, expected[k].least, 8);
        teardown(&w);
    }
}

static void test_unknown_profile(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 4, 2);
    w.jobs[1].profile = NULL;
    decide(&w, "moca", "");
    assert_int_equal(count_of(&w, 0), 4);
    assert_non_null(strstr(w.out.reason, "equal shares while the profile of job "
                                         "11 is unknown"));
    teardown(&w);
}

/* ---- the papers' evolution ---- */

static void test_paper(void **state)
{
    struct dice dice = {31};
    int first[MAX_CPUS];
    char reason[POLICY_REASON_MAX];
    size_t differ = 0;
    struct world w;

    (void)state;
    setup(&w, 4, 4, 3);
    shuffle(&w, &dice);
    decide(&w, "moca", "generations:5");
    memcpy(first, w.owner, sizeof(first));
    memcpy(reason, w.out.reason, sizeof(reason));
    assert_non_null(strstr(reason, "best of 14 allocations: cores used 0."));
    for (size_t seed = 1; seed < 8; seed++) {
        char options[64];
        snprintf(options, sizeof(options),
                 "generations:5;seed:%zu", seed);
        decide(&w, "moca", options);
        bool same = memcmp(first, w.owner, 16 * sizeof(first[0])) == 0;
        assert_true(same || seed > 1);
        assert_true(strcmp(reason, w.out.reason) == 0 || seed > 1);
        differ += !same;
    }
    assert_true(differ > 3);
    decide(&w, "moca", "cpu_threshold:0;bw_threshold:0");
    assert_non_null(strstr(w.out.reason, "both goals reached"));
    teardown(&w);
}

/* With memory, a settled division is held against the next evolution. */
static void test_paper_settles(void **state)
{
    struct dice dice = {37};
    struct world w;

    (void)state;
    setup(&w, 4, 4, 3);
    shuffle(&w, &dice);
    w.in.state = policy_state_new(policy_find("moca"), w.machine);
    assert_non_null(w.in.state);
    for (size_t k = 0; k < 3; k++) {
        decide(&w, "moca", "hysteresis:1");
        assert_true(!k || w.out.moved == 0);
        memcpy(w.before, w.owner, sizeof(w.before));
    }
    policy_state_free(w.in.state);
    teardown(&w);
}

/* ---- laws ---- */

static void random_bounds(struct world *w, struct dice *dice)
{
    for (size_t j = 0; j < w->in.job_count; j++) {
        struct policy_job *job = &w->jobs[j];
        job->kind = dice_range(dice, 0, 4) ? REGION_PARALLEL : REGION_SERIAL;
        job->min_cores = dice_range(dice, 1, 3);
        job->max_cores = dice_range(dice, job->min_cores, w->machine->cpus);
        job->weight = 0.5 + dice_unit(dice);
    }
}

/* Within bounds, nobody's cores only where all are full, and the same again. */
static void test_laws(void **state)
{
    struct dice dice = {41};

    (void)state;
    for (size_t round = 0; round < 300; round++) {
        struct world w;
        int again[MAX_CPUS];
        bool full = true;
        setup(&w, dice_range(&dice, 1, 4), dice_range(&dice, 4, 6),
              dice_range(&dice, 1, MAX_JOBS));
        shuffle(&w, &dice);
        random_bounds(&w, &dice);
        decide(&w, "moca", "");
        for (size_t j = 0; j < w.in.job_count; j++) {
            bool serial = w.jobs[j].kind == REGION_SERIAL;
            size_t least = serial ? 1 : w.jobs[j].min_cores;
            size_t most = serial ? 1 : w.jobs[j].max_cores;
            size_t count = count_of(&w, (int)j);
            if (w.machine->cpus >= 3 * w.in.job_count)
                assert_in_range(count, least, most);
            full &= count == most;
        }
        assert_true(full || !count_of(&w, POLICY_NOBODY));
        size_t size = w.machine->cpus * sizeof(again[0]);
        memcpy(again, w.owner, size);
        decide(&w, "moca", "");
        assert_memory_equal(again, w.owner, size);
        teardown(&w);
    }
}

UNIT(test_policy_moca)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossed_homes),
        cmocka_unit_test(test_unknown_profile),
        cmocka_unit_test(test_paper),
        cmocka_unit_test(test_paper_settles),
        cmocka_unit_test(test_laws),
    };

    return cmocka_run_group_tests_name("test_policy_moca", tests, NULL, NULL);
}
