/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Parking and continuing, beside others who stop and continue, and when calls
 * fail. */

#include "tests/support/unit.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/enforce/stopper.h"
#include "tests/node_agent/enforce/victims.h"
#include "tests/support/callpoints.h"

#define OTHER_UID 65534

struct stage {
    struct job_table table;
    struct job *job;
    struct node_options options;
    struct enforcer *enforcer;
    pid_t pid;
};

static int set_up_for(void **state, uid_t uid)
{
    struct stage *s = calloc(1, sizeof(*s));

    s->enforcer = enforcer_new(NULL, &s->options);
    s->job = job_add(&s->table, 7);
    s->job->uid = uid;
    s->pid = victim_start(uid);
    assert_non_null(job_add_task(s->job, 0, s->pid));
    enforcer_scan(s->enforcer, &s->table, true, clock_ns());
    *state = s;
    return 0;
}

static int set_up(void **state)
{
    return set_up_for(state, getuid());
}

static int tear_down(void **state)
{
    struct stage *s = *state;

    enforcer_release(s->enforcer, s->job);
    victim_end(s->pid);
    while (s->job->tasks)
        job_remove_task(s->job->tasks);
    job_remove(&s->table, s->job);
    enforcer_free(s->enforcer);
    free(s);
    return 0;
}

static void park(struct stage *s)
{
    enforcer_park(s->enforcer, s->job);
    victim_await(s->pid, true);
}

/* What the user or Slurm has stopped before stays so after a turn. */
static void test_stopped_before(void **state)
{
    struct stage *s = *state;

    kill(s->pid, SIGSTOP);
    victim_await(s->pid, true);
    enforcer_park(s->enforcer, s->job);
    enforcer_unpark(s->enforcer, s->job);
    assert_true(victim_stopped(s->pid));
    kill(s->pid, SIGCONT);
    victim_await(s->pid, false);
}

/* What is stopped while it waits for its turn is not continued by getting it,
 * and is continued by whoever stopped it. */
static void test_stopped_meanwhile(void **state)
{
    struct stage *s = *state;

    park(s);
    kill(s->pid, SIGSTOP);
    enforcer_unpark(s->enforcer, s->job);
    assert_true(victim_stopped(s->pid));
    park(s);
    enforcer_unpark(s->enforcer, s->job);
    assert_true(victim_stopped(s->pid));
    kill(s->pid, SIGCONT);
    victim_await(s->pid, false);
    park(s);
    enforcer_unpark(s->enforcer, s->job);
    victim_await(s->pid, false);
}

/* A job that is over has let go of all that the agent had stopped, and of that
 * only. */
static void test_over(void **state)
{
    struct stage *s = *state;

    park(s);
    enforcer_release(s->enforcer, s->job);
    victim_await(s->pid, false);
    enforcer_scan(s->enforcer, &s->table, true, clock_ns());
    park(s);
    kill(s->pid, SIGSTOP);
    enforcer_release(s->enforcer, s->job);
    assert_true(victim_stopped(s->pid));
}

/* Who continues himself by SIGCONT is stopped again, however often; and is
 * continued at his turn, though SIGSTOPs of the agent may be pending. */
static void test_continued_by_another(void **state)
{
    struct stage *s = *state;

    park(s);
    for (int i = 0; i < 20; i++) {
        kill(s->pid, SIGCONT);
        victim_await(s->pid, false);
        for (int look = 0; look < 5; look++)
            enforcer_look(s->enforcer);
        victim_await(s->pid, true);
    }
    enforcer_unpark(s->enforcer, s->job);
    victim_await(s->pid, false);
    for (int i = 0; i < 5; i++)
        enforcer_look(s->enforcer);
    assert_false(victim_stopped(s->pid));
}

/* With no descriptor left, what is stopped can be continued, and nothing more
 * is stopped. */
static void test_no_descriptors(void **state)
{
    struct stage *s = *state;
    struct rlimit limit, none;

    park(s);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    enforcer_unpark(s->enforcer, s->job);
    enforcer_park(s->enforcer, s->job);
    setrlimit(RLIMIT_NOFILE, &limit);
    victim_await(s->pid, false);
}

