/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Read and write a whole number of bytes through a descriptor. */

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/syscalls.h"

/* Where close_range() is not known, descriptors above this stay open. */
#define MANY 4096

int fd_write_all(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = write(fd, p, size);
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        } else if (n == 0) {
            errno = ENOSPC;
            return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

ssize_t fd_read_all(int fd, void *data, size_t size)
{
    char *p = data;
    size_t got = 0;

    while (got < size) {
        ssize_t n = read(fd, p + got, size - got);
        if (n == 0)
            break;
        if (n > 0)
            got += (size_t)n;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)got;
}

int fd_copy(int from, int to)
{
    char buffer[65536];
    ssize_t n = lseek(from, 0, SEEK_SET) < 0 ? -1 : 1;

    while (n > 0 && (n = fd_read_all(from, buffer, sizeof(buffer))) > 0)
        if (fd_write_all(to, buffer, (size_t)n) < 0)
            return -1;
    return n < 0 ? -1 : 0;
}

static bool is_one_of(int fd, const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] == fd)
            return true;
    return false;
}

/* The first of FDS that is FIRST or later; or -1. */
static int next_of(int first, const int *fds, size_t count)
{
    int next = -1;

    for (size_t i = 0; i < count; i++)
        if (fds[i] >= first && (next < 0 || fds[i] < next))
            next = fds[i];
    return next;
}

void fd_drop_others(const int *fds, size_t count)
{
    for (int from = 0, fd; from >= 0; from = fd < 0 ? -1 : fd + 1) {
        fd = next_of(from, fds, count);
        if (fd == from)
            continue;
        unsigned to = fd < 0 ? ~0U : (unsigned)fd - 1;
        if (syscall(SYS_close_range, (unsigned)from, to, 0) == 0)
            continue;
        for (int other = from; other < MANY && (unsigned)other <= to; other++)
            close(other); /* before Linux 5.9 */
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int std = 0; null >= 0 && std <= STDERR_FILENO; std++)
        if (std != null && !is_one_of(std, fds, count))
            dup2(null, std);
    if (null > STDERR_FILENO)
        close(null);
}

int fd_open_directory(const char *path, mode_t make, struct errtext *err)
{
    struct stat st;
    int fd = -1;

    if ((make && mkdir(path, make) < 0 && errno != EEXIST) ||
        (fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) <
            0 ||
        fstat(fd, &st) < 0)
        errtext_set(err, errno, "%.150s: %s", path, strerror(errno));
    else if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
             st.st_mode & (S_IWGRP | S_IWOTH))
        errtext_set(err, EPERM, "%.150s: others than root may write there",
                    path);
    else
        return fd;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return -1;
}
