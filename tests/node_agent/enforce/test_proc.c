/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* /proc's stat lines, and the process that runs the test. */

#include "tests/support/unit.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/syscalls.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/proc_table.h"

#define REST " 1 2 3 0 -1 4194304 1 2 3 4 50 7 8 9 20 0 1 0 777 10 20"

static void test_parse(void **state)
{
    static const struct {
        const char *text, *comm;
    } good[] = {
        {"42 (cat) S" REST, "cat"},
        {"42 (a b) S" REST, "a b"},
        {"42 (x) R 9 (y)) S" REST, "x) R 9 (y)"},
        {"42 ()) S" REST, ")"},
        {"42 (a\nb) S" REST, "a\nb"},
        {"42 (0123456789abcdefghi) S" REST, "0123456789abcde"},
    };
    static const char *const bad[] = {
        "", "42", "42 (cat", "42 cat) S" REST, "42 (cat) S 1 2", "x (cat) S" REST,
        "42 (cat)", "42 (cat) ", "42 (cat) S 1 2 x" REST,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct proc_stat s;
        assert_int_equal(proc_parse(good[i].text, &s), 0);
        assert_int_equal(s.pid, 42);
        assert_string_equal(s.comm, good[i].comm);
        assert_int_equal(s.state, 'S');
        assert_int_equal(s.parent, 1);
        assert_int_equal(s.group, 2);
        assert_int_equal(s.session, 3);
        assert_int_equal(s.ticks, 57);
        assert_int_equal(s.start, 777);
        assert_false(s.forked || s.exiting);
    }
    struct proc_stat other;
    assert_int_equal(proc_parse("1 (a) S 1 2 3 0 -1 68 1 2 3 4 5 6 7 8 9 10 11 "
                                "12 13 14", &other), 0);
    assert_true(other.forked && other.exiting);
    assert_int_equal(other.ticks, 11);
    assert_int_equal(other.start, 13);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct proc_stat s;
        assert_int_equal(proc_parse(bad[i], &s), -1);
    }
}

