/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "corun": divisions, placement, turns. */

#include "tests/model/known.h"

#include "model/policy/search/completion.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"
#include "model/policy/search/workspace.h"

/* Thesis figure 4.3: where the best split is, and what it is worth. */
static void test_corun_golden(void **state)
{
    static const struct {
        double a, b;
        size_t cores;
        double makespan; /* relative to batch */
    } golden[] = {{400, 100, 11, 0.61}, {800, 100, 14, 0.685}};

    (void)state;
    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
        struct known k;
        int owner[MAX_CPUS];
        double shared, turns;
        known_init(&k, "corun", 16, 2);
        set_rho(&k.mix, 1, 0.5);
        k.facts[0].remaining = work(golden[i].a, 0);
        k.facts[1].remaining = work(golden[i].b, 0.5);
        struct policy_decision out = decided("corun", &k.mix, owner);
        assert_int_equal(out.mode, POLICY_SPACE);
        assert_int_equal(count_of(&k.mix, owner, 0), golden[i].cores);
        const char *number = strstr(out.reason, "makespan ");
        assert_non_null(number);
        assert_int_equal(sscanf(number, "makespan %lf s sharing (equal "
                                        "shares %*f s), %lf s in turn",
                                &shared, &turns), 2);
        /* Schweitzer is up to 3 % off where the thesis is exact. */
        assert_near(shared / turns, golden[i].makespan, 0.025);
        mix_free(&k.mix);
    }
}

/* Two jobs on two LLC domains of 4 cores, with memory of their own and a link. */
static void two_domains(struct mix *mix)
{
    mix_init(mix, 2, 4, 2);
    assert_int_equal(machine_connect_all(mix->machine, 0.01), MODEL_OK);
}

/* JOB has FIRST and SECOND cores of them. */
static void assert_on(const int *owner, int job, size_t first, size_t second)
{
    size_t cores[2] = {0, 0};

    for (size_t cpu = 0; cpu < 8; cpu++)
        cores[cpu / 4] += owner[cpu] == job;
    assert_int_equal(cores[0], first);
    assert_int_equal(cores[1], second);
}

/* A job of which nothing is known gets cores on all NUMA nodes, for its data to be there.  Jobs
 * whose threads ask their own NUMA nodes keep them, and get them back where that gains enough: 8 %
 * where both do, 0.3 % where one does. */
static void test_corun_spreads(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS], spread[MAX_CPUS];

    (void)state;
    two_domains(&mix);
    mix.jobs[0].profile = NULL;
    decided("corun", &mix, spread);
    for (int job = 0; job < 2; job++)
        assert_on(spread, job, 2, 2);
    mix.jobs[0].profile = mix.profile[0];
    mix.jobs[0].max_cores = mix.jobs[1].max_cores = 4;
    for (size_t local = 1; local <= 2; local++) {
        set_rho(&mix, local - 1, 0.5);
        mix.profile[local - 1]->locality = 1;
        for (int gathered = 0; gathered < 2; gathered++) {
            for (int cpu = 0; cpu < 8; cpu++)
                mix.owner[cpu] = gathered ? cpu / 4 : spread[cpu];
            decided("corun", &mix, owner);
            if (gathered && local == 1)
                assert_on(owner, 0, 4, 0);
            else
                assert_on(owner, 0, 2, 2);
        }
    }
    mix_free(&mix);
}

/* Option "hysteresis" says which gain is enough, and what was passed over is told. */
static void test_corun_hysteresis(void **state)
{
    static const double margin[] = {0, 0.02, 0.2};
    double values[POLICY_OPTIONS_MAX];
    struct mix mix;
    int owner[MAX_CPUS];

    (void)state;
    two_domains(&mix);
    mix.jobs[0].max_cores = mix.jobs[1].max_cores = 4;
    for (size_t j = 0; j < 2; j++) {
        set_rho(&mix, j, 0.5);
        mix.profile[j]->locality = 1;
    }
    for (int cpu = 0; cpu < 8; cpu++)
        mix.owner[cpu] = cpu / 4;
    for (size_t i = 0; i < 3; i++) {
        policy_options_init(policy_find("corun"), values);
        values[POLICY_HYSTERESIS] = margin[i];
        mix.input.options = values;
        struct policy_decision out = decided("corun", &mix, owner);
        assert_int_equal(out.kept, i == 2);
        assert_int_equal(out.moved, i == 2 ? 0 : 4);
        assert_int_equal(strstr(out.reason, "; kept, another division promises ") != NULL, i == 2);
    }
    mix_free(&mix);
}

