/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Start a helper: a program with these descriptors, and none of ours. */

#include "common/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

extern char **environ;

/* The child is to have FD, or what stands for it, as descriptor TO.  *MOVED, if not -1, is to be
 * closed afterwards.  0, or an errno. */
static int give(posix_spawn_file_actions_t *actions, int fd, int to, int count, int *moved)
{
    if (fd == SPAWN_SAME)
        return 0;
    if (fd == SPAWN_NULL)
        return posix_spawn_file_actions_addopen(actions, to, "/dev/null", O_RDWR, 0);
    /* Above all that are given, so that no dup2() in the child hits another. */
    if (fd < count && (fd = *moved = fcntl(fd, F_DUPFD_CLOEXEC, count)) < 0)
        return errno;
    return posix_spawn_file_actions_adddup2(actions, fd, to);
}

static void set_signals(posix_spawnattr_t *attr)
{
    sigset_t set;

    sigemptyset(&set);
    posix_spawnattr_setsigmask(attr, &set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGALRM);
    posix_spawnattr_setsigdefault(attr, &set);
    posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

int spawn_program(char *const argv[], const int fd[], size_t count, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int moved[SPAWN_MOST];
    int rc = 0;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    set_signals(&attr);
    for (size_t i = 0; i < count; i++) {
        moved[i] = -1;
        /* These alone take memory.  Without them the helper would have our own. */
        if (rc == 0)
            rc = give(&actions, fd[i], (int)i, (int)count, &moved[i]);
    }
    if (rc == 0)
        rc = posix_spawn(pid, argv[0], &actions, &attr, argv, environ);
    for (size_t i = 0; i < count; i++)
        if (moved[i] >= 0)
            close(moved[i]);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}
