/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent tells Slurm of its jobs. */

#ifndef COSCHED_DELIVERY_H
#define COSCHED_DELIVERY_H

/* Concept
 *
 * An interim record, once, when the first task of a job has begun, through slurmctld; and the final
 * one at the end of each run, through the helper that keeps records.  Between the end of the run
 * and that helper's word that it has the record on disk, the record is in the agent's state.
 */

#include "node_agent/daemon/agent.h"

/* Hand the interim summary of JOB to Slurm, once. */
void delivery_send_interim(struct agent *agent, struct job *job);

/* The final record of JOB, which waits to be sent, or NULL: nobody wants one. */
const struct pending *delivery_make_final(struct agent *agent, struct job *job);

/* Send what the helper has not got, as much as it takes now: it says what it keeps. */
void delivery_send(struct agent *agent);

/* Tell the helper that keeps records who is to have them (cosched_collector). */
void delivery_set_collector(struct agent *agent);

/* A record is given up, for both helpers. */
void delivery_failed(void *agent, uint32_t job, uint64_t end_s, const char *error);

/* For the helper that keeps records; its argument is the agent. */
extern const struct slurm_link_handler delivery_records;

#endif /* COSCHED_DELIVERY_H */
