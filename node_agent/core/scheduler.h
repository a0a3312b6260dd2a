/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Decides when CPUs change hands. */

#ifndef COSCHED_SCHEDULER_H
#define COSCHED_SCHEDULER_H

/* Concept
 *
 * The scheduler checks at each epoch, and at once when something happened.  It plans
 * anew only if something that a plan depends on has changed, and has the CPUs moved
 * (mover.h).
 */

#include "node_agent/core/decisions.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/host.h"
#include "node_agent/core/job.h"
#include "node_agent/core/observer.h"
#include "node_agent/topology/topology.h"
#include "node_agent/core/trace.h"
#include "protocol/options.h"

struct scheduler;

/* Parts that the scheduler works with; all must outlive it. */
struct scheduler_parts {
    struct host *host;
    struct job_table *jobs;
    const struct topology *topology;
    const struct node_options *options;
    struct observer *observer;
    struct enforcer *enforcer;
    struct trace *trace;
    struct decisions *decisions;
    struct recorder *recorder;
    char *const *drained; /* why CPUs are not divided; NULL, or to NULL: they
                             are */
};

struct scheduler *scheduler_new(const struct scheduler_parts *parts);

/* Something happened: decide now.  WHY ends up in the decision log. */
void scheduler_trigger(struct scheduler *scheduler, const char *why);

/* A task or process of JOB began or ended: keep its times, then decide because of WHY. */
void scheduler_job_changed(struct scheduler *scheduler, struct job *job,
                           const char *why);

/* Forget the policy's state and plan anew.  -1 with errno ENOMEM, nothing forgotten. */
int scheduler_forget(struct scheduler *scheduler);

/* An epoch has passed: heartbeat, observe, enforce, decide if needed. */
void scheduler_epoch(struct scheduler *scheduler);

/* Sums since its start. */
struct scheduler_totals {
    uint64_t decisions;   /* how often it was to decide, */
    uint64_t plans;       /* made a plan for that, */
    uint64_t plan_ns;     /* and how long plans and moves took; no waiting */
    uint64_t plan_max_ns; /* the longest */
    uint64_t moves;       /* cores that came to a job or left one */
};

const struct scheduler_totals *scheduler_totals(const struct scheduler *scheduler);

/* Takes NULL. */
void scheduler_free(struct scheduler *scheduler);

#endif /* COSCHED_SCHEDULER_H */
