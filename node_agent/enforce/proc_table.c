/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All processes of the node, looked at again and again. */

#include "node_agent/enforce/proc_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/syscalls.h"

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

void proc_table_watch(struct proc_table *t, struct proc_entry *e, bool watched)
{
    if (e->watched != watched)
        t->cool_ns = 0;
    e->watched = watched;
}

static bool is_young(const struct proc_entry *e, uint64_t now_ns)
{
    return now_ns - e->seen_ns < PROC_SETTLE_NS;
}

static bool is_hot(const struct proc_entry *e, uint64_t now_ns)
{
    return e->watched || is_young(e, now_ns);
}

static bool must_read(const struct proc_entry *e, uint64_t inode,
                      uint64_t now_ns)
{
    /* Not all of them in the same scan. */
    uint64_t refresh_ns = PROC_REFRESH_NS +
                          PROC_REFRESH_NS / 64 * ((uint64_t)e->stat.pid % 64);

    return is_hot(e, now_ns) || e->inode != inode ||
           now_ns - e->read_ns >= refresh_ns;
}

static bool same(const struct proc_stat *a, const struct proc_stat *b)
{
    return a->start == b->start && a->parent == b->parent &&
           a->group == b->group && a->session == b->session &&
           !strcmp(a->comm, b->comm);
}

/* Read process PID, which has INODE, into E, by what was KNOWN of it (NULL:
 * nothing).  False when there is none. */
static bool fetch(struct proc_table *t, const struct proc_entry *known,
                  pid_t pid, uint64_t inode, uint64_t now_ns,
                  struct proc_entry *e)
{
    struct proc_entry fresh = {.inode = inode, .seen_ns = now_ns};

    t->reads++;
    proc_table_spend(t, PROC_READ_WORK);
    if (proc_read(pid, &fresh.stat) < 0)
        return false;
    fresh.read_ns = now_ns;
    if (known && known->stat.start == fresh.stat.start) {
        fresh.seen_ns = known->seen_ns;
        fresh.watched = known->watched;
    }
    if (!known || !same(&known->stat, &fresh.stat))
        t->changes++;
    *e = fresh;
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

static int begin_list(struct proc_table *t, uint64_t now_ns)
{
    t->dir = opendir("/proc");
    swap(t);
    t->lists++;
    t->listed_ns = now_ns;
    t->missed_count = 0;
    t->listed = t->kept = 0;
    t->sorted = true;
    return t->dir ? 0 : -1;
}

static void end_list(struct proc_table *t)
{
    if (t->dir)
        closedir(t->dir);
    t->dir = NULL;
}

/* Take process PID, which is listed with INODE.  -1 with errno ENOMEM. */
static int take_listed(struct proc_table *t, pid_t pid, uint64_t inode,
                       uint64_t now_ns)
{
    /* /proc lists by number. */
    while (t->listed < t->old_count && t->old[t->listed].stat.pid < pid)
        t->listed++;
    const struct proc_entry *known = t->listed < t->old_count &&
                                             t->old[t->listed].stat.pid == pid
                                         ? &t->old[t->listed]
                                         : NULL;
    if (!make_room(t)) {
        errno = ENOMEM;
        return -1;
    }
    struct proc_entry *e = &t->entry[t->count];
    if (known && !must_read(known, inode, now_ns))
        *e = *known;
    else if (!fetch(t, known, pid, inode, now_ns, e))
        return 0;
    t->kept += known != NULL;
    t->sorted = t->sorted &&
                (t->count == 0 || t->entry[t->count - 1].stat.pid < pid);
    t->count++;
    return 0;
}

/* 1 at its end, 0 when it goes on, or -1 with errno. */
static int list(struct proc_table *t, uint64_t now_ns)
{
    while (proc_table_works(t)) {
        const struct dirent *file = readdir(t->dir);
        pid_t pid = file ? proc_entry_number(file->d_name) : 0;
        proc_table_spend(t, PROC_LIST_WORK);
        if (!file) {
            end_list(t);
            if (t->kept < t->old_count)
                t->changes++;
            if (!t->sorted)
                qsort(t->entry, t->count, sizeof(*t->entry), compare);
            return 1;
        }
        if (pid && take_listed(t, pid, file->d_ino, now_ns) < 0)
            return -1;
    }
    return 0;
}

/* ---- between lists ------------------------------------------------------- */

/* Whom each scan reads from NOW_NS on. */
static int find_hot(struct proc_table *t, uint64_t now_ns)
{
    t->hot_count = 0;
    t->cool_ns = UINT64_MAX;
    for (size_t i = 0; i < t->count; i++) {
        const struct proc_entry *e = &t->entry[i];
        if (!is_hot(e, now_ns))
            continue;
        if (is_young(e, now_ns) && e->seen_ns + PROC_SETTLE_NS < t->cool_ns)
            t->cool_ns = e->seen_ns + PROC_SETTLE_NS;
        if (t->hot_count == t->hot_room) {
            size_t room = t->hot_room ? 2 * t->hot_room : 32;
            pid_t *more = realloc(t->hot, room * sizeof(*more));
            if (!more)
                return -1;
            t->hot = more;
            t->hot_room = room;
        }
        t->hot[t->hot_count++] = e->stat.pid;
    }
    return 0;
}

/* E is no more.  It leaves the table with all others that have gone, at once.
 */
static void drop(struct proc_table *t, struct proc_entry *e)
{
    e->gone = true;
    t->dropped = true;
    t->changes++;
    t->cool_ns = 0;
}

static void remove_dropped(struct proc_table *t)
{
    size_t kept = 0;

    if (!t->dropped)
        return;
    for (size_t i = 0; i < t->count; i++)
        if (!t->entry[i].gone)
            t->entry[kept++] = t->entry[i];
    t->count = kept;
    t->dropped = false;
}

/* As list(). */
static int look_again(struct proc_table *t, uint64_t now_ns)
{
    for (; t->hot_next < t->hot_count; t->hot_next++) {
        pid_t pid = t->hot[t->hot_next];
        struct proc_entry *e = proc_table_find(t, pid);
        if (!proc_table_works(t))
            return 0;
        if (e && !fetch(t, e, pid, e->inode, now_ns, e))
            drop(t, e);
    }
    remove_dropped(t);
    return 1;
}

/* Add FRESH where it belongs. */
static int insert(struct proc_table *t, const struct proc_entry *fresh)
{
    size_t at = t->count;

    if (!make_room(t))
        return -1;
    while (at > 0 && t->entry[at - 1].stat.pid > fresh->stat.pid)
        at--;
    memmove(&t->entry[at + 1], &t->entry[at],
            (t->count - at) * sizeof(*t->entry));
    t->entry[at] = *fresh;
    t->count++;
    t->cool_ns = 0;
    return 0;
}

/* Look up number PID, which has been given out; with AGAIN to miss it once more
 * if nobody has it.  -1 where only a list can tell. */
static int look_up(struct proc_table *t, pid_t pid, bool again, uint64_t now_ns)
{
    struct proc_entry *known = proc_table_find(t, pid), fresh;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0) {
        /* Threads have numbers of the same kind: ENOENT, before Linux 6.9
         * EINVAL, as of a process that is being made. */
        if (errno != ESRCH && errno != EINVAL && errno != ENOENT)
            return -1;
        if (again)
            t->missed[t->missed_count++] = pid;
        return 0;
    }
    close(fd);
    if (known) {
        if (!fetch(t, known, pid, 0, now_ns, known)) {
            drop(t, known);
            remove_dropped(t);
        }
        return 0;
    }
    return fetch(t, NULL, pid, 0, now_ns, &fresh) ? insert(t, &fresh) : 0;
}

