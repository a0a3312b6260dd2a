/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Looks at jobs that do not follow, and keeps what was found. */

#ifndef COSCHED_LOOKS_H
#define COSCHED_LOOKS_H

/* Concept
 *
 * A look goes through files of the job's user (follow_look.h), which may never
 * answer, so a forked child does it and writes what it finds into a pipe.  It
 * is killed after LOOK_NS, and has as much CPU time at most.  LOOKS_MOST look
 * at a time; a child that cannot be killed (it waits for a dead file server)
 * does not count, but its job is not looked at again.
 *
 * A job is looked at when it has settled as pinned or, without any process
 * attached, as serial, each time but not twice in LOOK_PAUSE_NS; and when its
 * user asks.  What was found last stays, and goes into the job's record unless
 * a process attached.
 */

#include <stdbool.h>

#include "node_agent/core/job.h"
#include "node_agent/daemon/event.h"
#include "node_agent/enforce/follow_look.h"

#define LOOK_NS       UINT64_C(2000000000)
#define LOOK_PAUSE_NS UINT64_C(10000000000)
#define LOOK_ASKED_NS                                                          \
    UINT64_C(500000000)   /* what was found is as new for who asks */
#define LOOK_PROCESSES 16 /* of a job; those that used most CPU time */
#define LOOKS_MOST     4

struct looks;

/* NULL when out of memory. */
struct looks *looks_new(sd_event *event);

/* Take down all of them.  Takes NULL. */
void looks_free(struct looks *looks);

/* Look at those of JOBS that have settled, anew or differently. */
void looks_epoch(struct looks *looks, struct job_table *jobs, uint64_t now_ns);

/* The user of JOB asks: look at it, unless that was done a moment ago.  True
 * while the answer is still to come. */
bool looks_ask(struct looks *looks, struct job *job, uint64_t now_ns);

/* What was found of JOB's processes, that with most CPU time first; *COUNT may
 * be 0. */
const struct follow_process *looks_found(const struct job *job, size_t *count);

/* Forget JOB's: it ends, or begins anew. */
void looks_forget(struct job *job);

#endif /* COSCHED_LOOKS_H */
