/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The rules that policies have in common: options, fairness, hysteresis,
 * memory, order of the jobs, weights. */

#include "tests/model/mix.h"

#include <math.h>

#include "model/policy/search/placement.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"
#include "model/policy/search/workspace.h"

/* ---- options ---- */

static void test_option_tables(void **state)
{
    (void)state;
    for (const struct policy *const *p = policies; *p; p++) {
        size_t count = policy_option_count(*p);
        double values[POLICY_OPTIONS_MAX];
        assert_in_range(count, POLICY_OWN, POLICY_OPTIONS_MAX);
        policy_options_init(*p, values);
        for (size_t i = 0; i < count; i++) {
            const struct policy_option *o = policy_option(*p, i);
            assert_true(o->low <= o->initial && o->initial <= o->high);
            assert_true(values[i] == o->initial && o->help[0]);
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(o->name, policy_option(*p, k)->name);
        }
    }
}

static void test_option_bad(void **state)
{
    static const char *const bad[] = {
        "x",          "x:1",       "hysteresis",        "hysteresis:",
        "hysteresis:-1", "hysteresis:2", "hysteresis:0x1",  "hysteresis:nan",
        "hysteresis:1e", "objective:", "objective:lazy", "objective:makes",
        "objective:1", ";", "hysteresis:1;;objective:makespan",
        "objective:makespan|turnaround", "hysteresis:0.5;x:1", "hysteresis:1.2.3",
    };
    const struct policy *corun = policy_find("corun");
    double values[POLICY_OPTIONS_MAX], before[POLICY_OPTIONS_MAX];

    (void)state;
    policy_options_init(corun, before);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *where = NULL;
        policy_options_init(corun, values);
        if (policy_options_parse(corun, bad[i], values, &where) !=
            MODEL_EINVAL)
            fail_msg("%s is accepted", bad[i]);
        assert_true(where >= bad[i] && where <= bad[i] + strlen(bad[i]));
        assert_memory_equal(values, before, sizeof(values));
    }
}

static void test_option_good(void **state)
{
    const struct policy *corun = policy_find("corun");
    double values[POLICY_OPTIONS_MAX];
    const char *where;

    (void)state;
    policy_options_init(corun, values);
    assert_int_equal(policy_options_parse(corun, "", values, &where), MODEL_OK);
    assert_true(values[POLICY_OWN] == 0);
    assert_int_equal(policy_options_parse(
                         corun, "objective:turnaround;hysteresis:0.5;",
                         values, &where), MODEL_OK);
    assert_true(values[POLICY_OWN] == 1);
    assert_true(values[POLICY_HYSTERESIS] == 0.5);
}

/* Below 0, where an option goes that far. */
static void test_option_negative(void **state)
{
    static const char *const bad[] = {"gain:-", "gain:--1", "gain:-1.1",
                                      "gain:1-", "loss:-0.1", "gain:-e"};
    const struct policy *corun = policy_find("corun");
    double values[POLICY_OPTIONS_MAX];
    const char *where;
    size_t gain = POLICY_OWN;

    (void)state;
    while (strcmp(policy_option(corun, gain)->name, "gain"))
        gain++;
    policy_options_init(corun, values);
    assert_int_equal(policy_options_parse(corun, "gain:-0.5", values, &where),
                     MODEL_OK);
    assert_true(values[gain] == -0.5);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (policy_options_parse(corun, bad[i], values, &where) == MODEL_OK)
            fail_msg("%s is accepted", bad[i]);
    assert_true(values[gain] == -0.5);
}

/* ---- helpers ---- */

static bool divides(const struct policy *policy)
{
    return strcmp(policy->name, "batch") && strcmp(policy->name, "native") &&
           strcmp(policy->name, "best-simple");
}

/* Set option number I of MIX, all others being default. */
static void set_option(struct mix *mix, const struct policy *policy,
                       double *values, size_t i, double value)
{
    policy_options_init(policy, values);
    values[i] = value;
    mix->input.options = values;
}

