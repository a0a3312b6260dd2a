/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The process at the other end of a connection. */

#include "node_agent/daemon/caller.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/syscalls.h"

/* Older headers do not know it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int caller_open(int socket, pid_t pid)
{
    int fd = -1;
    socklen_t size = sizeof(fd);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) < 0) {
        if (errno == EINVAL) /* what older kernels say of one that has ended */
            errno = ESRCH;
        if (errno != ENOPROTOOPT)
            return -1;
        fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
        if (pid <= 0)
            errno = ESRCH;
    }
    if (fd >= 0 && !caller_lives(fd)) {
        close(fd);
        errno = ESRCH;
        return -1;
    }
    return fd;
}

bool caller_lives(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return poll(&p, 1, 0) == 0;
}
