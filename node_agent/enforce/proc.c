/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Processes and threads as /proc shows them. */

#include "node_agent/enforce/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* The kernel's PF_EXITING and PF_FORKNOEXEC, of the process' flags (proc(5)). */
#define FLAG_EXITING 0x4
#define FLAG_FORKNOEXEC 0x40
#define FLAG_KERNEL     0x200000

/* Threads of a process whose first has ended that may be about to end, too. */
#define MOST_ENDING 16

/* Numbers of the text at *P, the first SKIP of them left out; false when there
 * is none behind. */
static bool number(const char **p, int skip, long long *value)
{
    char *end;

    do {
        *value = strtoll(*p, &end, 10);
        if (end == *p)
            return false;
        *p = end;
    } while (skip-- > 0);
    return true;
}

/* sscanf() would take as long as the kernel takes to write the text. */
int proc_parse(const char *text, struct proc_stat *stat)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')'), *p = text;
    long long pid, parent, group, session, flags, user, system, threads,
              start;

    if (!open || !close || close < open || !number(&p, 0, &pid) ||
        close[1] != ' ' || !close[2])
        goto bad;
    p = close + 3;
    if (!number(&p, 0, &parent) || !number(&p, 0, &group) ||
        !number(&p, 0, &session) || !number(&p, 2, &flags) ||
        !number(&p, 4, &user) || !number(&p, 0, &system) ||
        !number(&p, 4, &threads) || !number(&p, 1, &start))
        goto bad;
    size_t length = (size_t)(close - open - 1);
    if (length >= sizeof(stat->comm))
        length = sizeof(stat->comm) - 1;
    memcpy(stat->comm, open + 1, length);
    stat->comm[length] = '\0';
    stat->state = close[2];
    stat->forked = flags & FLAG_FORKNOEXEC;
    stat->exiting = flags & FLAG_EXITING;
    stat->kernel = flags & FLAG_KERNEL;
    stat->pid = (pid_t)pid;
    stat->parent = (pid_t)parent;
    stat->group = (pid_t)group;
    stat->session = (pid_t)session;
    stat->ticks = (uint64_t)user + (uint64_t)system;
    stat->threads = (uint64_t)threads;
    stat->start = (uint64_t)start;
    return 0;
bad:
    errno = EINVAL;
    return -1;
}

/* Read FILE of process PID into TEXT of SIZE; false with errno, ESRCH when there is none. */
static bool read_file(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        errno = ESRCH;
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    if (n == 0)
        errno = ESRCH;
    int saved = errno;
    close(fd);
    errno = saved;
    if (n > 0)
        text[n] = '\0';
    return n > 0;
}

static bool is_over(const struct proc_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X';
}

/* A thread of process PID that lives, and its STAT.  The first thread may end before the others:
 * the process then looks like a zombie, and runs.  Others leave no zombies, so that few are looked
 * at.  0: there is none. */
static pid_t find_living(pid_t pid, struct proc_stat *stat)
{
    char file[40], text[1024];
    pid_t *tids, found = 0;
    ssize_t n = proc_threads(pid, &tids);

    for (ssize_t i = 0; i < n && i < MOST_ENDING && !found; i++) {
        snprintf(file, sizeof(file), "task/%d/stat", (int)tids[i]);
        if (tids[i] != pid && read_file(pid, file, text, sizeof(text)) &&
            proc_parse(text, stat) == 0 && !is_over(stat) && !stat->exiting)
            found = tids[i];
    }
    if (n >= 0)
        free(tids);
    return found;
}

int proc_read(pid_t pid, struct proc_stat *stat)
{
    char text[1024];
    struct proc_stat thread;

    if (!read_file(pid, "stat", text, sizeof(text)))
        return -1;
    if (proc_parse(text, stat) < 0 ||
        (is_over(stat) && (stat->threads < 2 || !find_living(pid, &thread)))) {
        errno = ESRCH;
        return -1;
    }
    if (is_over(stat)) {
        stat->state = thread.state;
        stat->exiting = false;
    }
    return 0;
}

/* What follows NAME, at the begin of a line of TEXT, or "". */
static const char *value_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? at + strlen(name) : "";
}