/* A core that nobody has is taken, however little that gains. */
static void test_corun_takes_idle(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS];

    (void)state;
    mix_init(&mix, 2, MAX_CPUS / 2, 2);
    for (int cpu = 0; cpu < MAX_CPUS - 1; cpu++)
        mix.owner[cpu] = cpu / (MAX_CPUS / 2);
    mix.owner[MAX_CPUS - 1] = -1;
    decided("corun", &mix, owner);
    assert_int_equal(count_of(&mix, owner, 0) + count_of(&mix, owner, 1), MAX_CPUS);
    mix_free(&mix);
}

/* A serial job, whose data are where it is, stays on its LLC domain, though the other's data are
 * there, too, and whatever is known of that one. */
static void test_corun_keeps_serial(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct mix mix;
        int owner[MAX_CPUS];
        two_domains(&mix);
        mix.profile[0]->rate[1] = (struct workload_rate){10, 5};
        if (!known)
            mix.jobs[0].profile = NULL;
        mix.jobs[1].kind = REGION_SERIAL;
        mix.jobs[1].profile = NULL;
        mix.jobs[1].max_cores = 1;
        mix.owner[6] = 1;
        decided("corun", &mix, owner);
        assert_on(owner, 1, 0, 1);
        assert_int_equal(count_of(&mix, owner, 0), 7);
        mix_free(&mix);
    }
}

/* While one touches new memory, whatever is known of it. */
static void test_corun_spreads_growth(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS];

    (void)state;
    two_domains(&mix);
    set_rho(&mix, 0, 0.01);
    set_rho(&mix, 1, 0.01);
    for (int grows = 0; grows < 2; grows++) {
        mix.jobs[1].grows = grows;
        for (int cpu = 0; cpu < 8; cpu++)
            mix.owner[cpu] = cpu / 4;
        decided("corun", &mix, owner);
        assert_on(owner, 0, grows ? 2 : 4, grows ? 2 : 0);
    }
    mix_free(&mix);
}

/* All CPUs of the pool are dealt, however many there are on each LLC domain. */
static void test_corun_spreads_all(void **state)
{
    struct dice dice = {91};

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct mix mix;
        int owner[MAX_CPUS];
        size_t jobs = dice_range(&dice, 2, 5), pool = 0;
        mix_init(&mix, 4, 8, jobs);
        for (size_t cpu = 0; cpu < 32; cpu++) {
            mix.owner[cpu] = cpu < jobs || dice_range(&dice, 0, 3) ? POLICY_NOBODY
                                                                   : POLICY_NO_CPU;
            pool += mix.owner[cpu] == POLICY_NOBODY;
        }
        mix.jobs[0].profile = NULL;
        decided("corun", &mix, owner);
        for (size_t j = 0; j < jobs; j++)
            pool -= count_of(&mix, owner, (int)j);
        assert_int_equal(pool, 0);
        mix_free(&mix);
    }
}

