/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What survives a restart of the agent: jobs and records not yet delivered. */

#ifndef COSCHED_STATE_H
#define COSCHED_STATE_H

/* Concept
 *
 * PATH is a JSON file, replaced as a whole (written beside and renamed) once in a
 * while.  What must be known before a request is answered is appended, a line of
 * JSON for each change, to PATH.log, so that a change costs the same however many
 * jobs there are.  A log begins with the serial number of the file that it
 * continues; one with another number is older than the file and means nothing.  A
 * last line without its end was written by an agent that died before it answered.
 * So whatever call an agent dies at, what is read is the state before or after.
 *
 * Nothing is synced to disk: it has to survive the agent, not the node, whose jobs
 * die with it.  Records outlive the node with the helper (slurm_link.h).
 *
 * Versions: what is new is added as an optional member, and members that are not
 * known are skipped, so that an agent reads what an older or a newer one wrote.
 * STATE_VERSION rises only when a member changes its meaning.
 *
 * When read back it is checked like any input, the files first: only regular ones
 * of our own that others cannot write, up to STATE_BYTES, are opened for more than
 * a look.  A file that cannot be understood is set aside as PATH.bad and the agent
 * starts empty: running jobs announce themselves again with their next step and
 * lose nothing but their CPUs' exclusiveness until then.
 */

#include <sys/types.h>

#include "node_agent/core/job.h"
#include "node_agent/daemon/pending.h"
#include "common/errtext.h"

#define STATE_VERSION 1
#define STATE_BYTES (64 << 20) /* nothing sensible is larger */

/* What holds for the node, beside its jobs.  Texts are owned; NULL: none. */
struct node_state {
    char *drained;  /* why sharing is drained ("": no reason given) */
    uint32_t drained_uid;     /* by whom */
    uint64_t drained_wall_ns; /* since when */
    char *scheduler_parameters; /* as slurmctld said last */
    char *partitions;           /* likewise, of this node */
};

/* The files of one agent. */
struct state_file {
    const char *path; /* the caller's */
    uint64_t serial;  /* of the file as written or read last */
    int log;          /* to append to; -1: none, the state must be written first */
    off_t log_size;
};

void state_file_init(struct state_file *file, const char *path);

/* Write JOBS, PENDING and NODE, and begin a new log.  0, or -1 with errno. */
int state_write(struct state_file *file, const struct job_table *jobs,
                const struct pending_list *pending, const struct node_state *node,
                struct errtext *err);

/* Append a change: JOB is new, or what was announced of it has changed; TASK is new;
 * job ID has ended, which left RECORD (may be NULL); somebody else keeps the record of
 * its run that ended at END_S.  0, or -1 with errno: state_write() is needed then. */
int state_note_job(struct state_file *file, const struct job *job, struct errtext *err);
int state_note_task(struct state_file *file, const struct task *task, struct errtext *err);
int state_note_end(struct state_file *file, uint32_t id, const struct pending *record,
                   struct errtext *err);
int state_note_kept(struct state_file *file, uint32_t id, uint64_t end_s,
                    struct errtext *err);

/* Read what is there.  Only tasks that still live (same pid and start time) are taken
 * over.  0 (also when there is no file), or -1 with errno EBADMSG and ERR
 * after the file was set aside; both tables and NODE are then empty. */
int state_read(struct state_file *file, struct job_table *jobs,
               struct pending_list *pending, struct node_state *node,
               struct errtext *err);

/* Close the log. */
void state_file_close(struct state_file *file);

/* Free its texts and clear it. */
void node_state_clear(struct node_state *node);

#endif /* COSCHED_STATE_H */