/* Look up those missed the last time, and the numbers given out since, up to
 * LAST.  -1 where only a list can tell. */
static int look_up_new(struct proc_table *t, long last, uint64_t now_ns)
{
    pid_t missed[PROC_NEWEST];
    size_t count = t->missed_count;

    if (!t->last_pid || !last || last < t->last_pid ||
        last - t->last_pid > PROC_NEWEST)
        return -1;
    memcpy(missed, t->missed, count * sizeof(*missed));
    t->missed_count = 0;
    for (size_t i = 0; i < count; i++)
        if (look_up(t, missed[i], false, now_ns) < 0)
            return -1;
    for (long pid = t->last_pid + 1; pid <= last; pid++)
        if (look_up(t, (pid_t)pid, true, now_ns) < 0)
            return -1;
    return 0;
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

static int begin(struct proc_table *t, uint64_t now_ns)
{
    long last = last_pid(t); /* before the list, so that none is missed */
    bool listed = now_ns - t->listed_ns >= PROC_REFRESH_NS ||
                  look_up_new(t, last, now_ns) < 0;

    t->last_pid = last;
    t->hot_next = 0;
    if (listed)
        return begin_list(t, now_ns);
    return now_ns >= t->cool_ns ? find_hot(t, now_ns) : 0;
}

int proc_table_scan(struct proc_table *t, uint64_t now_ns)
{
    if (t->unfinished && now_ns - t->called_ns > PROC_FORGET_NS)
        proc_table_clear(t); /* half of it is of long ago */
    t->called_ns = now_ns;
    int rc = t->unfinished ? 0 : begin(t, now_ns);
    if (rc == 0 && !t->dir)
        rc = look_again(t, now_ns);
    else if (rc == 0 && (rc = list(t, now_ns)) > 0)
        rc = find_hot(t, now_ns) < 0 ? -1 : 1;
    t->unfinished = rc == 0;
    if (rc >= 0)
        return 0;
    end_list(t);
    t->last_pid = 0;
    t->count = 0;
    t->changes++;
    return -1;
}

void proc_table_clear(struct proc_table *t)
{
    free(t->entry);
    free(t->old);
    free(t->hot);
    if (t->loadavg_open)
        close(t->loadavg);
    end_list(t);
    *t = (struct proc_table){.work = t->work};
}