int proc_read_stop(pid_t pid, struct proc_stop *stop)
{
    char text[16384]; /* a process may be in hundreds of groups */
    char file[40];
    struct proc_stat thread;
    pid_t tid;

    if (!read_file(pid, "status", text, sizeof(text)))
        return -1;
    if (*value_of(text, "\nState:\t") == 'Z' && (tid = find_living(pid, &thread))) {
        snprintf(file, sizeof(file), "task/%d/status", (int)tid);
        if (!read_file(pid, file, text, sizeof(text)))
            return -1;
    }
    char state = *value_of(text, "\nState:\t");
    stop->stopped = state == 'T';
    stop->waits = state == 'D';
    stop->pending = strtoull(value_of(text, "\nShdPnd:\t"), NULL, 16) &
                    UINT64_C(1) << (SIGSTOP - 1);
    return 0;
}

/* The first number of line NAME of a status file, or its last. */
static bool status_number(const char *text, const char *name, int skip, bool last,
                          long long *value)
{
    const char *line = value_of(text, name);

    if (!number(&line, skip, value))
        return false;
    while (last && *line == '\t' && number(&line, 0, value))
        ;
    return true;
}

int proc_identify(pid_t pid, struct proc_identity *identity)
{
    char text[4096];
    long long real, effective, inner;

    /* The kernel writes newlines of a name as \n: no name makes a line. */
    if (!read_file(pid, "status", text, sizeof(text)) ||
        !status_number(text, "\nUid:", 0, false, &real) ||
        !status_number(text, "\nUid:", 1, false, &effective)) {
        errno = ESRCH;
        return -1;
    }
    if (!status_number(text, "\nNSpid:", 0, true, &inner))
        inner = pid;
    *identity = (struct proc_identity){(uid_t)real, (uid_t)effective, (pid_t)inner};
    return 0;
}

int proc_cgroups(pid_t pid, char *text, size_t size)
{
    if (read_file(pid, "cgroup", text, size))
        return 0;
    errno = ESRCH;
    return -1;
}

int proc_waits(pid_t pid, pid_t tid, uint64_t *ran_ns, uint64_t *waited_ns)
{
    char file[40], text[128];
    const char *p = text;
    long long ran, waited;

    snprintf(file, sizeof(file), "task/%d/schedstat", (int)tid);
    if (!read_file(pid, file, text, sizeof(text)) ||
        !number(&p, 0, &ran) || !number(&p, 0, &waited)) {
        errno = ESRCH;
        return -1;
    }
    *ran_ns = (uint64_t)ran;
    *waited_ns = (uint64_t)waited;
    return 0;
}

uint64_t proc_cpu_ns(pid_t pid)
{
    struct timespec used;
    clockid_t clock;

    return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0
               ? (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec
               : UINT64_MAX;
}

uint64_t proc_resident(pid_t pid)
{
    char text[128];
    const char *p = text;
    long long pages;

    if (!read_file(pid, "statm", text, sizeof(text)) || !number(&p, 1, &pages) || pages < 0)
        return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
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

pid_t proc_entry_number(const char *name)
{
    char *end;
    long n = name[0] < '0' || name[0] > '9' ? 0 : strtol(name, &end, 10);

    return n <= 0 || n > INT_MAX || *end ? 0 : (pid_t)n;
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

int proc_open_tasks(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Without opendir(), which takes a buffer of 32 KB for a handful of entries. */
ssize_t proc_read_tasks(int dir, pid_t **tids)
{
    _Alignas(struct dirent64) char buffer[4096];
    size_t count = 0, room = 0;
    ssize_t n;

    *tids = NULL;
    if (lseek(dir, 0, SEEK_SET) < 0)
        return -1;
    /* glibc has a function for it since 2.30 only. */
    while ((n = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0)
        for (const char *at = buffer; at < buffer + n;) {
            const struct dirent64 *entry = (const struct dirent64 *)at;
            pid_t tid = proc_entry_number(entry->d_name);
            at += entry->d_reclen;
            if (!tid)
                continue;
            if (!grow((void **)tids, &room, count, sizeof(**tids))) {
                free(*tids);
                *tids = NULL;
                errno = ENOMEM;
                return -1;
            }
            (*tids)[count++] = tid;
        }
    if (count)
        return (ssize_t)count;
    errno = ESRCH;
    return -1;
}

ssize_t proc_threads(pid_t pid, pid_t **tids)
{
    int dir = proc_open_tasks(pid);
    ssize_t n = -1;

    *tids = NULL;
    if (dir >= 0) {
        n = proc_read_tasks(dir, tids);
        close(dir);
    }
    errno = n < 0 && errno != ENOMEM ? ESRCH : errno;
    return n;
}
