/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Replies that describe the agent and its jobs (protocol/replies.md). */

#ifndef COSCHED_REPLIES_H
#define COSCHED_REPLIES_H

/* Concept
 *
 * Each makes a new JSON object, or NULL when out of memory.  It fits a packet,
 * and no more is made than fits: what a reply costs does not grow with the
 * number of jobs and decisions.
 */

#include "node_agent/daemon/agent.h"

/* Of JOB, or with 0 of all.  PEER is told more of his own jobs. */
json_t *reply_status(const struct agent *agent, const struct peer *peer,
                     uint32_t job);

/* Nothing where PEER may not see who else is there: decisions name them. */
json_t *reply_explain(const struct agent *agent, const struct peer *peer,
                      uint32_t job);
json_t *reply_config(const struct agent *agent);
json_t *reply_ping(const struct agent *agent);
json_t *reply_counters(const struct agent *agent);

/* Why the processes of JOB follow or do not.  A look takes a while, in which
 * "pending" says to ask again. */
json_t *reply_why(struct agent *agent, struct job *job);

/* True when PEER may see the jobs of user UID: where slurm.conf has PrivateData=jobs,
 * or it is not known whether it has, only that user, root and SlurmUser. */
bool reply_may_see(const struct agent *agent, const struct peer *peer, uid_t uid);

/* True when PEER may see the jobs of all users. */
bool reply_may_see_all(const struct agent *agent, const struct peer *peer);

/* True when PEER may hear what a job of its user has loaded. */
bool reply_may_look(const struct peer *peer, const struct job *job);

#endif /* COSCHED_REPLIES_H */
