/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All processes of the node, looked at again and again. */

#ifndef COSCHED_PROC_TABLE_H
#define COSCHED_PROC_TABLE_H

/* Concept
 *
 * Reading /proc/PID/stat costs 5 to 10 us, a node has hundreds of processes,
 * and few belong to jobs.  Even listing /proc is too much for an epoch.
 * /proc/loadavg has the last pid given out, so only pids up to that can be new:
 * a few are looked up one by one; after many, after a wrap-around, or after
 * REFRESH_NS, /proc is listed.  A pid that is not found is looked up once more
 * in the next scan.  A scan reads only
 *
 *   - processes first seen less than SETTLE_NS ago, which may still change
 * session, group and program
 *   - watched processes: those of jobs, except attached ones
 *
 * A listing also reads processes whose inode changed (pid reuse), and each
 * other one once in REFRESH_NS to 3 REFRESH_NS.
 *
 * Users make as many processes as they like.  So a call does no more than the
 * work that its caller has for it (threads.h), and what is left of the scan is
 * for the next call: until it has finished the table is between two states, and
 * of no use.
 */

#include <dirent.h>

#include "node_agent/enforce/proc.h"

#define PROC_SETTLE_NS  UINT64_C(1000000000)
#define PROC_REFRESH_NS UINT64_C(5000000000)
#define PROC_NEWEST     32 /* numbers that are looked up one by one */
#define PROC_FORGET_NS                                                         \
    UINT64_C(60000000000) /* what has not been gone on with */
#define PROC_READ_WORK 16 /* of reading a file of a process */
#define PROC_LIST_WORK 2  /* of an entry of /proc */

struct proc_entry {
    struct proc_stat stat;
    bool watched;     /* proc_table_watch(): read it in each scan */
    bool placed;      /* the caller's: looked where it is since it was read */
    bool gone;        /* until the end of the scan */
    uint64_t inode;   /* 0: not known */
    uint64_t seen_ns; /* first */
    uint64_t read_ns; /* last */
};

struct proc_table {
    size_t *work;    /* the caller's; NULL: however much it takes */
    bool unfinished; /* the scan goes on with the next call */
    uint64_t called_ns;
    struct proc_entry *entry; /* [count], sorted by pid */
    size_t count, room;
    struct proc_entry *old; /* the scan before */
    size_t old_count, old_room;
    pid_t *hot; /* [hot_count] those that each scan reads, until, */
    size_t hot_count, hot_room, hot_next;
    uint64_t cool_ns;          /* when the first of them has settled */
    pid_t missed[PROC_NEWEST]; /* new numbers without a process so far */
    size_t missed_count;
    long last_pid; /* given out when last looked; 0: unknown */
    uint64_t listed_ns;
    DIR *dir;            /* of a list that goes on */
    size_t listed, kept; /* of the scan before: passed, and found again */
    bool sorted;
    int loadavg; /* kept open, if LOADAVG_OPEN */
    bool loadavg_open;
    bool dropped;   /* some have gone */
    size_t changes; /* of which processes there are, their parents,
                       groups, sessions and names, so far */
    size_t reads;   /* of stat files, so far */
    size_t lists;   /* of /proc, so far */
};

/* Bring TABLE ({0} at first) up to date, unless that is UNFINISHED then.
 * Zombies are left out.  -1 with errno, and TABLE empty. */
int proc_table_scan(struct proc_table *table, uint64_t now_ns);

/* True when there is work left for a call. */
static inline bool proc_table_works(const struct proc_table *table)
{
    return !table->work || *table->work;
}

/* Take COST of that. */
static inline void proc_table_spend(struct proc_table *table, size_t cost)
{
    if (table->work)
        *table->work -= cost < *table->work ? cost : *table->work;
}

/* The entry of PID, or NULL. */
struct proc_entry *proc_table_find(const struct proc_table *table, pid_t pid);

/* Read ENTRY in each scan from now on, or no more. */
void proc_table_watch(struct proc_table *table, struct proc_entry *entry,
                      bool watched);

/* Free what TABLE holds, not TABLE. */
void proc_table_clear(struct proc_table *table);

#endif /* COSCHED_PROC_TABLE_H */
