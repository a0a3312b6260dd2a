/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What survives a restart of the agent: jobs and records not yet delivered. */

#ifndef COSCHED_STATE_H
#define COSCHED_STATE_H

/* Concept
 *
 * A JSON file, replaced as a whole after each change (written beside and
 * renamed), so that a reader never sees half of it.  It is not synced to disk:
 * it has to survive the agent, not the node, whose jobs die with it.
 *
 * Versions: what is new is added as an optional member, and members that are not
 * known are skipped, so that an agent reads what an older or a newer one wrote.
 * STATE_VERSION rises only when a member changes its meaning.
 *
 * When read back it is checked like any input.  A file that cannot be
 * understood is set aside as PATH.bad and the agent starts empty: running jobs
 * announce themselves again with their next step and lose nothing but their
 * CPUs' exclusiveness until then.
 */

#include "node_agent/core/job.h"
#include "node_agent/core/record.h"
#include "common/errtext.h"

#define STATE_VERSION 1

/* What holds for the node, beside its jobs.  Texts are owned; NULL: none. */
struct node_state {
    char *drained;  /* why sharing is drained ("": no reason given) */
    uint32_t drained_uid;     /* by whom */
    uint64_t drained_wall_ns; /* since when */
    char *scheduler_parameters; /* as slurmctld said last */
    char *partitions;           /* likewise, of this node */
};

/* A final record on its way to Slurm's accounting. */
struct pending {
    uint32_t job;
    uint64_t end_s; /* epoch seconds of the job's end */
    char text[RECORD_TEXT_MAX];
    struct pending *next;
};

struct pending_list {
    struct pending *first;
    size_t count;
};

#define PENDING_LIMIT 1024 /* oldest are dropped beyond */

/* Write JOBS, PENDING and NODE to PATH.  0, or -1 with errno. */
int state_write(const char *path, const struct job_table *jobs,
                const struct pending_list *pending,
                const struct node_state *node, struct errtext *err);

/* Read PATH.  Only tasks that still live (same pid and start time) are taken
 * over.  0 (also when there is no file), or -1 with errno EBADMSG and ERR
 * after the file was set aside; both tables and NODE are then empty. */
int state_read(const char *path, struct job_table *jobs,
               struct pending_list *pending, struct node_state *node,
               struct errtext *err);

/* Free its texts and clear it. */
void node_state_clear(struct node_state *node);

/* Add or replace the record of JOB.  -1 when out of memory. */
int pending_add(struct pending_list *list, uint32_t job, uint64_t end_s,
                const char *text);
void pending_remove(struct pending_list *list, uint32_t job);
void pending_clear(struct pending_list *list);

#endif /* COSCHED_STATE_H */
