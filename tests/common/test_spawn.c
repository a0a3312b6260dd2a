/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* spawn: the child has the descriptors that it is given, whatever their numbers; short of memory
 * there is no child that would have ours. */

#include "tests/support/unit.h"

#include <spawn.h>
#include <sys/wait.h>

static int fails_at; /* of the actions of one spawn: 0: none */

static int said_adddup2(posix_spawn_file_actions_t *actions, int fd, int to)
{
    return fails_at && --fails_at == 0 ? ENOMEM
                                       : posix_spawn_file_actions_adddup2(actions, fd, to);
}
#define posix_spawn_file_actions_adddup2 said_adddup2
#include "common/spawn.c"
#undef posix_spawn_file_actions_adddup2

static int spawn(const char *script, const int fd[], size_t count)
{
    char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
    int status;
    pid_t pid;

    int rc = spawn_program(argv, fd, count, &pid);
    if (rc)
        return rc;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return 0;
}

static void assert_says(int from, const char *text)
{
    char said[16] = "";

    assert_int_equal(read(from, said, sizeof(said) - 1), strlen(text));
    assert_string_equal(said, text);
}

/* Each is given the place of the other. */
static void test_crossed(void **state)
{
    int first[2], second[2], at[2] = {8, 9};

    (void)state;
    assert_int_equal(pipe2(first, O_CLOEXEC), 0);
    assert_int_equal(pipe2(second, O_CLOEXEC), 0);
    assert_int_equal(dup3(first[1], at[0], O_CLOEXEC), at[0]);
    assert_int_equal(dup3(second[1], at[1], O_CLOEXEC), at[1]);
    const int fd[] = {SPAWN_NULL, SPAWN_SAME, SPAWN_SAME, SPAWN_NULL, SPAWN_NULL,
                      SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, at[1],      at[0]};
    assert_int_equal(spawn("! read x && echo a >&8 && echo b >&9", fd, 10), 0);
    assert_says(second[0], "a\n");
    assert_says(first[0], "b\n");
    for (int i = 0; i < 2; i++) {
        close(first[i]);
        close(second[i]);
        close(at[i]);
    }
}

static void test_no_memory(void **state)
{
    const int fd[] = {STDIN_FILENO, STDOUT_FILENO};

    (void)state;
    for (int at = 1; at <= 2; at++) {
        fails_at = at;
        assert_int_equal(spawn("exit 1", fd, 2), ENOMEM);
    }
    assert_int_equal(spawn("exit 0", fd, 2), 0);
}

static void test_no_program(void **state)
{
    char *argv[] = {"/nowhere/program", NULL};
    pid_t pid;

    (void)state;
    assert_int_equal(spawn_program(argv, NULL, 0, &pid), ENOENT);
}

UNIT(test_spawn)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossed),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_program),
    };

    return cmocka_run_group_tests_name("test_spawn", tests, NULL, NULL);
}
