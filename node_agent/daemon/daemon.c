/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Becoming a daemon without losing the news of a failed start. */

#include "node_agent/daemon/daemon.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

/* End of the pipe to the waiting parent; -1 in the foreground. */
static int parent_fd = -1;

/* Exit as the child tells: one byte '+' is success, all else its error. */
__attribute__((noreturn)) static void wait_for_child(int fd)
{
    char text[512] = "";
    ssize_t used = fd_read_all(fd, text, sizeof(text) - 1);

    if (!strcmp(text, "+"))
        _exit(0);
    fprintf(stderr, "coschedd: error: %s\n",
            used > 0 ? text : "ended during its start");
    _exit(1);
}

int daemon_fork(struct errtext *err)
{
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return errtext_set(err, errno, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return errtext_set(err, errno, "fork: %s", strerror(errno));
    if (pid > 0) {
        close(pipe_fds[1]);
        wait_for_child(pipe_fds[0]);
    }
    close(pipe_fds[0]);
    parent_fd = pipe_fds[1];
    setsid();
    if (chdir("/") < 0)
        return errtext_set(err, errno, "/: %s", strerror(errno));
    return 0;
}

static void tell_parent(const char *text)
{
    (void)fd_write_all(parent_fd, text, strlen(text));
    close(parent_fd);
    parent_fd = -1;
}

void daemon_started(void)
{
    if (parent_fd < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
    tell_parent("+");
}

void daemon_failed(const char *text)
{
    if (parent_fd >= 0)
        tell_parent(text);
}