/* Speeds of the mix divided as OWNER says, and alone. */
static void speeds(const struct mix *mix, const int *owner, double *speed,
                   double *alone)
{
    struct policy_workspace *ws = policy_workspace_new(mix->machine, MAX_JOBS);
    struct policy_input input = mix->input;
    size_t cores[MAX_JOBS], pool = 0;
    struct policy_job jobs[MAX_JOBS];

    memcpy(jobs, mix->jobs, sizeof(jobs));
    for (size_t cpu = 0; cpu < mix->machine->cpus; cpu++)
        pool += mix->owner[cpu] != POLICY_NO_CPU;
    for (size_t j = 0; j < input.job_count; j++) {
        cores[j] = count_of(mix, owner, (int)j);
        if (jobs[j].max_cores > pool)
            jobs[j].max_cores = pool;
    }
    input.workspace = ws;
    input.jobs = jobs;
    placement_begin(&input);
    assert_true(predict_begin(&input));
    predict_cores(&input, cores, speed);
    predict_alone(&input, alone);
    policy_workspace_free(ws);
}

/* ---- fairness ---- */

/* Two equal jobs that saturate memory: utilisation alone gives one of them
 * most cores. */
static void test_fairness_off(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS];

    (void)state;
    mix_init(&mix, 1, 16, 2);
    set_rho(&mix, 0, 0.5);
    set_rho(&mix, 1, 0.5);
    mix.input.fairness_percent = 100;
    decided("greedy", &mix, owner);
    assert_in_range(count_of(&mix, owner, 0), 12, 15);
    mix.input.fairness_percent = 25;
    struct policy_decision out = decided("greedy", &mix, owner);
    assert_in_range(count_of(&mix, owner, 1), 4, 8);
    assert_non_null(strstr(out.reason, "moved to job 101 for its fair share"));
    mix_free(&mix);
}

static void test_fairness_bound(void **state)
{
    struct dice dice = {77};

    (void)state;
    for (int round = 0; round < 200; round++)
        for (const struct policy *const *p = policies; *p; p++) {
            struct mix mix;
            int owner[MAX_CPUS];
            double speed[MAX_JOBS], alone[MAX_JOBS];
            size_t jobs = dice_range(&dice, 2, 4);
            if (!divides(*p) || !strcmp((*p)->name, "equal"))
                continue;
            mix_init(&mix, 1, 32, jobs);
            for (size_t j = 0; j < jobs; j++)
                set_rho(&mix, j, dice_range(&dice, 0, 2) ? dice_unit(&dice) : 0);
            struct policy_decision out = decided((*p)->name, &mix, owner);
            speeds(&mix, owner, speed, alone);
            for (size_t j = 0; j < jobs && out.mode == POLICY_SPACE; j++)
                if (speed[j] < 0.75 * alone[j] / (double)jobs * 0.999)
                    fail_msg("%s, round %d: job %zu has %.3f of %.3f",
                             (*p)->name, round, j, speed[j], alone[j]);
            mix_free(&mix);
        }
}

/* ---- hysteresis ---- */

/* Decide ROUNDS times with profiles that are off by up to NOISE; returns how
 * often the division changed after the first time. */
static size_t changes(const struct policy *policy, struct mix *mix,
                      double margin, double noise, int rounds,
                      struct dice *dice)
{
    double values[POLICY_OPTIONS_MAX], rho[MAX_JOBS];
    size_t count = 0;
    int owner[MAX_CPUS];

    for (size_t j = 0; j < mix->input.job_count; j++)
        rho[j] = mix->profile[j]->rate[0].mrr_per_us *
                 MACHINE_DEFAULT_SERVICE_US * (double)mix->machine->numa_nodes;
    set_option(mix, policy, values, POLICY_HYSTERESIS, margin);
    mix->input.state = policy_state_new(policy, mix->machine);
    for (int i = 0; i < rounds; i++) {
        for (size_t j = 0; j < mix->input.job_count; j++)
            set_rho(mix, j,
                    rho[j] * (1 + noise * (2 * dice_unit(dice) - 1)));
        struct policy_decision out = decided(policy->name, mix, owner);
        count += i > 0 && out.moved > 0;
        memcpy(mix->owner, owner, mix->machine->cpus * sizeof(int));
    }
    policy_state_free(mix->input.state);
    mix->input.state = NULL;
    for (size_t j = 0; j < mix->input.job_count; j++)
        set_rho(mix, j, rho[j]);
    return count;
}

