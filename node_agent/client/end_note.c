/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Notes that jobs have ended, for an agent that did not answer. */

#include "node_agent/client/end_note.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/client/client.h"
#include "common/clock.h"
#include "common/fd.h"

#define SUFFIX ".ended"

/* Open the directory of the agent at SOCKET; with MAKE, make it first if there
 * is none.  A descriptor, or -1. */
static int open_directory(const char *socket, bool make, struct errtext *err)
{
    char path[PATH_MAX];

    if (client_socket_path(socket, path, sizeof(path) - sizeof(SUFFIX), err) <
        0)
        return -1;
    strcat(path, SUFFIX);
    return fd_open_directory(path, make ? 0700 : 0, err);
}

int end_note_leave(const char *socket, uint32_t job, struct errtext *err)
{
    char hidden[16], *name = hidden + 1;
    struct timespec now[2];
    int directory = open_directory(socket, false, err);

    if (directory < 0)
        return -1;
    snprintf(hidden, sizeof(hidden), ".%u", job);
    int fd = openat(directory, hidden,
                    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    /* The file system's own clock is too coarse to tell runs apart, and may be set,
     * so the note is not to be seen before it has its time. */
    clock_gettime(CLOCK_MONOTONIC, &now[0]);
    now[1] = now[0];
    int rc = 0;
    if (fd < 0 || futimens(fd, now) < 0 ||
        renameat(directory, hidden, directory, name) < 0)
        rc = errtext_set(err, errno, "note of job %s: %s", name,
                         strerror(errno));
    int saved = errno;
    if (fd >= 0)
        close(fd);
    close(directory);
    errno = saved;
    return rc;
}

/* The job that file NAME is about; 0: it is no note. */
static uint32_t job_of(const char *name)
{
    char *end;

    if (name[0] < '1' || name[0] > '9')
        return 0;
    errno = 0;
    unsigned long job = strtoul(name, &end, 10);
    return *end || errno || job > UINT32_MAX ? 0 : (uint32_t)job;
}

int end_note_take(const char *socket, end_note_f *found, void *arg,
                  struct errtext *err)
{
    int fd = open_directory(socket, true, err);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    struct stat st;

    if (fd >= 0 && !directory) {
        errtext_set(err, errno, "fdopendir: %s", strerror(errno));
        close(fd);
    }
    if (!directory)
        return -1;
    while ((entry = readdir(directory))) {
        uint32_t job = job_of(entry->d_name);
        if (!job || fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        /* Only a note that is gone is not found again. */
        if (unlinkat(fd, entry->d_name, 0) == 0)
            found(arg, job,
                  (uint64_t)st.st_mtim.tv_sec * NS_PER_S +
                      (uint64_t)st.st_mtim.tv_nsec);
    }
    closedir(directory);
    return 0;
}
