/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* slurm_link: a helper that cannot be started is tried again later. */

#include "tests/support/unit.h"

#include "common/spawn.h"

static bool fails;

static int said_spawn_program(char *const argv[], const int fd[], size_t count, pid_t *pid)
{
    return fails ? ENOMEM : spawn_program(argv, fd, count, pid);
}
#define spawn_program said_spawn_program
#include "node_agent/daemon/slurm_link.c"
#undef spawn_program

static void on_ready(void *arg)
{
    ++*(int *)arg;
}

static void test_spawn(void **state)
{
    static const struct slurm_link_handler handler = {.ready = on_ready};
    sd_event *event;
    sigset_t child;
    int ready;

    (void)state;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &child, NULL), 0);
    assert_true(sd_event_new(&event) >= 0);
    for (int at = 0; at <= 1; at++) {
        ready = 0;
        fails = at;
        struct slurm_link *l = slurm_link_new(event, "/bin/cat", "n1", NULL, &handler, &ready);
        assert_non_null(l);
        assert_true(sd_event_run(event, UINT64_MAX) > 0);
        assert_int_equal(ready, !at);
        assert_int_equal(l->pid > 0, !at);
        assert_int_equal(l->restart_source && l->from < 0, at != 0);
        slurm_link_free(l);
    }
    sd_event_unref(event);
}

UNIT(test_slurm_link)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spawn),
    };

    return cmocka_run_group_tests_name("test_slurm_link", tests, NULL, NULL);
}