static void test_no_oscillation(void **state)
{
    static const char *const names[] = {"nupoco", "greedy", "corun"};
    struct dice dice = {5};

    (void)state;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        const struct policy *policy = policy_find(names[n]);
        size_t with = 0, without = 0;
        for (int round = 0; round < 20; round++) {
            struct mix mix;
            mix_init(&mix, 1, 24, 3);
            for (size_t j = 0; j < 3; j++)
                set_rho(&mix, j, 0.3 * dice_unit(&dice));
            without += changes(policy, &mix, 0, 0.03, 50, &dice);
            size_t now = changes(policy, &mix, 0.05, 0.03, 50, &dice);
            assert_true(now <= 2);
            with += now;
            mix_free(&mix);
        }
        /* corun stays where it is as good by itself. */
        if (!strcmp(names[n], "corun") ? with > 2 : without < 10 * with || without < 20)
            fail_msg("%s: %zu changes, %zu without hysteresis", names[n], with,
                     without);
    }
}

/* ---- not slower than with equal shares ---- */

/* How many jobs of 100 mixes are slower by more than 15 % than with equal
 * shares, if policy NAME with the options TEXT decides.  KNOWN: how much is left of
 * each. */
static size_t losers(const char *name, const char *text, bool known)
{
    const struct policy *policy = policy_find(name);
    struct dice dice = {5};
    size_t count = 0;

    for (int round = 0; round < 100; round++) {
        struct mix mix;
        int owner[MAX_CPUS];
        double speed[MAX_JOBS], equal[MAX_JOBS], alone[MAX_JOBS];
        double values[POLICY_OPTIONS_MAX];
        const char *bad;
        struct policy_facts facts[MAX_JOBS];
        size_t jobs = dice_range(&dice, 2, 4);
        mix_init(&mix, 1, 32, jobs);
        for (size_t j = 0; j < jobs; j++) {
            set_rho(&mix, j, dice_range(&dice, 0, 2) ? dice_unit(&dice) : 0);
            policy_facts_init(&facts[j]);
            facts[j].left_s = known ? 100 * (double)(j + 1) : NAN;
            mix.jobs[j].facts = &facts[j];
        }
        decided("equal", &mix, owner);
        speeds(&mix, owner, equal, alone);
        policy_options_init(policy, values);
        assert_int_equal(policy_options_parse(policy, text, values, &bad),
                         MODEL_OK);
        mix.input.options = values;
        struct policy_decision out = decided(name, &mix, owner);
        speeds(&mix, owner, speed, alone);
        for (size_t j = 0; j < jobs && out.mode == POLICY_SPACE; j++)
            count += speed[j] < 0.85 * equal[j];
        mix_free(&mix);
    }
    return count;
}

static void test_loss(void **state)
{
    (void)state;
    assert_int_equal(losers("corun", "loss:0.1", false), 0);
    assert_true(losers("corun", "loss:1;regret:1", false) > 20);
    /* Who is known to end first may wait. */
    assert_true(losers("corun", "loss:0.1", true) > 20);
}

/* The first job may have a quarter of the cores.  Until it is known that it ends
 * early it keeps them: nothing could make up for it, should it be the last one. */
static void test_regret(void **state)
{
    static const char *const options[] = {"regret:0.02;loss:1",
                                          "regret:1;loss:1"};
    size_t cores[2];

    (void)state;
    for (size_t n = 0; n < 2; n++) {
        const struct policy *policy = policy_find("corun");
        double values[POLICY_OPTIONS_MAX];
        const char *bad;
        struct mix mix;
        int owner[MAX_CPUS];
        mix_init(&mix, 1, 32, 3);
        mix.jobs[0].max_cores = 8;
        set_rho(&mix, 0, 0.2);
        set_rho(&mix, 1, 0);
        set_rho(&mix, 2, 0);
        policy_options_init(policy, values);
        assert_int_equal(policy_options_parse(policy, options[n], values,
                                              &bad), MODEL_OK);
        mix.input.options = values;
        decided("corun", &mix, owner);
        cores[n] = count_of(&mix, owner, 0);
        mix_free(&mix);
    }
    if (!(cores[0] >= 7 && cores[1] < 7))
        fail_msg("%zu cores, %zu with no limit", cores[0], cores[1]);
}

/* ---- layouts ---- */

/* Two jobs have every second core each of all LLC domains.  corun finds
 * its way to whole LLC domains if that is predicted to be better, which no single
 * exchange of cores tells. */
static void test_scattered(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS];
    size_t shared = 0;

    (void)state;
    mix_init(&mix, 8, 8, 2);
    for (size_t j = 0; j < 2; j++) {
        set_rho(&mix, j, 0.5);
        mix.profile[j]->llc_per_us = 100;
    }
    for (int cpu = 0; cpu < 64; cpu++)
        mix.owner[cpu] = cpu % 2;
    decided("corun", &mix, owner);
    for (size_t i = 0; i < 8; i++) {
        size_t first = 0;
        for (size_t c = 0; c < 8; c++)
            first += owner[8 * i + c] == 0;
        shared += first > 0 && first < 8;
    }
    assert_in_range(shared, 0, 1);
    mix_free(&mix);
}

