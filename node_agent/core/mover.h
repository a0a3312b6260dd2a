/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Moves CPUs between jobs. */

#ifndef COSCHED_MOVER_H
#define COSCHED_MOVER_H

/* Concept
 *
 * CPU sets of jobs are disjoint at every instant, so CPUs move in two phases.  First
 * the jobs that lose CPUs shrink.  When their runtimes have acknowledged, or after a
 * few milliseconds when their threads were moved by force, the others grow.  The
 * event loop runs on in between.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node_agent/core/enforcer.h"
#include "node_agent/core/host.h"
#include "node_agent/core/job.h"
#include "node_agent/core/trace.h"
#include "node_agent/topology/topology.h"

/* What it works with; all must outlive it. */
struct mover_parts {
    struct host *host;
    struct job_table *jobs;
    const struct topology *topology;
    struct enforcer *enforcer;
    struct trace *trace;
    void (*moved)(void *arg); /* jobs have other CPUs since now */
    void *arg;
};

/* Part of whoever has one; only `moving` is for others to read. */
struct mover {
    struct mover_parts p;
    bool moving;  /* between the phases */
    bool applied; /* any allotment, since `moved` was last called */
    bool forced;  /* threads of the late were moved in this transition */
    struct host_timer *ack_timer; /* runs while a shrink waits */
    uint64_t ack_deadline_ns;
    struct host_timer *recheck_timer;
    int rechecks; /* left */
};

void mover_init(struct mover *mover, const struct mover_parts *parts);

/* Gives each of JOBS[COUNT] its `target`, and takes all from jobs that do not live.  PARKED[i]: the
 * processes of JOBS[i] are stopped until it has CPUs again.  Called again between the
 * phases it goes on towards the new targets. */
void mover_move(struct mover *mover, const bool *parked, struct job **jobs, size_t count);

/* Divides JOB's CPUs anew among its processes, where they are several; between the
 * phases, when these are over.  That one of them grows before another has left is the job's own
 * affair. */
void mover_divide_again(struct mover *mover, struct job *job, uint64_t now_ns);

/* In each epoch: the same for processes that begin and end to compute, which changes what several
 * of one job have, not what a single one has. */
void mover_divide_changing(struct mover *mover, uint64_t now_ns);

/* Ends its timers. */
void mover_stop(struct mover *mover);

#endif /* COSCHED_MOVER_H */
