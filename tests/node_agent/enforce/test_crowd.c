/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the enforcer does in an epoch to a job of very many processes. */

#include "tests/support/unit.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "node_agent/enforce/proc.h"
#include "tests/node_agent/enforce/enforcer_stage.h"

#define CROWD 1000
#define OVER  128 /* of the last process: it may take more than was left */

/* Tasks of the job that wait, but what else they do is up to us. */
static void start_crowd(struct stage *s, pid_t pid[CROWD], uint64_t *now_ns)
{
    struct rlimit files; /* two for each */

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    for (size_t i = 0; i < CROWD; i++) {
        if ((pid[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(s->order[1]);
            for (;;)
                pause();
        }
        assert_true(pid[i] > 0);
        assert_non_null(job_add_task(s->job, 0, pid[i]));
    }
    scan_later(s, now_ns, NS_PER_S);
    for (struct tracked *t = s->job->tracked; t; t = t->next)
        t->held = true; /* as if it had been busy */
}

static void end_crowd(struct stage *s, const pid_t pid[CROWD])
{
    for (size_t i = 0; i < CROWD; i++)
        end_task(s, pid[i]);
}

static size_t count_on(const pid_t pid[CROWD], const struct cosched_cpuset *cpus)
{
    struct cosched_cpuset mask;
    size_t count = 0;

    for (size_t i = 0; i < CROWD; i++)
        count += cpuset_get_affinity(pid[i], &mask) == 0 && cpuset_equal(&mask, cpus);
    return count;
}

/* What the next epoch does: whatever it is, it is bounded.  True when it was enough. */
static bool epoch_of(struct stage *s, void (*act)(struct stage *s, const void *arg),
                     const void *arg)
{
    size_t before = enforcer_work(s->enforcer);
    bool settled = false;

    enforcer_look(s->enforcer);
    for (int i = 0; i < 3; i++) { /* as often as there are decisions */
        s->job->unsettled = false;
        act(s, arg);
        settled |= !s->job->unsettled;
    }
    assert_true(enforcer_work(s->enforcer) - before <=
                ENFORCER_WORK + 3 * (ENFORCER_LEAST + OVER));
    return settled;
}

static void act_hold(struct stage *s, const void *cpus)
{
    enforcer_hold(s->enforcer, s->job, cpus);
}

static void act_let_go(struct stage *s, const void *arg)
{
    (void)arg;
    enforcer_let_go(s->enforcer, s->job);
}

/* A thousand processes are held, and let go, as their turn comes: those that undo it again and
 * again cost no epoch more, and keep none from being held. */
static void test_crowd(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset one;
    pid_t pid[CROWD];
    int epochs = 0;

    if (!choose_cpus(s, &one))
        skip();
    start_crowd(s, pid, &now_ns);
    do {
        assert_true(++epochs < 30);
        epoch_of(s, act_hold, &one);
    } while (s->job->unsettled);
    assert_true(epochs > 1);
    assert_int_equal(count_on(pid, &one), CROWD);
    /* The first half undoes it: the last ones of the others are held all the same. */
    assert_int_equal(cpuset_set_affinity(pid[0], &s->job->granted), 0);
    assert_int_equal(cpuset_set_affinity(pid[CROWD - 1], &s->job->granted), 0);
    for (int i = 0; i < 2 * epochs; i++) {
        for (size_t k = 1; k < CROWD - 1; k++)
            assert_int_equal(cpuset_set_affinity(pid[k], &s->job->granted), 0);
        epoch_of(s, act_hold, &one);
    }
    const pid_t ends[CROWD] = {pid[0], pid[CROWD - 1]};
    assert_int_equal(count_on(ends, &one), 2);
    s->job->unpinned = true;
    for (int i = 0; i == 0 || s->job->unsettled; i++) {
        assert_true(i < 30);
        epoch_of(s, act_let_go, NULL);
    }
    assert_int_equal(count_on(pid, &s->job->granted), CROWD);
    end_crowd(s, pid);
}

static void act_park(struct stage *s, const void *arg)
{
    (void)arg;
    enforcer_park(s->enforcer, s->job);
}

static void act_nothing(struct stage *s, const void *arg)
{
    (void)s;
    (void)arg;
}

static void act_unpark(struct stage *s, const void *arg)
{
    (void)arg;
    enforcer_unpark(s->enforcer, s->job);
}

static size_t count_stopped(const pid_t pid[CROWD])
{
    struct proc_stat stat;
    size_t count = 0;

    for (size_t i = 0; i < CROWD; i++)
        count += proc_read(pid[i], &stat) == 0 && stat.state == 'T';
    return count;
}

/* They are stopped in their turn, and all of them; so they are continued, unless their job is to
 * stop again before, and also when it is over. */
static void test_crowd_stopped(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    pid_t pid[CROWD];
    int epochs = 0;

    start_crowd(s, pid, &now_ns);
    do
        assert_true(++epochs < 100);
    while (!epoch_of(s, act_park, NULL));
    assert_true(epochs > 1);
    while (count_stopped(pid) < CROWD)
        usleep(1000);
    epoch_of(s, act_unpark, NULL);
    assert_true(enforcer_owes(s->enforcer, s->job) && enforcer_owes(s->enforcer, NULL));
    for (epochs = 0; !epoch_of(s, act_park, NULL); epochs++)
        assert_true(epochs < 100);
    assert_false(enforcer_owes(s->enforcer, NULL));
    while (count_stopped(pid) < CROWD)
        usleep(1000);
    enforcer_release(s->enforcer, s->job);
    for (epochs = 0; enforcer_owes(s->enforcer, NULL); epochs++)
        epoch_of(s, act_nothing, NULL);
    assert_in_range(epochs, 2, 30);
    while (count_stopped(pid))
        usleep(1000);
    end_crowd(s, pid);
}

static void act_scan(struct stage *s, const void *now_ns)
{
    enforcer_scan(s->enforcer, &s->table, false, *(const uint64_t *)now_ns);
}

/* Scan; how many epochs that took. */
static int scan_epochs(struct stage *s, uint64_t now_ns)
{
    int epochs = 0;

    enforcer_expect(s->enforcer, now_ns);
    do {
        assert_true(++epochs < 100);
        epoch_of(s, act_scan, &now_ns);
    } while (enforcer_scans(s->enforcer));
    return epochs;
}

/* They are found, and looked at again, within the work of some epochs. */
static void test_crowd_found(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    pid_t pid[CROWD];

    start_crowd(s, pid, &now_ns);
    tracked_clear(s->job);
    enforcer_free(s->enforcer);
    s->enforcer = enforcer_new(NULL, &s->options);
    assert_true(scan_epochs(s, now_ns) > 1); /* by a list */
    assert_in_range(s->job->tracked_by_pid.count, CROWD + 1, CROWD + 2);
    assert_true(scan_epochs(s, now_ns + NS_PER_S / 10) > 1);
    end_crowd(s, pid);
    scan_epochs(s, now_ns + NS_PER_S / 5);
    assert_in_range(s->job->tracked_by_pid.count, 1, 2);
}

UNIT(test_crowd)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_crowd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_crowd_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_crowd_found, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_crowd", tests, NULL, NULL);
}