/* Two that saturate memory gain nothing by sharing it. */
static void test_corun_turns(void **state)
{
    struct known k;
    int owner[MAX_CPUS];

    (void)state;
    known_init(&k, "corun", 16, 2);
    set_rho(&k.mix, 0, 0.5);
    set_rho(&k.mix, 1, 0.5);
    /* As good is good enough, unless it is asked for more. */
    struct policy_decision out = decided("corun", &k.mix, owner);
    assert_int_equal(out.mode, POLICY_SPACE);
    option(&k, "corun", "gain:0.02");
    out = decided("corun", &k.mix, owner);
    assert_int_equal(out.mode, POLICY_TURNS);
    assert_true(out.rotates); /* nobody knows who ends first */
    assert_int_equal(count_of(&k.mix, owner, 0), 16);
    k.mix.input.slice = 1;
    decided("corun", &k.mix, owner);
    assert_int_equal(count_of(&k.mix, owner, 1), 16);
    /* The shorter one first. */
    k.facts[0].remaining = 100;
    k.facts[1].remaining = 50;
    for (k.mix.input.slice = 0; k.mix.input.slice < 2; k.mix.input.slice++) {
        out = decided("corun", &k.mix, owner);
        assert_false(out.rotates);
        assert_int_equal(count_of(&k.mix, owner, 1), 16);
    }
    /* Unless it counts less. */
    k.mix.jobs[0].weight = 3;
    option(&k, "corun", "objective:turnaround;gain:0.02");
    decided("corun", &k.mix, owner);
    assert_int_equal(count_of(&k.mix, owner, 0), 16);
    mix_free(&k.mix);
}

/* Where it was measured what each does alone, that decides, with or without profiles:
 * turns, as many for each as it needs. */
static void test_corun_measured_turns(void **state)
{
    struct known k;
    int owner[MAX_CPUS], turns[2] = {0};

    (void)state;
    known_init(&k, "corun", 2, 2);
    for (size_t j = 0; j < 2; j++)
        k.facts[j].shared_cores = 1;
    for (int profiles = 0; profiles < 2; profiles++) {
        k.facts[0].alone_need = 0.5;
        k.facts[1].alone_need = NAN;
        assert_int_equal(decided("corun", &k.mix, owner).mode, POLICY_SPACE);
        k.facts[1].alone_need = 0.49; /* less than measurements are off by */
        assert_int_equal(decided("corun", &k.mix, owner).mode, POLICY_SPACE);
        k.facts[1].alone_need = 0.25;
        for (k.mix.input.slice = 0; k.mix.input.slice < 30; k.mix.input.slice++) {
            struct policy_decision out = decided("corun", &k.mix, owner);
            assert_int_equal(out.mode, POLICY_TURNS);
            assert_true(out.rotates);
            assert_non_null(strstr(out.reason, "measured to need 0.75"));
            assert_int_equal(owner[0], owner[1]);
            turns[owner[0]]++;
            assert_in_range(turns[0] - 2 * turns[1] + 3, 0, 6); /* evenly spread */
        }
        assert_int_equal(turns[0], 2 * turns[1]);
        turns[0] = turns[1] = 0;
        option(&k, "corun", "gain:-1");
        assert_int_equal(decided("corun", &k.mix, owner).mode, POLICY_SPACE);
        option(&k, "corun", "gain:-0.1");
        k.facts[1].shared_cores = 2; /* of another division */
        assert_int_equal(decided("corun", &k.mix, owner).mode, POLICY_SPACE);
        k.facts[1].shared_cores = 1;
        for (size_t j = 0; j < 2; j++)
            set_rho(&k.mix, j, 0.01); /* the model sees nothing in it */
    }
    mix_free(&k.mix);
}

/* A pinned job is as slow as its cores behind the slow link: they are left idle. */
static void test_corun_idle(void **state)
{
    struct mix mix;
    int owner[MAX_CPUS];
    double relative_speed;
    struct policy_decision out = {.owner = owner, .relative_speed = &relative_speed};

    (void)state;
    mix_init(&mix, 2, 4, 1);
    assert_int_equal(machine_connect_all(mix.machine, 1), MODEL_OK);
    mix.profile[0]->rate[0].mrr_per_us = mix.profile[0]->rate[0].read_per_us = 2;
    mix.jobs[0].pinned = true;
    assert_int_equal(policy_decide(policy_find("corun"), &mix.input, &out), MODEL_OK);
    assert_true(relative_speed == 1); /* as it is placed; on any four cores it is slower */
    for (int cpu = 0; cpu < 8; cpu++)
        assert_int_equal(owner[cpu], cpu < 4 ? 0 : POLICY_NOBODY);
    assert_non_null(strstr(out.reason, "; 4 cores idle, with them the jobs would be slower"));
    /* That all stay where they are is no reason to leave them to it again. */
    mix.profile[0]->rate[0].mrr_per_us = mix.profile[0]->rate[0].read_per_us = 0;
    memcpy(mix.owner, owner, 8 * sizeof(*owner));
    out = decided("corun", &mix, owner);
    assert_int_equal(count_of(&mix, owner, 0), 8);
    assert_null(strstr(out.reason, "idle"));
    mix_free(&mix);
}

