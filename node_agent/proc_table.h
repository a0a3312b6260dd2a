/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All processes of the node, looked at again and again. */

#ifndef COSCHED_PROC_TABLE_H
#define COSCHED_PROC_TABLE_H

/* Concept
 *
 * To read /proc/PID/stat of each process costs 5 to 10 us; a node has hundreds
 * of them, and nearly none is a job's.  So a scan lists /proc, which costs a
 * twentieth of that, and reads only
 *
 *   - processes that it has not seen before, or whose number was used again:
 *     the inode of /proc/PID is then another
 *   - those seen first less than SETTLE_NS ago: a child still has to change its
 *     session, its group and its program
 *   - those that are watched: the jobs' own, but for those attached
 *   - slurmstepd, whose children may still be it
 *   - the others once in REFRESH_NS to 2 REFRESH_NS
 *
 * and it does not even list /proc while no process has begun since the last
 * time: /proc/loadavg has the number given out last.
 */

#include "node_agent/proc.h"

#define PROC_SETTLE_NS UINT64_C(1000000000)
#define PROC_REFRESH_NS UINT64_C(5000000000)

struct proc_entry {
    struct proc_stat stat;
    bool watched;     /* the caller's: read it in each scan */
    uint64_t inode;
    uint64_t seen_ns; /* first */
    uint64_t read_ns; /* last */
};

struct proc_table {
    struct proc_entry *entry; /* [count], sorted by pid */
    size_t count, room;
    struct proc_entry *old;   /* the scan before */
    size_t old_count, old_room;
    long last_pid;            /* given out when /proc was listed; 0: unknown */
    uint64_t listed_ns;
    int loadavg;              /* kept open, if LOADAVG_OPEN */
    bool loadavg_open;
    size_t reads;             /* of stat files, so far */
    size_t lists;             /* of /proc, so far */
};

/* Bring TABLE ({0} at first) up to date.  Zombies are left out.  -1 with errno,
 * and TABLE empty. */
int proc_table_scan(struct proc_table *table, uint64_t now_ns);

/* The entry of PID, or NULL. */
struct proc_entry *proc_table_find(const struct proc_table *table, pid_t pid);

/* Free what TABLE holds, not TABLE. */
void proc_table_clear(struct proc_table *table);

#endif /* COSCHED_PROC_TABLE_H */
