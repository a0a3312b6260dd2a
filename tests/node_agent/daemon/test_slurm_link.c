/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* slurm_link: short of memory, no helper is started that has the agent's own input and output. */

#include "tests/support/unit.h"

#include <spawn.h>

static int fails_at; /* of the actions of one spawn: 0: none */

static int said_adddup2(posix_spawn_file_actions_t *actions, int fd, int to)
{
    return fails_at && --fails_at == 0 ? ENOMEM
                                       : posix_spawn_file_actions_adddup2(actions, fd, to);
}
#define posix_spawn_file_actions_adddup2 said_adddup2
#include "node_agent/daemon/slurm_link.c"
#undef posix_spawn_file_actions_adddup2

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
    for (int at = 0; at <= 2; at++) {
        ready = 0;
        fails_at = at;
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
