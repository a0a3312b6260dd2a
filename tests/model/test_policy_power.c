/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Cores are left idle where they cost more than they give. */

#include "tests/model/mix.h"

#include <math.h>

#include "model/policy/power.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/workspace.h"

/* Two LLC domains of eight cores; job 0 computes, job 1 asks memory all the time. */
struct fixture {
    struct mix mix;
    double options[POLICY_OPTIONS_MAX];
    int owner[MAX_CPUS];
};

static void begin(struct fixture *f, const char *policy, const char *text)
{
    const char *bad;

    mix_init(&f->mix, 2, 8, 2);
    set_rho(&f->mix, 1, 1);
    f->mix.machine->power = (struct machine_power){50, 10, 5, 3, 20};
    policy_options_init(policy_find(policy), f->options);
    assert_int_equal(policy_options_parse(policy_find(policy), text, f->options, &bad), MODEL_OK);
    f->mix.input.options = f->options;
    f->mix.input.fairness_percent = 100;
}

static size_t has(const struct fixture *f, int job)
{
    return count_of(&f->mix, f->owner, job);
}

/* Watts of a decision, summed up here: requests take no part, as service times are unknown. */
static double watts(struct fixture *f)
{
    struct policy_workspace *ws = policy_workspace_new(f->mix.machine, 2);
    struct policy_input input = f->mix.input;
    size_t counts[4] = {0};

    assert_non_null(ws);
    input.workspace = ws;
    placement_begin(&input);
    for (size_t cpu = 0; cpu < 16; cpu++)
        if (f->owner[cpu] >= 0)
            counts[cpu / 8 * 2 + (size_t)f->owner[cpu]]++;
    double sum = power_layout(&input, counts);
    policy_workspace_free(ws);
    return sum;
}

static void test_layout(void **state)
{
    struct fixture f;
    double least, all;

    (void)state;
    begin(&f, "equal", "");
    f.mix.machine->power.request_nj = 0;
    for (size_t cpu = 0; cpu < 16; cpu++)
        f.owner[cpu] = cpu < 3 ? 0 : POLICY_NOBODY;
    assert_near(watts(&f), 50 + 10 + 3 * 5, 1e-9);
    for (size_t cpu = 0; cpu < 16; cpu++)
        f.owner[cpu] = cpu < 8 ? 0 : 1;
    least = 50 + 20 + 8 * 5 + 8 * 3;
    all = 50 + 20 + 16 * 5;
    assert_true(watts(&f) > least && watts(&f) < all);
    mix_free(&f.mix);
}

/* Every policy keeps the budget, and everybody keeps the minimum. */
static void test_budget(void **state)
{
    (void)state;
    for (const struct policy *const *p = policies; *p; p++)
        for (double limit = 60; limit < 160; limit += 15) {
            struct fixture f;
            char text[32];
            snprintf(text, sizeof(text), "power:%g", limit);
            begin(&f, (*p)->name, text);
            f.mix.jobs[0].min_cores = 2;
            struct policy_decision out = decided((*p)->name, &f.mix, f.owner);
            if (out.mode == POLICY_NATIVE) {
                mix_free(&f.mix);
                continue;
            }
            /* 50 + 10 + 2 * 5 + one stalled core with its requests is the least. */
            bool least = has(&f, 0) <= 2 && has(&f, 1) <= 1;
            assert_true(least || watts(&f) <= limit + 1e-6);
            assert_true(out.mode == POLICY_TURNS || (has(&f, 0) >= 2 && has(&f, 1) >= 1));
            mix_free(&f.mix);
        }
}

/* The job whose cores are stalled loses them first. */
static void test_budget_where_it_costs_least(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "equal", "power:130");
    struct policy_decision out = decided("equal", &f.mix, f.owner);
    assert_int_equal(has(&f, 0), 8);
    assert_in_range(has(&f, 1), 1, 6);
    assert_non_null(strstr(out.reason, "idle to draw"));
    assert_non_null(strstr(out.reason, "W of 130"));
    mix_free(&f.mix);
    begin(&f, "equal", "power:500");
    out = decided("equal", &f.mix, f.owner);
    assert_int_equal(has(&f, 1), 8);
    assert_null(strstr(out.reason, "idle"));
    mix_free(&f.mix);
}

