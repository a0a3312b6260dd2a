/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "moca": bounds, known answers, and how good it is by prediction. */

#include "tests/model/near.h"

#include "model/lumped.h"
#include "model/policy.h"
#include "model/system.h"

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

/* NODES CPU nodes of SIZE cores with a memory node each, links between all. */
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
                                         .kind = SECTION_PARALLEL,
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

/* All its requests go to memory node HOME, or evenly to all. */
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

static void layout_of(const struct world *w, const int *owner, size_t *layout)
{
    memset(layout, 0, w->nodes * w->in.job_count * sizeof(*layout));
    for (size_t cpu = 0; cpu < w->machine->cpus; cpu++)
        if (owner[cpu] >= 0)
            layout[cpu / w->size * w->in.job_count + (size_t)owner[cpu]]++;
}

/* Predicted utilisation of LAYOUT by the stations, and the jobs' speeds by the
 * closed network. */
static double predicted(const struct world *w, const size_t *layout,
                        double *speed)
{
    struct system_input in = {
        .machine = w->machine,
        .jobs = w->in.job_count,
        .profile = (const struct workload *const *)w->profile,
        .cores = layout,
        .method = MVA_AUTOMATIC,
    };
    struct system_result result;

    struct lumped *lumped = lumped_new(w->machine, w->in.job_count);

    assert_int_equal(system_solve(&in, &result, speed), MODEL_OK);
    lumped_prepare(lumped, in.profile, in.jobs);
    lumped_predict(lumped, layout, speed);
    lumped_free(lumped);
    return result.utilisation;
}

/* Speed of each job when it has all cores. */
static void alone(const struct world *w, double *speed)
{
    size_t layout[MAX_NODES * MAX_JOBS], jobs = w->in.job_count;
    double all[MAX_JOBS];

    for (size_t j = 0; j < jobs; j++) {
        memset(layout, 0, sizeof(layout));
        for (size_t i = 0; i < w->nodes; i++)
            layout[i * jobs + j] = w->size;
        predicted(w, layout, all);
        speed[j] = all[j];
    }
}

static double throughput(const struct world *w, const size_t *layout)
{
    double speed[MAX_JOBS], most[MAX_JOBS], sum = 0;

    alone(w, most);
    predicted(w, layout, speed);
    for (size_t j = 0; j < w->in.job_count; j++)
        sum += speed[j] / most[j];
    return sum;
}

/* True when no job is below its share of its speed alone, less a quarter. */
static bool fair(const struct world *w, const size_t *layout)
{
    double speed[MAX_JOBS], most[MAX_JOBS];

    alone(w, most);
    predicted(w, layout, speed);
    for (size_t j = 0; j < w->in.job_count; j++)
        if (speed[j] <
            0.75 * most[j] / (double)w->in.job_count * (1 - 1e-9))
            return false;
    return true;
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

/* A computes, B has rho 0.5 on one controller (DESIGN's golden pair): 12 and
 * 4 cores are 12/16 + 2.71/3.00 of what they do alone. */
static void test_golden_pair(void **state)
{
    struct world w;
    size_t layout[2];

    (void)state;
    setup(&w, 1, 16, 2);
    w.profile[1]->rate[0].mrr_per_us = w.profile[1]->rate[0].read_per_us =
        0.5 / MACHINE_DEFAULT_SERVICE_US;
    decide(&w, "moca", "goal:throughput");
    assert_int_equal(count_of(&w, 0), 12);
    layout_of(&w, w.owner, layout);
    /* Schweitzer is up to 3 % off. */
    assert_near(throughput(&w, layout), 1.65, 0.05);
    assert_non_null(strstr(w.out.reason, "job 10: 12 cores, job 11: 4 cores; "
                                         "predicted throughput 1.6"));
    /* The papers' goal: the best split of a mix of work 400 and 100. */
    decide(&w, "moca", "goal:utilisation");
    assert_int_equal(count_of(&w, 0), 11);
    teardown(&w);
}

/* Two jobs next to each other's memory change places at once. */
static void test_crossed_homes(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 4, 2);
    set_rate(&w, 0, 30, 1);
    set_rate(&w, 1, 30, 0);
    for (size_t cpu = 0; cpu < 8; cpu++)
        w.before[cpu] = (int)(cpu / 4);
    decide(&w, "moca", "");
    for (size_t cpu = 0; cpu < 8; cpu++)
        assert_int_equal(w.owner[cpu], 1 - (int)(cpu / 4));
    assert_int_equal(w.out.moved, 8);
    teardown(&w);
}

