/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whose threads to look at in which epoch. */

#ifndef COSCHED_AFFINITY_H
#define COSCHED_AFFINITY_H

/* Concept
 *
 * Threads must stay on their job's CPUs (enforcer.h).  Checking all of them costs
 * more than the rest of an epoch, and new threads inherit the mask of their
 * creators.  So each epoch checks one job at most; a job whose threads were all in
 * place waits twice as long for the next check, up to AFFINITY_PAUSE epochs.  A job
 * whose CPUs changed, or with a new process, is `unsettled` and checked soon.
 */

#include "node_agent/core/enforcer.h"
#include "node_agent/core/job.h"

#define AFFINITY_PAUSE 16
#define AFFINITY_PAUSE_HELD 4 /* of a job some process of which is held */

/* Find the processes of JOBS if that is due, and check the threads of one job.  *TURN counts
 * from 0 on. */
void affinity_epoch(uint64_t *turn, struct enforcer *enforcer,
                  struct job_table *jobs, uint64_t now_ns);

/* Pin the processes of JOB that need it to its CPUs (not empty), or release them while it is
 * unpinned. */
void affinity_hold(struct enforcer *enforcer, struct job *job);

/* Move threads of attached processes of JOB that are elsewhere.  Returns their number. */
size_t affinity_move_strays(struct enforcer *enforcer, struct job *job);

#endif /* COSCHED_AFFINITY_H */
