/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The log does not wait for its reader. */

#include "tests/protocol/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "common/log.h"

#define LINES 5000

/* Log LINES lines to an END that nobody reads, then read the OTHER until a line of
 * afterwards has come. */
static void check_lost(int end, int other)
{
    int err = dup(STDERR_FILENO);
    static char text[1 << 20];
    size_t used = 0;

    assert_true(dup2(end, STDERR_FILENO) >= 0);
    close(end);
    log_open(LOG_INFO, false);
    alarm(60); /* a log that waits ends the test */
    for (int i = 0; i < LINES; i++)
        log_info("line %d of a log that nobody reads, long enough to fill it", i);
    assert_int_equal(fcntl(other, F_SETFL, O_NONBLOCK), 0);
    for (ssize_t n; (n = read(other, text, sizeof(text))) > 0;)
        used = (size_t)n;
    log_info("again");
    for (ssize_t n; (n = read(other, text, sizeof(text) - 1)) > 0;)
        used = (size_t)n;
    alarm(0);
    dup2(err, STDERR_FILENO);
    close(err);
    close(other);
    text[used] = '\0';
    assert_non_null(strstr(text, " lines of the log were lost: nobody read it\n"));
    assert_non_null(strstr(text, "coschedd: again\n"));
    assert_null(strstr(text, "coschedd: again\ncoschedd: again"));
}

static void test_pipe(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    check_lost(ends[1], ends[0]);
}

/* As the journal's is. */
static void test_socket(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    check_lost(ends[1], ends[0]);
}

/* Its reader has gone: no signal, no end. */
static void test_gone(void **state)
{
    int ends[2], err = dup(STDERR_FILENO);

    (void)state;
    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    close(ends[0]);
    log_info("nobody");
    dup2(err, STDERR_FILENO);
    close(err);
    signal(SIGPIPE, SIG_DFL);
}

UNIT(test_log)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_socket),
        cmocka_unit_test(test_gone),
    };

    return cmocka_run_group_tests_name("test_log", tests, NULL, NULL);
}