/* ---- situations ---- */

/* Another region is another situation, even with rates that are much alike. */
static void test_new_situation(void **state)
{
    const struct policy *policy = policy_find("greedy");
    double values[POLICY_OPTIONS_MAX];
    struct mix mix;
    int owner[MAX_CPUS];

    (void)state;
    mix_init(&mix, 1, 16, 2);
    set_rho(&mix, 0, 0.5);
    set_option(&mix, policy, values, POLICY_HYSTERESIS, 1);
    mix.input.state = policy_state_new(policy, mix.machine);
    decided("greedy", &mix, mix.owner);
    size_t cores = count_of(&mix, mix.owner, 0);
    set_rho(&mix, 0, 0.2); /* would get more, were it not for the margin */
    struct policy_decision out = decided("greedy", &mix, owner);
    assert_true(out.kept && out.moved == 0);
    assert_non_null(strstr(out.reason, "kept"));
    assert_int_equal(count_of(&mix, owner, 0), cores);
    mix.jobs[0].region = 1;
    out = decided("greedy", &mix, owner);
    assert_false(out.kept);
    assert_true(count_of(&mix, owner, 0) > cores);
    policy_state_free(mix.input.state);
    mix_free(&mix);
}

/* ---- memory ---- */

static void test_state_refused(void **state)
{
    struct mix mix, other;
    int owner[MAX_CPUS];
    struct policy_decision out = {.owner = owner};

    (void)state;
    mix_init(&mix, 1, 8, 2);
    mix_init(&other, 1, 8, 2);
    mix.input.state = other.input.state =
        policy_state_new(policy_find("equal"), mix.machine);
    assert_int_equal(policy_decide(policy_find("equal"), &mix.input, &out),
                     MODEL_OK);
    assert_int_equal(policy_decide(policy_find("greedy"), &mix.input, &out),
                     MODEL_EINVAL);
    assert_int_equal(policy_decide(policy_find("equal"), &other.input, &out),
                     MODEL_EINVAL);
    policy_state_free(mix.input.state);
    other.machine->local_node[0] = 9;
    assert_null(policy_state_new(policy_find("equal"), other.machine));
    mix_free(&mix);
    mix_free(&other);
}

/* Two memories that have seen the same decide the same. */
static void test_state_is_all(void **state)
{
    struct dice dice = {31};

    (void)state;
    for (const struct policy *const *p = policies; *p; p++)
        for (int round = 0; round < 10; round++) {
            struct mix mix;
            int a[MAX_CPUS], b[MAX_CPUS];
            random_mix(&mix, &dice);
            struct policy_state *one = policy_state_new(*p, mix.machine);
            struct policy_state *two = policy_state_new(*p, mix.machine);
            for (int i = 0; i < 20; i++) {
                mix.input.slice = (uint64_t)i;
                mix.input.state = one;
                struct policy_decision first = decided((*p)->name, &mix, a);
                mix.input.state = two;
                struct policy_decision second = decided((*p)->name, &mix, b);
                assert_memory_equal(a, b, mix.machine->cpus * sizeof(int));
                assert_string_equal(first.reason, second.reason);
                if (first.mode != POLICY_NATIVE)
                    memcpy(mix.owner, a, mix.machine->cpus * sizeof(int));
            }
            policy_state_free(one);
            policy_state_free(two);
            mix_free(&mix);
        }
}

/* ---- order and weights ---- */

/* What corun's reason promises: the time in turn relative to that sharing. */
static double promised(const struct policy_decision *decision)
{
    const char *at = strstr(decision->reason, "predicted to be ");
    double value = NAN;

    return at && sscanf(at, "predicted to be %lf", &value) == 1 ? value : NAN;
}

/* Who comes first does not matter to a policy that divides by prediction: the
 * speeds are the same up to one unit's worth, or where divisions far apart are
 * as good, what they promise. */
