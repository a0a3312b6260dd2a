/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Asks what the regions are called that jobs spend most of their time in. */

#ifndef COSCHED_NAMER_H
#define COSCHED_NAMER_H

/* Concept
 *
 * A region's name is in files of the job's user, which may be hostile, huge, or on a file server
 * that is dead, and which are gone with the job.  The agent opens none of them, and could not
 * become the user: while the job runs it asks coschedd-names (names/main.c), which systemd starts
 * for each question at the socket beside the agent's, with rights and limits of its own.
 *
 * A job is asked about NAMER_FIRST_NS after it has a region, then in intervals that double, if
 * one of its hot regions (core/hot.h) has not been asked about.  NAMER_MOST questions wait for
 * their answers at a time, one of each user, for NAMER_WAIT_NS each.  Where nobody listens,
 * nobody is asked for NAMER_ABSENT_NS.  So the cost does not grow with what a job does, and no
 * user's files delay the names of others for long.
 */

#include "node_agent/core/job.h"
#include "node_agent/daemon/event.h"

#define NAMER_FIRST_NS  UINT64_C(500000000)
#define NAMER_WAIT_NS   UINT64_C(4000000000)
#define NAMER_ABSENT_NS UINT64_C(60000000000)
#define NAMER_MOST      4

struct namer;

/* Ask at the socket beside SOCKET, about JOBS.  NULL when out of memory. */
struct namer *namer_new(sd_event *event, struct job_table *jobs, const char *socket);

/* Ask about those whose turn it is. */
void namer_epoch(struct namer *namer, uint64_t now_ns);

/* Takes NULL. */
void namer_free(struct namer *namer);

#endif /* COSCHED_NAMER_H */