/* Where turns were measured, too, idle cores are said. */
static void test_corun_idle_measured(void **state)
{
    struct mix mix;
    struct policy_facts facts[2];
    int owner[MAX_CPUS];

    (void)state;
    mix_init(&mix, 2, 4, 2);
    assert_int_equal(machine_connect_all(mix.machine, 1), MODEL_OK);
    for (size_t j = 0; j < 2; j++) {
        policy_facts_init(&facts[j]);
        facts[j].shared_cores = 4 - j;
        facts[j].alone_need = 0.6;
        mix.profile[j]->rate[0].mrr_per_us = mix.profile[j]->rate[0].read_per_us = 2;
        mix.jobs[j].pinned = true;
        mix.jobs[j].facts = &facts[j];
    }
    struct policy_decision out = decided("corun", &mix, owner);
    assert_int_equal(count_of(&mix, owner, 0) + count_of(&mix, owner, 1), 7);
    assert_non_null(strstr(out.reason, "measured to need 1.20"));
    assert_non_null(strstr(out.reason, "; 1 core idle, with it the jobs would be slower"));
    mix_free(&mix);
}

/* Serial regions run along; there is nothing to take turns with. */
static void test_corun_serial(void **state)
{
    struct known k;
    int owner[MAX_CPUS];

    (void)state;
    known_init(&k, "corun", 16, 3);
    for (size_t j = 0; j < 3; j++)
        set_rho(&k.mix, j, j == 1 ? 0.5 : 0);
    k.mix.jobs[0].kind = REGION_SERIAL;
    k.mix.jobs[2].kind = REGION_SERIAL;
    struct policy_decision out = decided("corun", &k.mix, owner);
    assert_int_equal(out.mode, POLICY_SPACE);
    assert_int_equal(count_of(&k.mix, owner, 1), 14);
    set_rho(&k.mix, 0, 0.5);
    set_rho(&k.mix, 2, 0.5);
    k.mix.jobs[2].kind = REGION_PARALLEL;
    out = decided("corun", &k.mix, owner);
    assert_int_equal(out.mode, POLICY_TURNS);
    assert_int_equal(count_of(&k.mix, owner, 0), 1);
    assert_int_equal(count_of(&k.mix, owner, 1), 15);
    mix_free(&k.mix);
}

/* Whether to share is not decided anew for a little noise. */
static void test_corun_does_not_flip(void **state)
{
    struct dice dice = {21};
    struct known k;
    size_t flips = 0;
    int owner[MAX_CPUS];

    (void)state;
    known_init(&k, "corun", 16, 2);
    option(&k, "corun", "hysteresis:0.05");
    k.mix.input.state = policy_state_new(policy_find("corun"), k.mix.machine);
    enum policy_mode last = POLICY_NATIVE;
    for (int i = 0; i < 200; i++) {
        set_rho(&k.mix, 0, 0.15 + 0.002 * dice_unit(&dice));
        set_rho(&k.mix, 1, 0.15 + 0.002 * dice_unit(&dice));
        struct policy_decision out = decided("corun", &k.mix, owner);
        flips += out.mode != last;
        last = out.mode;
        memcpy(k.mix.owner, owner, sizeof(owner));
    }
    assert_true(flips <= 2);
    policy_state_free(k.mix.input.state);
    mix_free(&k.mix);
}

