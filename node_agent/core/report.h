/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Reader of a report page (protocol/layout.h), which a job writes. */

#ifndef COSCHED_REPORT_H
#define COSCHED_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/layout.h"

/* Concept
 *
 * A report page is hostile input: its process may write anything at any time,
 * and punch holes into it.  The agent has it never in its memory, where a hole
 * that the kernel cannot fill would be its end (SIGBUS) and one that it can
 * would be at the expense of the agent.  report_read() has the kernel copy it,
 * in which a hole is zeros, and checks the copy.  A process writes from the end
 * to the beginning: table, number of regions, index, magic number; so the copy
 * is taken from the beginning to the end, in several calls.  Aligned words are
 * copied whole. Counters may still lie or run backwards: clamp differences.
 */

struct report;

/* A checked copy of a page. */
struct report_view {
    bool ready;    /* the process has filled it in; else all else is zero */
    uint32_t mode; /* enum cosched_mode, in range */
    uint32_t team;
    uint32_t region; /* < used, or COSCHED_REGION_SERIAL */
    uint32_t used;   /* <= COSCHED_MAX_REGIONS */
    uint32_t applied_generation;
    uint32_t workers;
    uint64_t region_begin_ns;
    uint64_t extra_workers;
    uint64_t steals, preempted;
    bool interleaved; /* pages of the process are, by a memory policy */
    struct cosched_region regions[COSCHED_MAX_REGIONS]; /* [used] */
};

/* A new page, all zero, sealed against any change of size.  NULL with the errno
 * of the failing call. */
struct report *report_new(struct errtext *err);

/* Descriptor to hand out; stays the report's. */
int report_fd(const struct report *report);

/* Copy and check.  0, or -1 with errno EPROTO and ERR naming the field when
 * the page cannot be a report of process PID; *VIEW is then all zero. */
int report_read(struct report *report, pid_t pid, struct report_view *view,
                struct errtext *err);

/* Whose it is, as it says; 0: it has not filled in the page so far. */
pid_t report_pid(const struct report *report);

/* Only in which region the process is, COSCHED_REGION_SERIAL or another number, and when its last
 * parallel one began, unchecked: two equal answers say that none was between.  False: the process
 * has not filled in the page so far. */
bool report_glance(const struct report *report, uint32_t *region, uint64_t *begin_ns);

/* Only the applied generation, for a busy wait. */
uint32_t report_applied(const struct report *report);

/* Its process has ended: who else keeps the descriptor for ever keeps no memory of ours with it.
 * Never while the process lives: it takes what is in the page into that of its next agent. */
void report_forget(struct report *report);

/* Takes NULL; keeps errno. */
void report_free(struct report *report);

#endif /* COSCHED_REPORT_H */
