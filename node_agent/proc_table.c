/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All processes of the node, looked at again and again. */

#include "node_agent/proc_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
    pid_t x = ((const struct proc_entry *)a)->stat.pid;
    pid_t y = ((const struct proc_entry *)b)->stat.pid;

    return (x > y) - (x < y);
}

static struct proc_entry *find(struct proc_entry *entry, size_t count,
                               pid_t pid)
{
    struct proc_entry key = {.stat = {.pid = pid}};

    return count ? bsearch(&key, entry, count, sizeof(key), compare) : NULL;
}

struct proc_entry *proc_table_find(const struct proc_table *t, pid_t pid)
{
    return find(t->entry, t->count, pid);
}

static bool must_read(const struct proc_entry *e, uint64_t inode,
                      uint64_t now_ns)
{
    /* Not all of them in the same scan. */
    uint64_t refresh_ns =
        PROC_REFRESH_NS + PROC_REFRESH_NS / 64 * ((uint64_t)e->stat.pid % 64);

    return e->watched || e->inode != inode ||
           now_ns - e->seen_ns < PROC_SETTLE_NS ||
           now_ns - e->read_ns >= refresh_ns ||
           strcmp(e->stat.comm, "slurmstepd") == 0;
}

/* The entry of PID as of now in E, by what was KNOWN of it (NULL: nothing). */
static bool look(struct proc_table *t, const struct proc_entry *known,
                 pid_t pid, uint64_t inode, uint64_t now_ns,
                 struct proc_entry *e)
{
    if (known && !must_read(known, inode, now_ns)) {
        *e = *known;
        return true;
    }
    *e = (struct proc_entry){.inode = inode, .seen_ns = now_ns};
    t->reads++;
    if (proc_read(pid, &e->stat) < 0)
        return false;
    e->read_ns = now_ns;
    if (known && known->stat.start == e->stat.start) {
        e->seen_ns = known->seen_ns;
        e->watched = known->watched;
    }
    return true;
}

static bool make_room(struct proc_table *t)
{
    if (t->count < t->room)
        return true;
    size_t room = t->room ? 2 * t->room : 256;
    void *more = realloc(t->entry, room * sizeof(*t->entry));
    if (!more)
        return false;
    t->entry = more;
    t->room = room;
    return true;
}

static void swap(struct proc_table *t)
{
    struct proc_entry *entry = t->old;
    size_t room = t->old_room;

    t->old = t->entry;
    t->old_count = t->count;
    t->old_room = t->room;
    t->entry = entry;
    t->room = room;
    t->count = 0;
}

static int list(struct proc_table *t, uint64_t now_ns)
{
    DIR *dir = opendir("/proc");
    struct dirent *file;
    size_t next = 0; /* in the old table: /proc lists by number */
    bool sorted = true;

    swap(t);
    t->lists++;
    t->listed_ns = now_ns;
    if (!dir)
        return -1;
    while ((file = readdir(dir))) {
        pid_t pid = proc_entry_number(file->d_name);
        if (!pid)
            continue;
        while (next < t->old_count && t->old[next].stat.pid < pid)
            next++;
        const struct proc_entry *known =
            next < t->old_count && t->old[next].stat.pid == pid
                ? &t->old[next]
                : NULL;
        if (!make_room(t)) {
            t->count = 0;
            closedir(dir);
            errno = ENOMEM;
            return -1;
        }
        if (look(t, known, pid, file->d_ino, now_ns, &t->entry[t->count])) {
            sorted = sorted && (t->count == 0 ||
                                t->entry[t->count - 1].stat.pid < pid);
            t->count++;
        }
    }
    closedir(dir);
    if (!sorted)
        qsort(t->entry, t->count, sizeof(*t->entry), compare);
    return 0;
}

/* No process is new: look at those that are known. */
static void look_again(struct proc_table *t, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->count; i++) {
        const struct proc_entry known = t->entry[i];
        kept += look(t, &known, known.stat.pid, known.inode, now_ns,
                     &t->entry[kept]);
    }
    t->count = kept;
}

/* The number that the last new process or thread got; 0: unknown. */
static long last_pid(struct proc_table *t)
{
    char text[128];
    ssize_t n = -1;

    if (!t->loadavg_open) {
        t->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
        t->loadavg_open = t->loadavg >= 0;
    }
    if (t->loadavg_open)
        n = pread(t->loadavg, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *number = strrchr(text, ' ');
    return number ? strtol(number, NULL, 10) : 0;
}

int proc_table_scan(struct proc_table *t, uint64_t now_ns)
{
    long last = last_pid(t); /* before the list, so that none is missed */

    if (last && last == t->last_pid &&
        now_ns - t->listed_ns < PROC_REFRESH_NS) {
        look_again(t, now_ns);
        return 0;
    }
    t->last_pid = last;
    if (list(t, now_ns) == 0)
        return 0;
    t->last_pid = 0;
    return -1;
}

void proc_table_clear(struct proc_table *t)
{
    free(t->entry);
    free(t->old);
    if (t->loadavg_open)
        close(t->loadavg);
    *t = (struct proc_table){0};
}
