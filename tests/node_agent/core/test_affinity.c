/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whose threads are looked at in which epoch. */

#include "tests/support/unit.h"

#include "node_agent/core/affinity.h"
#include "node_agent/core/process.h"
#include "protocol/cpulist.h"

#define JOBS 3

/* What the enforcer was asked. */
static size_t scans, looks[JOBS], let_go[JOBS], parks, strays;

void __wrap_enforcer_scan(struct enforcer *e, struct job_table *jobs,
                          bool force, uint64_t now_ns);
void __wrap_enforcer_hold(struct enforcer *e, struct job *job,
                          const struct cosched_cpuset *cpus);
void __wrap_enforcer_let_go(struct enforcer *e, struct job *job);
size_t __wrap_enforcer_move_strays(struct enforcer *e, struct job *job,
                                   const struct cosched_cpuset *cpus);
void __wrap_enforcer_park(struct enforcer *e, struct job *job);

void __wrap_enforcer_scan(struct enforcer *e, struct job_table *jobs,
                          bool force, uint64_t now_ns)
{
    (void)e;
    (void)jobs;
    (void)force;
    (void)now_ns;
    scans++;
}

void __wrap_enforcer_hold(struct enforcer *e, struct job *job,
                          const struct cosched_cpuset *cpus)
{
    (void)e;
    assert_true(cpuset_equal(cpus, &job->cpus));
    looks[job->id]++;
}

void __wrap_enforcer_let_go(struct enforcer *e, struct job *job)
{
    (void)e;
    let_go[job->id]++;
}

size_t __wrap_enforcer_move_strays(struct enforcer *e, struct job *job,
                                   const struct cosched_cpuset *cpus)
{
    (void)e;
    (void)job;
    (void)cpus;
    return strays;
}

void __wrap_enforcer_park(struct enforcer *e, struct job *job)
{
    (void)e;
    (void)job;
    parks++;
}

struct stage {
    struct job_table table;
    struct job job[JOBS];
    struct process process[JOBS];
    uint64_t turn;
};

static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    for (size_t i = 0; i < JOBS; i++) {
        struct job *j = &s->job[i];
        j->id = (uint32_t)i;
        j->processes = &s->process[i];
        j->cooperative = true;
        j->unsettled = true;
        cpuset_add(&j->cpus, (int)i);
        j->next = i + 1 < JOBS ? j + 1 : NULL;
    }
    s->table = (struct job_table){.first = s->job, .count = JOBS};
    scans = parks = strays = 0;
    memset(looks, 0, sizeof(looks));
    memset(let_go, 0, sizeof(let_go));
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void epochs(struct stage *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        affinity_epoch(&s->turn, NULL, &s->table, 0);
}

/* Each at once, one in an epoch; then ever less often. */
static void test_pauses(void **state)
{
    struct stage *s = *state;

    epochs(s, JOBS);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(looks[i], 1);
    assert_int_equal(scans, JOBS);
    epochs(s, 40);
    memset(looks, 0, sizeof(looks));
    epochs(s, 10 * AFFINITY_PAUSE);
    for (size_t i = 0; i < JOBS; i++)
        assert_in_range(looks[i], 9, 11);
}

/* News shortens the pause, of the job concerned only; so do strays. */
static void test_news(void **state)
{
    struct stage *s = *state;

    epochs(s, 100);
    memset(looks, 0, sizeof(looks));
    s->job[1].unsettled = true;
    epochs(s, 2);
    assert_int_equal(looks[1], 1);
    assert_false(s->job[1].unsettled);
    epochs(s, 40);
    strays = 1;
    memset(looks, 0, sizeof(looks));
    epochs(s, 120);
    for (size_t i = 0; i < JOBS; i++)
        assert_in_range(looks[i], 30, 45); /* every third epoch */
}

/* A job that always has news does not keep the others from their turns. */
static void test_fair(void **state)
{
    struct stage *s = *state;

    for (size_t i = 0; i < 300; i++) {
        s->job[0].unsettled = s->job[1].unsettled = true;
        epochs(s, 1);
    }
    assert_in_range(looks[0], 100, 150);
    assert_in_range(looks[1], 100, 150);
    assert_in_range(looks[2], 300 / AFFINITY_PAUSE, 100);
}

/* Held processes are looked at more often; parked ones are stopped again. */
static void test_held(void **state)
{
    struct stage *s = *state;
    struct tracked held = {.held = true};

    s->job[0].tracked = &held;
    s->job[1].parked = true;
    epochs(s, 100);
    memset(looks, 0, sizeof(looks));
    parks = 0;
    epochs(s, 10 * AFFINITY_PAUSE);
    assert_in_range(looks[0], 10 * AFFINITY_PAUSE / AFFINITY_PAUSE_HELD - 3,
                    10 * AFFINITY_PAUSE / AFFINITY_PAUSE_HELD);
    assert_int_equal(looks[1], 0);
    assert_in_range(parks, 9, 11);
    held.dead = true;
    epochs(s, 20);
    memset(looks, 0, sizeof(looks));
    epochs(s, 10 * AFFINITY_PAUSE);
    assert_in_range(looks[0], 9, 11);
    s->job[0].tracked = NULL;
}

/* Nobody lives: not even /proc is looked at.  What jobs use that nobody keeps is
 * still seen. */
static void test_nobody(void **state)
{
    struct stage *s = *state;

    for (size_t i = 0; i < JOBS; i++) {
        s->job[i].cooperative = false;
        s->job[i].processes = NULL;
    }
    epochs(s, 10);
    assert_int_equal(scans, 0);
    s->job[2].processes = &s->process[2];
    epochs(s, 10);
    assert_int_equal(scans, 10);
    assert_int_equal(looks[2], 0);
    s->job[2].doing = JOB_PINNED;
    epochs(s, 1);
    assert_int_equal(scans, 11);
    assert_int_equal(looks[2], 1);
    s->job[2].processes = NULL;
    epochs(s, 10);
    assert_int_equal(scans, 11);
}

/* A unpinned job is not held, but let go: by this agent if it held it, or for the
 * one before. */
static void test_unpinned(void **state)
{
    struct stage *s = *state;
    struct job *j = &s->job[0];

    j->cooperative = j->unsettled = false;
    j->unpinned = true;
    epochs(s, 10);
    assert_int_equal(looks[0] + let_go[0], 0);
    j->held = j->unsettled = true;
    epochs(s, 1);
    assert_int_equal(let_go[0], 1);
    j->held = false;
    j->narrowed = j->unsettled = true;
    epochs(s, 1);
    assert_int_equal(let_go[0], 2);
    assert_int_equal(looks[0], 0);
    j->unpinned = false;
    j->doing = JOB_PINNED;
    j->unsettled = true;
    epochs(s, 1);
    assert_int_equal(let_go[0], 2);
    assert_int_equal(looks[0], 1);
}

UNIT(test_affinity)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pauses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_news, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fair, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unpinned, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_affinity", tests, NULL, NULL);
}