static void test_self(void **state)
{
    struct proc_stat self;
    pid_t *tids;

    (void)state;
    assert_int_equal(proc_read(getpid(), &self), 0);
    assert_int_equal(self.parent, getppid());
    assert_true(self.start > 0);
    assert_int_equal(proc_threads(getpid(), &tids), 1);
    assert_int_equal(tids[0], getpid());
    free(tids);
    assert_int_equal(proc_read(INT32_MAX, &self), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(proc_threads(INT32_MAX, &tids), -1);
}

static void test_entry_number(void **state)
{
    (void)state;
    assert_int_equal(proc_entry_number("1234"), 1234);
    assert_int_equal(proc_entry_number("0"), 0);
    assert_int_equal(proc_entry_number("12x"), 0);
    assert_int_equal(proc_entry_number("-3"), 0);
    assert_int_equal(proc_entry_number("self"), 0);
    assert_int_equal(proc_entry_number(""), 0);
}

/* A process that does nothing but wait for its end; with its number if PID is
 * not 0 and that is allowed, else 0. */
static pid_t start_child(pid_t pid)
{
    struct clone_args args = {.exit_signal = SIGCHLD,
                              .set_tid = pid ? (uint64_t)(uintptr_t)&pid : 0,
                              .set_tid_size = pid ? 1 : 0};
    pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return child > 0 ? child : 0;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* What has settled is not read again, unless it is watched or it is time. */
static void test_table(void **state)
{
    const uint64_t s = UINT64_C(1000000000);
    struct proc_table t = {0};
    struct proc_entry *e;
    struct proc_stat direct;
    pid_t pid = start_child(0);

    (void)state;
    assert_true(pid > 0);
    assert_int_equal(proc_table_scan(&t, 100 * s), 0);
    assert_non_null(e = proc_table_find(&t, getpid()));
    assert_int_equal(proc_read(getpid(), &direct), 0);
    assert_int_equal(e->stat.start, direct.start);
    assert_non_null(e = proc_table_find(&t, pid));
    assert_int_equal(e->stat.parent, getpid());
    for (size_t i = 1; i < t.count; i++)
        assert_true(t.entry[i - 1].stat.pid < t.entry[i].stat.pid);
    assert_int_equal(t.reads >= t.count, 1);

    assert_int_equal(proc_table_scan(&t, 100 * s + s / 2), 0);
    assert_non_null(e = proc_table_find(&t, pid));
    assert_int_equal(e->read_ns, 100 * s + s / 2); /* young */
    assert_int_equal(proc_table_scan(&t, 102 * s), 0);
    assert_non_null(e = proc_table_find(&t, pid));
    assert_int_equal(e->read_ns, 100 * s + s / 2);
    assert_int_equal(e->stat.parent, getpid());
    proc_table_watch(&t, e, true);
    assert_int_equal(proc_table_scan(&t, 103 * s), 0);
    assert_non_null(e = proc_table_find(&t, pid));
    assert_int_equal(e->read_ns, 103 * s);
    assert_true(e->watched);
    proc_table_watch(&t, e, false);
    assert_int_equal(proc_table_scan(&t, 104 * s), 0);
    assert_non_null(e = proc_table_find(&t, pid));
    assert_int_equal(e->read_ns, 103 * s);
    assert_int_equal(proc_table_scan(&t, 113 * s), 0);
    assert_non_null(e = proc_table_find(&t, pid));
    assert_int_equal(e->read_ns, 113 * s); /* it was time */
    assert_int_equal(e->seen_ns, 100 * s);

    end_child(pid);
    assert_int_equal(proc_table_scan(&t, 119 * s), 0);
    assert_null(proc_table_find(&t, pid));
    proc_table_clear(&t);
    assert_null(proc_table_find(&t, pid));
}

/* While no process begins, /proc is not listed again; the first one that does is
 * found, and one that is watched and ends is missed. */
static void test_list(void **state)
{
    const uint64_t s = UINT64_C(1000000000);
    struct proc_table t = {0};
    struct proc_entry *e;
    pid_t pid = start_child(0);
    bool spared = false;

    (void)state;
    /* Others may start processes meanwhile, but not for ever. */
    for (int i = 0; i < 1000 && !spared; i++) {
        assert_int_equal(proc_table_scan(&t, 100 * s), 0);
        size_t lists = t.lists;
        assert_int_equal(proc_table_scan(&t, 100 * s), 0);
        spared = t.lists == lists;
    }
    assert_true(spared);
    assert_non_null(e = proc_table_find(&t, pid));
    proc_table_watch(&t, e, true);
    pid_t more = start_child(0);
    assert_int_equal(proc_table_scan(&t, 100 * s), 0);
    assert_non_null(proc_table_find(&t, more));
    end_child(pid);
    assert_int_equal(proc_table_scan(&t, 100 * s), 0);
    assert_null(proc_table_find(&t, pid));
    end_child(more);
    /* In time it is, whether or not. */
    size_t lists = t.lists;
    assert_int_equal(proc_table_scan(&t, 106 * s), 0);
    assert_int_equal(t.lists, lists + 1);
    proc_table_clear(&t);
}

static void *wait_on(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return arg;
}

/* What is new is found by its number: a process, not a thread. */
static void test_looked_up(void **state)
{
    const uint64_t s = UINT64_C(1000000000);
    struct proc_table t = {0};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    bool spared = false;

    (void)state;
    pthread_mutex_lock(&mutex);
    assert_int_equal(pthread_create(&thread, NULL, wait_on, &mutex), 0);
    assert_int_equal(proc_table_scan(&t, 100 * s), 0);
    /* Others may start many processes meanwhile, but not for ever. */
    for (int i = 0; i < 1000 && !spared; i++) {
        size_t lists = t.lists, changes = t.changes;
        pid_t pid = start_child(0);
        assert_int_equal(proc_table_scan(&t, 100 * s), 0);
        const struct proc_entry *e = proc_table_find(&t, pid);
        assert_non_null(e);
        assert_int_equal(e->stat.parent, getpid());
        assert_true(t.changes > changes);
        spared = t.lists == lists;
        end_child(pid);
    }
    assert_true(spared);
    for (size_t i = 1; i < t.count; i++)
        assert_true(t.entry[i - 1].stat.pid < t.entry[i].stat.pid);
    pid_t *tids;
    assert_int_equal(proc_threads(getpid(), &tids), 2);
    assert_non_null(proc_table_find(&t, tids[0]));
    assert_null(proc_table_find(&t, tids[1]));
    free(tids);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    proc_table_clear(&t);
}

/* A number that is used again is another process. */
static void test_reused(void **state)
{
    const uint64_t s = UINT64_C(1000000000);
    struct proc_table t = {0};
    struct proc_entry *e;
    pid_t pid = start_child(0);

    (void)state;
    assert_int_equal(proc_table_scan(&t, 100 * s), 0);
    assert_int_equal(proc_table_scan(&t, 102 * s), 0);
    assert_non_null(e = proc_table_find(&t, pid));
    proc_table_watch(&t, e, true);
    uint64_t start = e->stat.start;
    end_child(pid);
    usleep(50000); /* another clock tick: a start time tells them apart */
    if (start_child(pid) != pid) {
        proc_table_clear(&t);
        skip(); /* not privileged, or somebody was faster */
    }
    assert_int_equal(proc_table_scan(&t, 103 * s), 0);
    assert_non_null(e = proc_table_find(&t, pid));
    assert_true(e->stat.start > start);
    assert_int_equal(e->seen_ns, 103 * s);
    assert_false(e->watched);
    /* Also when nobody watched: by the inode. */
    assert_int_equal(proc_table_scan(&t, 105 * s), 0);
    end_child(pid);
    usleep(50000);
    if (start_child(pid) == pid) {
        t.last_pid = 0; /* such a choice does not count as given out last */
        assert_int_equal(proc_table_scan(&t, 106 * s), 0);
        assert_non_null(e = proc_table_find(&t, pid));
        assert_int_equal(e->seen_ns, 106 * s);
        end_child(pid);
    }
    proc_table_clear(&t);
}

UNIT(test_proc)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_entry_number),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_looked_up),
        cmocka_unit_test(test_reused),
    };

    return cmocka_run_group_tests_name("test_proc", tests, NULL, NULL);
}
