/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* /proc's stat lines, and the process that runs the test. */

#include "tests/node_agent/unit.h"

#include "node_agent/proc.h"

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
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct proc_stat s;
        assert_int_equal(proc_parse(bad[i], &s), -1);
    }
}

static void test_self(void **state)
{
    struct proc_stat self, *all;
    pid_t *tids;
    bool seen = false;

    (void)state;
    assert_int_equal(proc_read(getpid(), &self), 0);
    assert_int_equal(self.parent, getppid());
    assert_true(self.start > 0);
    ssize_t n = proc_scan(&all);
    for (ssize_t i = 0; i < n; i++)
        seen |= all[i].pid == getpid() && all[i].start == self.start;
    assert_true(seen);
    free(all);
    assert_int_equal(proc_threads(getpid(), &tids), 1);
    assert_int_equal(tids[0], getpid());
    free(tids);
    assert_int_equal(proc_read(INT32_MAX, &self), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(proc_threads(INT32_MAX, &tids), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_self),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
