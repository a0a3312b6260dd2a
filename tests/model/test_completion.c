/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What jobs have a right to while nobody knows how long they take. */

#include "model/policy/search/divide.h"
#include "model/policy/search/completion.h"
#include "model/policy/search/predict.h"
#include "model/policy/search/workspace.h"
#include "tests/model/mix.h"

#define NODES 4
#define CORES 8
#define LOSS 0.1
#define REGRET 0.02

struct view {
    struct mix mix;
    struct policy_workspace *ws;
    struct policy_input input; /* as a policy sees it */
    struct completion completion;
    size_t layout[NODES * MAX_JOBS];
};

static void view_init(struct view *v, size_t jobs)
{
    mix_init(&v->mix, NODES, CORES, jobs);
    v->ws = policy_workspace_new(v->mix.machine, jobs);
    assert_non_null(v->ws);
    v->mix.input.workspace = v->ws;
}

static void view_free(struct view *v)
{
    policy_workspace_free(v->ws);
    mix_free(&v->mix);
}

/* Floors for the equal shares CORES. */
static void look(struct view *v, const size_t *cores)
{
    int owner[MAX_CPUS];

    decided("equal", &v->mix, owner); /* counts the pool, fits the bounds */
    v->input = v->mix.input;
    v->input.jobs = v->ws->jobs;
    assert_true(predict_begin(&v->input));
    completion_begin(&v->completion, &v->input, false);
    completion_floor(&v->completion, cores, LOSS, REGRET, v->layout);
}

/* What is minimised for CORES, over the time itself: 1 where nothing is wrong. */
static double blame(struct view *v, const size_t *cores)
{
    double fair[MAX_JOBS] = {0};
    double time = completion_time(&v->completion, cores);
    return completion_cost(&v->completion, fair) / time;
}

/* Give CPU after CPU to the jobs in turn, so that all are scattered. */
static void scatter(struct mix *mix)
{
    for (size_t cpu = 0; cpu < NODES * CORES; cpu++)
        mix->owner[cpu] = (int)(cpu % mix->input.job_count);
}

/* Equal shares are worth what they are where they lie well, wherever the jobs are
 * now: who is scattered has no right to less. */
static void test_floor_is_everywhere(void **state)
{
    static const size_t cores[] = {16, 16};
    double before[2];

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct view v;
        view_init(&v, 2);
        for (size_t j = 0; j < 2; j++) {
            set_rho(&v.mix, j, 0.3);
            v.mix.profile[j]->llc_per_us = 20;
        }
        if (round)
            scatter(&v.mix);
        look(&v, cores);
        for (size_t j = 0; j < 2; j++) {
            if (round)
                assert_true(fabs(v.completion.floor[j] - before[j]) <
                            1e-3 * before[j]);
            before[j] = v.completion.floor[j];
        }
        view_free(&v);
    }
}

/* Serial jobs and jobs at their maximum leave their parts to the others. */
static void test_shares_of_those_who_can_use_them(void **state)
{
    static const size_t cores[] = {27, 4, 1};
    struct view v;

    (void)state;
    view_init(&v, 3);
    v.mix.jobs[1].max_cores = 4;
    v.mix.jobs[1].weight = 4;
    v.mix.jobs[2].kind = REGION_SERIAL;
    v.mix.jobs[2].weight = 4;
    look(&v, cores);
    assert_true(v.completion.equal[0] > 26.9);
    assert_true(v.completion.equal[1] > 3.9);
    view_free(&v);
}

/* Who has one core more than others by chance has no right to it. */
static void test_shares_are_even(void **state)
{
    static const size_t cores[] = {11, 11, 10};
    struct view v;

    (void)state;
    view_init(&v, 3);
    look(&v, cores);
    for (size_t j = 0; j < 3; j++)
        assert_true(v.completion.equal[j] <= NODES * CORES / 3.0 + 1e-9 &&
                    v.completion.equal[j] >= 9.9);
    view_free(&v);
}

/* A job that may have few cores is as slow as its neighbours make it while they
 * run: with the last of the cores that it may have it is not as fast as alone, and
 * does not catch up. */
static void test_few_cores_are_kept(void **state)
{
    static const size_t equal[] = {8, 12, 12}, less[] = {5, 18, 9};
    struct view v;

    (void)state;
    view_init(&v, 3);
    v.mix.jobs[0].max_cores = 8;
    for (size_t j = 0; j < 3; j++)
        set_rho(&v.mix, j, 0.4);
    look(&v, equal);
    v.completion.regret = REGRET;
    for (size_t j = 0; j < 3; j++)
        v.completion.floor[j] = 0; /* that is another bound */
    assert_true(v.completion.alone[0] > 1.1 * v.completion.equal[0]);
    double fine = blame(&v, equal), bad = blame(&v, less);
    if (!(fine < 1.01 && bad > 1.05))
        fail_msg("%g with all that it may have, %g with less", fine, bad);
    view_free(&v);
}

UNIT(test_completion)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floor_is_everywhere),
        cmocka_unit_test(test_shares_of_those_who_can_use_them),
        cmocka_unit_test(test_shares_are_even),
        cmocka_unit_test(test_few_cores_are_kept),
    };

    return cmocka_run_group_tests_name("test_completion", tests, NULL, NULL);
}
