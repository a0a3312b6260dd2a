/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* When the enforcer looks for processes, and which it finds. */

#include "tests/node_agent/unit.h"

#include <signal.h>
#include <sys/wait.h>

#include "node_agent/enforcer.h"

#define NOW_NS UINT64_C(1000000000000)

/* A task that starts a program when it is told to. */
struct stage {
    pid_t task;
    int order[2], answer[2];
    struct job_table table;
    struct job *job;
    struct node_options options;
    struct enforcer *enforcer;
};

static void be_the_task(const struct stage *s)
{
    char c;

    if (read(s->order[0], &c, 1) == 1) {
        pid_t program = fork();
        if (program == 0) {
            pause();
            _exit(0);
        }
        if (write(s->answer[1], &program, sizeof(program)) < 0)
            _exit(1);
        (void)!read(s->order[0], &c, 1); /* until the end of the test */
        kill(program, SIGKILL);
    }
    _exit(0);
}

static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    assert_int_equal(pipe(s->order), 0);
    assert_int_equal(pipe(s->answer), 0);
    s->task = fork();
    if (s->task == 0) {
        close(s->order[1]);
        be_the_task(s);
    }
    close(s->order[0]);
    s->enforcer = enforcer_new(NULL, &s->options);
    s->job = job_add(&s->table, 7);
    assert_non_null(job_add_task(s->job, 0, s->task));
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;

    close(s->order[1]);
    waitpid(s->task, NULL, 0);
    close(s->answer[0]);
    close(s->answer[1]);
    enforcer_release(s->enforcer, s->job);
    while (s->job->tasks)
        job_remove_task(s->job->tasks);
    job_remove(&s->table, s->job);
    enforcer_free(s->enforcer);
    free(s);
    return 0;
}

static pid_t start_program(struct stage *s)
{
    pid_t program;

    assert_int_equal(write(s->order[1], "g", 1), 1);
    assert_int_equal(read(s->answer[0], &program, sizeof(program)),
                     sizeof(program));
    return program;
}

static bool found(const struct stage *s, pid_t pid)
{
    for (const struct tracked *t = s->job->tracked; t; t = t->next)
        if (t->pid == pid && !t->dead)
            return true;
    return false;
}

/* What has just been looked for is not looked for again, unless a task has
 * begun. */
static void test_scan_is_due(void **state)
{
    struct stage *s = *state;

    enforcer_scan(s->enforcer, &s->table, false, NOW_NS);
    assert_true(found(s, s->task));
    pid_t program = start_program(s);
    enforcer_scan(s->enforcer, &s->table, false, NOW_NS);
    assert_false(found(s, program));
    enforcer_expect(s->enforcer, NOW_NS);
    enforcer_scan(s->enforcer, &s->table, false, NOW_NS);
    assert_true(found(s, program));
}

/* However long a scan was kept from the CPU, its pause is for what it cost: a
 * second of CPU time is never spent by one. */
static void test_scan_comes_again(void **state)
{
    struct stage *s = *state;

    enforcer_scan(s->enforcer, &s->table, false, NOW_NS);
    pid_t program = start_program(s);
    uint64_t longest_ns = (uint64_t)(1e9 / SCAN_SHARE_QUIET);
    enforcer_scan(s->enforcer, &s->table, false, NOW_NS + longest_ns);
    assert_true(found(s, program));
}

static void test_forced(void **state)
{
    struct stage *s = *state;

    enforcer_scan(s->enforcer, &s->table, false, NOW_NS);
    pid_t program = start_program(s);
    enforcer_scan(s->enforcer, &s->table, true, NOW_NS);
    assert_true(found(s, program));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scan_is_due, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scan_comes_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_forced, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