/* The objective of the division in OWNER and of its rivals, as corun sees
 * them. */
static void rivals(struct known *k, const int *owner, bool average,
                   double *ours, double *best)
{
    static const char *const names[] = {"equal", "greedy"};
    struct mix *mix = &k->mix;
    struct policy_workspace *ws = policy_workspace_new(mix->machine, MAX_JOBS);
    struct policy_input input = mix->input;
    struct completion *o = calloc(1, sizeof(*o));
    size_t cores[MAX_JOBS], order[MAX_JOBS];
    struct policy_job jobs[MAX_JOBS];
    double values[POLICY_OPTIONS_MAX], time;
    int other[MAX_CPUS];

    memcpy(jobs, mix->jobs, sizeof(jobs));
    for (size_t j = 0; j < input.job_count; j++)
        jobs[j].max_cores = mix->machine->cpus;
    input.workspace = ws;
    input.jobs = jobs;
    placement_begin(&input);
    assert_true(predict_begin(&input));
    completion_begin(o, &input, average);
    completion_order(o, order);
    *best = completion_turns(o, order);
    *ours = *best; /* when it takes turns */
    for (size_t n = 0; n < 3; n++) {
        const int *from = owner;
        if (n > 0) {
            policy_options_init(policy_find(names[n - 1]), values);
            mix->input.options = values;
            decided(names[n - 1], mix, other);
            from = other;
        } else if (!count_of(mix, owner, 0) || !count_of(mix, owner, 1)) {
            continue;
        }
        for (size_t j = 0; j < input.job_count; j++)
            cores[j] = count_of(mix, from, (int)j);
        assert_true(predict_begin(&input));
        time = completion_time(o, cores);
        if (n == 0)
            *ours = time;
        *best = fmin(*best, time);
    }
    mix->input.options = k->values;
    free(o);
    policy_workspace_free(ws);
}

/* Never worse than the best simple way, by prediction, but for the gain that
 * sharing must promise and what counts as equal. */
static void test_corun_beats_the_simple(void **state)
{
    struct dice dice = {1};

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct known k;
        int owner[MAX_CPUS];
        double ours, best;
        size_t jobs = dice_range(&dice, 2, 4);
        bool average = round % 2;
        known_init(&k, "corun", 24, jobs);
        k.mix.input.fairness_percent = 100;
        option(&k, "corun", average ? "loss:1;regret:1;gain:-0.03;"
                                      "objective:turnaround"
                                    : "loss:1;regret:1;gain:-0.03");
        for (size_t j = 0; j < jobs; j++) {
            set_rho(&k.mix, j,
                    dice_range(&dice, 0, 3) ? dice_unit(&dice) : 0);
            if (dice_range(&dice, 0, 4))
                k.facts[j].remaining = 1 + 99 * dice_unit(&dice);
        }
        struct policy_decision out = decided("corun", &k.mix, owner);
        rivals(&k, owner, average, &ours, &best);
        if (!(ours <= best * 1.032))
            fail_msg("round %d: %g, the best simple way %g: %s", round, ours,
                     best, out.reason);
        mix_free(&k.mix);
    }
}

UNIT(test_policy_corun)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corun_golden),
        cmocka_unit_test(test_corun_spreads),
        cmocka_unit_test(test_corun_hysteresis),
        cmocka_unit_test(test_corun_takes_idle),
        cmocka_unit_test(test_corun_spreads_growth),
        cmocka_unit_test(test_corun_spreads_all),
        cmocka_unit_test(test_corun_keeps_serial),
        cmocka_unit_test(test_corun_turns),
        cmocka_unit_test(test_corun_measured_turns),
        cmocka_unit_test(test_corun_idle),
        cmocka_unit_test(test_corun_idle_measured),
        cmocka_unit_test(test_corun_serial),
        cmocka_unit_test(test_corun_does_not_flip),
        cmocka_unit_test(test_corun_beats_the_simple),
    };

    return cmocka_run_group_tests_name("test_policy_corun", tests, NULL, NULL);
}
