/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent has done to processes and cgroups, and somebody has to undo
 * should it die. */

#ifndef COSCHED_LEDGER_H
#define COSCHED_LEDGER_H

/* Concept
 *
 * A file mapped into memory: an entry is made before something is done and
 * cleared once it is undone, so it outlives the agent without a message or a
 * system call.  Who is left undoes what is in it: the supervisor, which was
 * forked with the mapping, or the next agent, if both were killed.  A lock on
 * the file says that one of the two still lives.
 *
 * Processes are known by pid and start time, so entries of those that have
 * ended do no harm; they are found by ledger_tidy().  Entries of before the
 * last boot are nobody's.  Where no file can be had the ledger is in memory,
 * and only the supervisor can undo.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/layout.h"

#define LEDGER_PATH_MAX 368
#define LEDGER_MOST     65536 /* entries */

enum ledger_what {
    LEDGER_NOTHING,
    LEDGER_NARROWED, /* the cpuset of a cgroup */
    LEDGER_HELD,     /* the affinity of a process */
    LEDGER_FROZEN,   /* a cgroup */
    LEDGER_STOPPED,  /* a process */
};

struct ledger_entry {
    uint32_t what;
    pid_t pid;
    uint64_t start; /* in clock ticks since boot */
    union {
        struct {                           /* LEDGER_HELD: */
            struct cosched_cpuset granted; /* to be restored */
            uint32_t job;
        };
        char path[LEDGER_PATH_MAX];    /* of a cgroup */
        bool again; /* LEDGER_STOPPED: more than one SIGSTOP was sent */
    };
};

struct ledger;

/* The ledger at PATH; NULL: in memory.  Waits WAIT_MS at most for those who
 * hold the lock of an earlier one, then calls UNDO for it, which returns the number of entries:
 * *COUNT.  NULL with errno. */
struct ledger *ledger_new(const char *path, unsigned wait_ms, size_t (*undo)(struct ledger *ledger),
                          size_t *count, struct errtext *err);

/* Why there is none that outlives supervisor and agent, or "". */
const char *ledger_problem(const struct ledger *ledger);

/* The descriptor that holds the lock. */
int ledger_lock(const struct ledger *ledger);

/* Add ENTRY.  Its number, which no other entry has had; 0 with errno ENOSPC,
 * ENOMEM or that of fallocate(2). */
size_t ledger_add(struct ledger *ledger, const struct ledger_entry *entry);

/* Clear entry *NUMBER, unless that is 0 or was cleared, by ledger_tidy() too:
 * in its place may be another's.  *NUMBER becomes 0. */
void ledger_clear(struct ledger *ledger, size_t *number);

/* Call UNDO for all entries, cgroups and affinity first, so that what is
 * continued runs where it may, and clear them.  Returns how many there were. */
size_t ledger_undo(struct ledger *ledger,
                   void (*undo)(const struct ledger_entry *entry));

/* Call WORK for all entries of kind WHAT. */
void ledger_each(const struct ledger *ledger, enum ledger_what what,
                 void (*work)(const struct ledger_entry *entry, void *arg), void *arg);

/* All processes that began before TICKS (since boot) are noted if they have to be.  0: nobody
 * knows. */
void ledger_see(struct ledger *ledger, uint64_t ticks);
uint64_t ledger_seen(const struct ledger *ledger);

/* Clear what GONE says is over, of COUNT entries, others than the last time. */
void ledger_tidy(struct ledger *ledger, size_t count,
                 bool (*gone)(const struct ledger_entry *entry));

/* Number of entries in use. */
size_t ledger_count(const struct ledger *ledger);

/* Takes NULL. */
void ledger_free(struct ledger *ledger);

#endif /* COSCHED_LEDGER_H */
