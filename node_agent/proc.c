/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Processes and threads as /proc shows them. */

#include "node_agent/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int proc_parse(const char *text, struct proc_stat *stat)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    unsigned long long user, system, start;
    int pid, parent, group, session;

    if (!open || !close || close < open ||
        sscanf(text, "%d", &pid) != 1 ||
        sscanf(close + 1,
               " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu"
               " %*d %*d %*d %*d %*d %*d %llu",
               &stat->state, &parent, &group, &session, &user, &system,
               &start) != 7) {
        errno = EINVAL;
        return -1;
    }
    size_t length = (size_t)(close - open - 1);
    if (length >= sizeof(stat->comm))
        length = sizeof(stat->comm) - 1;
    memcpy(stat->comm, open + 1, length);
    stat->comm[length] = '\0';
    stat->pid = pid;
    stat->parent = parent;
    stat->group = group;
    stat->session = session;
    stat->ticks = user + system;
    stat->start = start;
    return 0;
}

int proc_read(pid_t pid, struct proc_stat *stat)
{
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        errno = ESRCH;
        return -1;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n > 0)
        text[n] = '\0';
    if (n <= 0 || proc_parse(text, stat) < 0 || stat->state == 'Z' ||
        stat->state == 'X') {
        errno = ESRCH;
        return -1;
    }
    return 0;
}

int proc_program(pid_t pid, char *path, size_t size)
{
    char link[64];
    struct proc_stat stat;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, path, size - 1);
    if (n > 0) {
        path[n] = '\0';
        return 0;
    }
    if (proc_read(pid, &stat) < 0)
        return -1;
    snprintf(path, size, "%s", stat.comm);
    return 0;
}

static pid_t entry_number(const struct dirent *entry)
{
    char *end;
    long n = strtol(entry->d_name, &end, 10);

    return *end || n <= 0 ? 0 : (pid_t)n;
}

/* Make room for element COUNT of an array with *ROOM elements of SIZE. */
static bool grow(void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 64;
    void *bigger = realloc(*array, more * size);
    if (!bigger)
        return false;
    *array = bigger;
    *room = more;
    return true;
}

ssize_t proc_scan(struct proc_stat **stats)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    size_t count = 0, room = 0;

    *stats = NULL;
    if (!dir)
        return -1;
    while ((entry = readdir(dir))) {
        pid_t pid = entry_number(entry);
        if (!pid)
            continue;
        if (!grow((void **)stats, &room, count, sizeof(**stats))) {
            free(*stats);
            closedir(dir);
            errno = ENOMEM;
            return -1;
        }
        if (proc_read(pid, &(*stats)[count]) == 0)
            count++;
    }
    closedir(dir);
    return (ssize_t)count;
}

ssize_t proc_threads(pid_t pid, pid_t **tids)
{
    char path[64];
    struct dirent *entry;
    size_t count = 0, room = 0;

    *tids = NULL;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir) {
        errno = ESRCH;
        return -1;
    }
    while ((entry = readdir(dir))) {
        pid_t tid = entry_number(entry);
        if (!tid)
            continue;
        if (!grow((void **)tids, &room, count, sizeof(**tids))) {
            free(*tids);
            closedir(dir);
            errno = ENOMEM;
            return -1;
        }
        (*tids)[count++] = tid;
    }
    closedir(dir);
    return (ssize_t)count;
}
