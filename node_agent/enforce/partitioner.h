/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Limits what jobs fill of shared caches, where the administrator wants it. */

#ifndef COSCHED_PARTITIONER_H
#define COSCHED_PARTITIONER_H

/* Concept
 *
 * The partitioner stands between what was counted of the jobs, the rules
 * (model/cache.h) and the kernel (resctrl_control.h).  It looks once a second
 * while cosched_cache or cosched_bandwidth is on, and is not there otherwise:
 * nothing is counted for it, nothing is opened, nothing is written.
 *
 * Rules need jobs that own their cores.  While the kernel shares out the cores
 * (policy native, sharing drained) nobody is limited.
 *
 * When the agent is killed its warden removes the groups; should that be killed,
 * too, the next agent does.
 */

#include <jansson.h>

#include "node_agent/counters/counters.h"
#include "node_agent/counters/resctrl.h"
#include "node_agent/core/decisions.h"
#include "node_agent/core/host.h"
#include "node_agent/core/job.h"
#include "node_agent/core/observer.h"
#include "node_agent/topology/topology.h"
#include "node_agent/enforce/warden.h"

#define PARTITIONER_LOOK_NS UINT64_C(1000000000)
#define PARTITIONER_RETRY_NS UINT64_C(60000000000) /* where resctrl was not there */

struct partitioner;

/* Parts that it works with; all outlive it. */
struct partitioner_parts {
    struct host *host;
    struct job_table *jobs;
    const struct topology *topology;
    const struct node_options *options;
    const struct counters_setup *setup;
    struct observer *observer;     /* NULL: CPUs are followed once a second */
    struct decisions *decisions;
    struct warden *warden;         /* NULL: nobody cleans up for a killed agent */
    const struct resctrl_source *source; /* NULL: the kernel's */
};

/* NULL when out of memory.  Groups of killed agents are removed at once, with
 * COUNTERS (as counters_open() takes it) saying where resctrl is, if it says
 * "resctrl:DIRECTORY". */
struct partitioner *partitioner_new(const struct partitioner_parts *parts,
                                    const char *counters);

/* Begin, go on with other rules, or undo everything, as the options say. */
void partitioner_configure(struct partitioner *partitioner,
                           const char *counters);

/* An epoch has passed. */
void partitioner_epoch(struct partitioner *partitioner);

/* What the options ask for in vain, one line; "": nothing. */
const char *partitioner_problem(const struct partitioner *partitioner);

/* The limits that JOB has: null, or a list of {"cpu_node", "cache", "bandwidth"}, parts
 * of 1, for the CPU nodes where it has less than all. */
json_t *partitioner_json(const struct partitioner *partitioner,
                         const struct job *job);

/* Undo everything.  Takes NULL. */
void partitioner_free(struct partitioner *partitioner);

#endif /* COSCHED_PARTITIONER_H */