/* Jobs that were not measured are taken to compute all the time. */
static void test_budget_unknown(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "equal", "power:100");
    f.mix.jobs[0].profile = f.mix.jobs[1].profile = NULL;
    decided("equal", &f.mix, f.owner);
    size_t cores = has(&f, 0) + has(&f, 1);
    assert_in_range(cores, 2, 8); /* 50 + 10 + 8 * 5 */
    mix_free(&f.mix);
}

/* By objective: of the site, of the job, and none where power is not known. */
static void test_objectives(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "corun", "cost:edp");
    f.mix.machine->power.idle_w = 10; /* else speed is worth any core */
    struct policy_decision out = decided("corun", &f.mix, f.owner);
    size_t edp = has(&f, 1);
    char words[80];
    snprintf(words, sizeof(words), "; job %u: not more than %zu for least energy times time",
             f.mix.jobs[1].id, edp);
    assert_non_null(strstr(out.reason, words));
    assert_in_range(edp, 1, 7);
    assert_true(has(&f, 0) >= 8);
    f.mix.jobs[1].objective = POLICY_LEAST_ENERGY;
    out = decided("corun", &f.mix, f.owner);
    assert_true(has(&f, 1) <= edp);
    assert_non_null(strstr(out.reason, " for least energy"));
    f.mix.jobs[1].objective = POLICY_LEAST_TIME;
    decided("corun", &f.mix, f.owner);
    assert_int_equal(has(&f, 0) + has(&f, 1), 16);
    memset(&f.mix.machine->power, 0, sizeof(f.mix.machine->power));
    f.mix.jobs[1].objective = POLICY_AS_SITE;
    out = decided("corun", &f.mix, f.owner);
    assert_int_equal(has(&f, 0) + has(&f, 1), 16);
    assert_non_null(strstr(out.reason, "what the machine draws is not known"));
    mix_free(&f.mix);

    begin(&f, "corun", ""); /* the job alone asks, and is told */
    memset(&f.mix.machine->power, 0, sizeof(f.mix.machine->power));
    f.mix.jobs[1].objective = POLICY_LEAST_ENERGY;
    out = decided("corun", &f.mix, f.owner);
    assert_non_null(strstr(out.reason, "what the machine draws is not known"));
    mix_free(&f.mix);
}

/* The maximum is where the energy-delay product of all numbers of cores is least, or as good. */
static void test_best_of_all(void **state)
{
    (void)state;
    for (double rho = 0.02; rho < 3; rho *= 2.3) {
        double least = INFINITY, chosen = 0;
        struct fixture f;
        begin(&f, "equal", "cost:edp");
        f.mix.input.job_count = 1;
        set_rho(&f.mix, 0, rho);
        decided("equal", &f.mix, f.owner);
        size_t best = has(&f, 0);
        for (size_t n = 1; n <= 16; n++) {
            f.mix.jobs[0].max_cores = n;
            f.mix.jobs[0].min_cores = n;
            struct policy_workspace *ws = policy_workspace_new(f.mix.machine, 1);
            struct policy_decision out = {.owner = f.owner};
            f.mix.input.workspace = ws;
            assert_int_equal(policy_decide(policy_find("equal"), &f.mix.input, &out), MODEL_OK);
            size_t counts[2] = {0};
            for (size_t cpu = 0; cpu < 16; cpu++)
                counts[cpu / 8] += f.owner[cpu] == 0;
            struct policy_input input = f.mix.input;
            input.jobs = ws->jobs;
            double drawn = power_layout(&input, counts), speed = ws->speed[0];
            least = fmin(least, drawn / speed / speed);
            if (n == best)
                chosen = drawn / speed / speed;
            policy_workspace_free(ws);
            f.mix.input.workspace = NULL;
        }
        assert_true(chosen <= least * 1.02);
        mix_free(&f.mix);
    }
}

UNIT(test_policy_power)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_budget_where_it_costs_least),
        cmocka_unit_test(test_budget_unknown),
        cmocka_unit_test(test_objectives),
        cmocka_unit_test(test_best_of_all),
    };

    return cmocka_run_group_tests_name("test_policy_power", tests, NULL, NULL);
}