/* One that has ended while stopped is nobody's any more, nor is its number. */
static void test_ended(void **state)
{
    struct stage *s = *state;
    struct stopper *stopper = stopper_new(NULL);
    struct proc_stat stat;
    pid_t pid = victim_start(getuid());
    size_t work = SIZE_MAX;

    (void)s;
    assert_int_equal(proc_read(pid, &stat), 0);
    assert_int_equal(stopper_stop(stopper, 7, pid, stat.start + 1), 0);
    assert_int_equal(stopper_stop(stopper, 7, pid, stat.start), 1);
    assert_int_equal(stopper_count(stopper), 1);
    victim_end(pid);
    stopper_look(stopper, &work);
    assert_int_equal(stopper_count(stopper), 0);
    assert_int_equal(stopper_stop(stopper, 7, pid, stat.start), 0);
    stopper_free(stopper);
}

/* ---- counted work ----------------------------------------------------------
 */

struct many {
    size_t count;
    pid_t *pid;
    uint64_t *start;
    struct callpoint at;
};

/* Stop and continue all, as two turns do, and look in between. */
static void stop_many(void *arg)
{
    const struct many *m = arg;
    struct supervisor *supervisor = supervisor_new();
    struct stopper *stopper = stopper_new(supervisor);
    struct errtext err;
    size_t work = SIZE_MAX;

    if (supervisor_start(supervisor, NULL, &err) < 0)
        _exit(1);
    callpoints_begin();
    for (size_t i = 0; i < m->count; i++)
        if (stopper_stop(stopper, 7, m->pid[i], m->start[i]) != 1)
            _exit(2);
    stopper_look(stopper, &work);
    stopper_continue(stopper, 7, &work);
    callpoints_end();
    if (stopper_count(stopper))
        _exit(3);
    stopper_free(stopper);
    supervisor_free(supervisor);
}

static unsigned calls_for(struct many *m, size_t count)
{
    struct callpoint at = {.call = CALLPOINT_ANY};
    struct callpoints_result result;
    unsigned calls = 0;

    m->count = count;
    assert_int_equal(callpoints_run(stop_many, m, &at, &result), 0);
    assert_int_equal(result.status, 0);
    for (size_t i = 0; i < CALLPOINT_KINDS; i++)
        calls += result.calls[i];
    return calls;
}

/* The calls of stopping and continuing so many processes grow as their number,
 * and none of them waits for the supervisor. */
static void test_many(void **state)
{
    pid_t pid[400];
    uint64_t start[400];
    struct many m = {.pid = pid, .start = start};

    (void)state;
    if (!callpoints_supported())
        skip();
    for (size_t i = 0; i < 400; i++) {
        struct proc_stat stat;
        pid[i] = victim_start(getuid());
        assert_int_equal(proc_read(pid[i], &stat), 0);
        start[i] = stat.start;
    }
    unsigned few = calls_for(&m, 100), more = calls_for(&m, 400);
    assert_true(few >= 100 * 2);
    assert_true(more <= 4 * few);
    for (size_t i = 0; i < 400; i++) {
        victim_await(pid[i], false);
        victim_end(pid[i]);
    }
}

/* ---- other users
 * ------------------------------------------------------------- */

static int set_up_other(void **state)
{
    return set_up_for(state, getuid() ? getuid() : OTHER_UID);
}

/* All of it with processes of another user, who has rights over them, too. */
static void test_other_user(void **state)
{
    test_stopped_before(state);
    test_stopped_meanwhile(state);
    test_continued_by_another(state);
    test_no_descriptors(state);
}

UNIT(test_stopping)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_stopped_before),
        TEST(test_stopped_meanwhile),
        TEST(test_over),
        TEST(test_continued_by_another),
        TEST(test_no_descriptors),
        TEST(test_ended),
        cmocka_unit_test(test_many),
        cmocka_unit_test_setup_teardown(test_other_user, set_up_other,
                                        tear_down),
    };
#undef TEST

    return cmocka_run_group_tests_name("test_stopping", tests, NULL, NULL);
}