/* By the stations of two CPU nodes each has its own queue to memory: half of each
 * serves eight memory-bound cores better than all of one. */
static void test_mixes_on_a_node(void **state)
{
    struct world w;
    size_t layout[2 * 2];
    double speed[2];

    (void)state;
    setup(&w, 2, 8, 2);
    set_rate(&w, 1, 60, SIZE_MAX);
    w.jobs[1].max_cores = 8;
    decide(&w, "greedy", "");
    layout_of(&w, w.owner, layout);
    double whole = predicted(&w, layout, speed);
    decide(&w, "moca", "goal:utilisation");
    layout_of(&w, w.owner, layout);
    assert_true(predicted(&w, layout, speed) > whole);
    for (size_t c = 0; c < 4; c++)
        assert_int_equal(layout[c], 4);
    teardown(&w);
}

static void test_unknown_profile(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 4, 2);
    w.jobs[1].profile = NULL;
    for (size_t k = 0; k < 2; k++) {
        decide(&w, "moca", k ? "search:paper" : "");
        assert_int_equal(count_of(&w, 0), 4);
        assert_non_null(strstr(w.out.reason, "equal shares while the profile "
                                             "of job 11 is unknown"));
    }
    teardown(&w);
}

/* A weight of three is worth three jobs. */
static void test_weight(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 1, 12, 2);
    set_rate(&w, 0, 60, 0);
    set_rate(&w, 1, 60, 0);
    decide(&w, "moca", "goal:throughput");
    assert_in_range(count_of(&w, 0), 5, 7);
    w.jobs[0].weight = 3;
    decide(&w, "moca", "goal:throughput");
    assert_true(count_of(&w, 0) > 7);
    w.jobs[0].weight = 1;
    w.jobs[1].weight = 3;
    decide(&w, "moca", "goal:throughput");
    assert_true(count_of(&w, 1) > 7);
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
    decide(&w, "moca", "search:paper;generations:5");
    memcpy(first, w.owner, sizeof(first));
    memcpy(reason, w.out.reason, sizeof(reason));
    assert_non_null(strstr(reason, "best of 14 allocations: cores used 0."));
    for (size_t seed = 1; seed < 8; seed++) {
        char options[64];
        snprintf(options, sizeof(options),
                 "search:paper;generations:5;seed:%zu", seed);
        decide(&w, "moca", options);
        bool same = memcmp(first, w.owner, 16 * sizeof(first[0])) == 0;
        assert_true(same || seed > 1);
        assert_true(strcmp(reason, w.out.reason) == 0 || seed > 1);
        differ += !same;
    }
    assert_true(differ > 3);
    decide(&w, "moca", "search:paper;cpu_threshold:0;bw_threshold:0");
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
        decide(&w, "moca", "search:paper;hysteresis:1");
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
        job->kind = dice_range(dice, 0, 4) ? SECTION_PARALLEL : SECTION_SERIAL;
        job->min_cores = dice_range(dice, 1, 3);
        job->max_cores = dice_range(dice, job->min_cores, w->machine->cpus);
        job->weight = 0.5 + dice_unit(dice);
    }
}

