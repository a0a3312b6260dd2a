/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The driver that kills a life, or fails a call, at each of its system calls.
 */

#include "tests/protocol/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/support/callpoints.h"

#define WRITES 5

struct world {
    int ends[2];
    int failed; /* errno of a call, as the life saw it */
};

static int set_up(void **state)
{
    struct world *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_int_equal(pipe2(w->ends, O_NONBLOCK), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    close(w->ends[0]);
    close(w->ends[1]);
    munmap(w, sizeof(*w));
    return 0;
}

static void write_some(void *arg)
{
    struct world *w = arg;

    (void)!write(w->ends[1], "before", 6);
    callpoints_begin();
    for (int i = 0; i < WRITES; i++)
        if (write(w->ends[1], "x", 1) < 0)
            w->failed = errno;
    callpoints_end();
    (void)!write(w->ends[1], "after", 5);
}

static size_t written(const struct world *w)
{
    char text[100];
    ssize_t n = read(w->ends[0], text, sizeof(text));

    return n < 0 ? 0 : (size_t)n;
}

/* Killed before each call in turn; the last time it lives. */
static void test_kill(void **state)
{
    struct world *w = *state;
    struct callpoint at = {.call = CALLPOINT_ANY};
    struct callpoints_result result;

    do {
        at.number++;
        assert_int_equal(callpoints_run(write_some, w, &at, &result), 0);
        assert_int_equal(written(w),
                         result.struck ? 6 + at.number - 1 : 6 + WRITES + 5);
        assert_int_equal(WIFSIGNALED(result.status), result.struck);
    } while (result.struck);
    assert_int_equal(at.number, WRITES + 1);
    assert_int_equal(result.calls[SYS_write], WRITES);
}

/* One call, or several in a row, are not made and fail. */
static void test_fail(void **state)
{
    struct world *w = *state;
    struct callpoint at = {SYS_write, 2, 0, ENOSPC};
    struct callpoints_result result;

    assert_int_equal(callpoints_run(write_some, w, &at, &result), 0);
    assert_int_equal(result.status, 0);
    assert_int_equal(w->failed, ENOSPC);
    assert_int_equal(written(w), 6 + WRITES - 1 + 5);
    at.times = 100;
    assert_int_equal(callpoints_run(write_some, w, &at, &result), 0);
    assert_int_equal(result.struck, WRITES - 1);
    assert_int_equal(written(w), 6 + 1 + 5);
    at.call = SYS_pipe2;
    assert_int_equal(callpoints_run(write_some, w, &at, &result), 0);
    assert_int_equal(result.struck, 0);
    assert_int_equal(written(w), 6 + WRITES + 5);
}

static void *write_in_thread(void *arg)
{
    struct world *w = arg;

    for (int i = 0; i < WRITES; i++)
        (void)!write(w->ends[1], "x", 1);
    return NULL;
}

static void start_thread(void *arg)
{
    pthread_t thread;

    callpoints_begin();
    if (pthread_create(&thread, NULL, write_in_thread, arg) == 0)
        pthread_join(thread, NULL);
}

/* Threads are part of a life, and die with it. */
static void test_threads(void **state)
{
    struct world *w = *state;
    struct callpoint at = {SYS_write, 3, 0, 0};
    struct callpoints_result result;

    assert_int_equal(callpoints_run(start_thread, w, &at, &result), 0);
    assert_true(WIFSIGNALED(result.status));
    assert_int_equal(written(w), 2);
}

/* A program as a whole: echo(1) cannot write, and what it did is reported. */
static void test_program(void **state)
{
    char command[2000], text[2000];
    const char *build = getenv("abs_top_builddir");

    (void)state;
    snprintf(command, sizeof(command),
             "exec 2>/dev/null; dir=$(mktemp -d); %s/tests/support/at_call "
             "--call write "
             "--number 1 --error ENOSPC --report $dir/report -- /bin/echo "
             "hello; echo $?; "
             "until cat $dir/report; do sleep 0.01; done; rm -r $dir",
             build);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    size_t n = fread(text, 1, sizeof(text) - 1, output);
    text[n] = '\0';
    pclose(output);
    assert_memory_equal(text, "1\n{\"struck\": 1, ", 16);
    assert_non_null(strstr(text, "\"write\": "));
}

UNIT(test_callpoints)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kill, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test(test_program),
    };

    return callpoints_supported() ? cmocka_run_group_tests_name(
                                        "test_callpoints", tests, NULL, NULL)
                                  : 0;
}