static void test_order_of_jobs(void **state)
{
    static const char *const names[] = {"nupoco", "greedy", "amdahl", "corun"};
    struct dice dice = {8};

    (void)state;
    for (int round = 0; round < 100; round++)
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
            struct mix mix;
            int owner[MAX_CPUS];
            size_t cores[3];
            mix_init(&mix, 1, 32, 3);
            for (size_t j = 0; j < 3; j++)
                set_rho(&mix, j, 0.02 + 0.3 * (double)j + 0.1 * dice_unit(&dice));
            struct policy_decision a = decided(names[n], &mix, owner);
            for (int j = 0; j < 3; j++)
                cores[j] = count_of(&mix, owner, j);
            struct policy_job last = mix.jobs[2];
            mix.jobs[2] = mix.jobs[0];
            mix.jobs[0] = mix.jobs[1];
            mix.jobs[1] = last;
            struct policy_decision b = decided(names[n], &mix, owner);
            assert_int_equal(a.mode, b.mode);
            for (int j = 0; j < 3 && a.mode == POLICY_SPACE; j++) {
                size_t now = count_of(&mix, owner, (j + 2) % 3);
                size_t more = now > cores[j] ? now - cores[j] : cores[j] - now;
                if (more > 1 &&
                    !(fabs(promised(&a) / promised(&b) - 1) < 0.015))
                    fail_msg("%s: job %d has %zu or %zu cores", names[n], j,
                             cores[j], now);
            }
            mix_free(&mix);
        }
}

/* More weight leaves no fewer cores, but for the one that the fairness bound
 * may shift with the others' speeds.  To who looks ahead for the makespan, weight
 * is work, which may as well be done later on more cores. */
static void test_weight_never_harms(void **state)
{
    struct dice dice = {12};

    (void)state;
    for (const struct policy *const *p = policies; *p; p++)
        for (int round = 0; round < 50 && divides(*p) && strcmp((*p)->name, "corun");
             round++) {
            struct mix mix;
            int plain[MAX_CPUS], heavy[MAX_CPUS];
            mix_init(&mix, 1, 24, 3);
            for (size_t j = 0; j < 3; j++)
                set_rho(&mix, j, 0.2 * dice_unit(&dice));
            struct policy_decision a = decided((*p)->name, &mix, plain);
            mix.jobs[1].weight = 3;
            struct policy_decision b = decided((*p)->name, &mix, heavy);
            if (a.mode == POLICY_SPACE && b.mode == POLICY_SPACE &&
                count_of(&mix, heavy, 1) + 1 < count_of(&mix, plain, 1))
                fail_msg("%s: weight 3 leaves %zu cores of %zu", (*p)->name,
                         count_of(&mix, heavy, 1), count_of(&mix, plain, 1));
            mix_free(&mix);
        }
}

/* Two jobs, each with a NUMA node's cores and all its threads' own data there: each is half as fast
 * as if it had begun on both, where half of its data would be on the other. */
static void test_relative_speed_of_own_data(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS];
    double relative_speed[2];
    struct policy_decision out = {.owner = owner, .relative_speed = relative_speed};

    (void)state;
    mix_init(&mix, 2, 4, 2);
    for (size_t j = 0; j < 2; j++) {
        mix.profile[j]->rate[j] = (struct workload_rate){1 / MACHINE_DEFAULT_SERVICE_US,
                                                         1 / MACHINE_DEFAULT_SERVICE_US};
        mix.profile[j]->locality = 1;
    }
    for (size_t cpu = 0; cpu < 8; cpu++)
        mix.owner[cpu] = cpu / 4;
    assert_int_equal(policy_decide(policy_find("equal"), &mix.input, &out), MODEL_OK);
    assert_memory_equal(owner, mix.owner, 8 * sizeof(*owner));
    for (size_t j = 0; j < 2; j++)
        assert_near(relative_speed[j], 0.5, 0.1); /* requests meet more often where all ask all */
    mix_free(&mix);
}

UNIT(test_policy_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option_tables),
        cmocka_unit_test(test_option_bad),
        cmocka_unit_test(test_option_good),
        cmocka_unit_test(test_option_negative),
        cmocka_unit_test(test_fairness_off),
        cmocka_unit_test(test_fairness_bound),
        cmocka_unit_test(test_no_oscillation),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_regret),
        cmocka_unit_test(test_scattered),
        cmocka_unit_test(test_new_situation),
        cmocka_unit_test(test_state_refused),
        cmocka_unit_test(test_state_is_all),
        cmocka_unit_test(test_order_of_jobs),
        cmocka_unit_test(test_weight_never_harms),
        cmocka_unit_test(test_relative_speed_of_own_data),
    };

    return cmocka_run_group_tests_name("test_policy_rules", tests, NULL, NULL);
}