/* Within bounds, nobody's cores only where all are full, the same again, and
 * with memory nothing moves the second time. */
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
        const char *options = round % 3 ? "" : "search:paper";
        decide(&w, "moca", options);
        for (size_t j = 0; j < w.in.job_count; j++) {
            bool serial = w.jobs[j].kind == SECTION_SERIAL;
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
        decide(&w, "moca", options);
        assert_memory_equal(again, w.owner, size);
        w.in.state = policy_state_new(policy_find("moca"), w.machine);
        assert_non_null(w.in.state);
        /* A search goes in steps of a part of where it began, and may make a few
         * more when asked again; then it comes to rest. */
        for (size_t n = 0; n < 3; n++) {
            decide(&w, "moca", options);
            memcpy(w.before, w.owner, size);
        }
        decide(&w, "moca", options);
        if (*options == '\0')
            assert_int_equal(w.out.moved, 0);
        policy_state_free(w.in.state);
        teardown(&w);
    }
}

/* ---- how good ---- */

static double goal_of(const struct world *w, bool utilisation,
                      const size_t *layout)
{
    double speed[MAX_JOBS];

    return utilisation ? predicted(w, layout, speed) : throughput(w, layout);
}

/* No policy that divides the node has a better prediction, by either goal;
 * where shares must be fair, none that are. */
static void test_at_least_as_good(void **state)
{
    struct dice dice = {43};
    size_t compared = 0;

    (void)state;
    for (size_t round = 0; round < 150; round++) {
        struct world w;
        size_t mine[MAX_NODES * MAX_JOBS], other[MAX_NODES * MAX_JOBS];
        bool utilisation = round % 2, just = round % 4 < 2;
        setup(&w, dice_range(&dice, 1, 8), dice_range(&dice, 4, 8),
              dice_range(&dice, 2, MAX_JOBS));
        shuffle(&w, &dice);
        const char *options = utilisation ? "goal:utilisation" : "goal:throughput";
        w.in.fairness_percent = just ? 25 : 100;
        decide(&w, "moca", options);
        layout_of(&w, w.owner, mine);
        double worth = goal_of(&w, utilisation, mine);
        for (const struct policy *const *p = policies; *p; p++) {
            decide(&w, (*p)->name, "");
            if (w.out.mode != POLICY_SPACE || !strcmp((*p)->name, "moca"))
                continue;
            layout_of(&w, w.owner, other);
            if (just && !fair(&w, other))
                continue;
            assert_true(!just || fair(&w, mine));
            double theirs = goal_of(&w, utilisation, other);
            if (theirs > worth * 1.002)
                fail_msg("round %zu: %s has %.4f, moca %.4f (%s)", round,
                         (*p)->name, theirs, worth, options);
            compared++;
        }
        teardown(&w);
    }
    assert_true(compared > 200);
}

/* All divisions of a tiny machine: near the best of them. */
static void test_exhaustive(void **state)
{
    struct dice dice = {47};
    double sum = 0, worst = 1;

    (void)state;
    for (size_t round = 0; round < 100; round++) {
        struct world w;
        size_t layout[3 * 2];
        double best = 0;
        setup(&w, 3, 4, 2);
        shuffle(&w, &dice);
        for (size_t code = 1; code + 1 < 125; code++) {
            for (size_t i = 0, rest = code; i < 3; i++, rest /= 5) {
                layout[i * 2] = rest % 5;
                layout[i * 2 + 1] = 4 - rest % 5;
            }
            best = fmax(best, throughput(&w, layout));
        }
        w.in.fairness_percent = 100;
        decide(&w, "moca", "goal:throughput");
        layout_of(&w, w.owner, layout);
        double part = throughput(&w, layout) / best;
        sum += part;
        worst = fmin(worst, part);
        teardown(&w);
    }
    assert_true(sum / 100 > 0.999);
    assert_true(worst > 0.985);
}

UNIT(test_policy_moca)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_pair),
        cmocka_unit_test(test_crossed_homes),
        cmocka_unit_test(test_mixes_on_a_node),
        cmocka_unit_test(test_unknown_profile),
        cmocka_unit_test(test_weight),
        cmocka_unit_test(test_paper),
        cmocka_unit_test(test_paper_settles),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_at_least_as_good),
        cmocka_unit_test(test_exhaustive),
    };

    return cmocka_run_group_tests_name("test_policy_moca", tests, NULL, NULL);
}
