/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the parts of the simulated node share. */

#ifndef COSCHED_SIMULATOR_VNODE_PRIVATE_H
#define COSCHED_SIMULATOR_VNODE_PRIVATE_H

#include "node_agent/counters/counters.h"
#include "node_agent/core/decisions.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/scheduler.h"
#include "node_agent/core/trace.h"
#include "simulator/virtual_counters.h"
#include "simulator/virtual_memory.h"
#include "simulator/vjob.h"
#include "simulator/vnode.h"

/* Who runs where, and how fast. */
struct vnode_rates {
    struct virtual_memory *memory;
    struct virtual_load load[SCENARIO_MAX_JOBS];
    struct vjob *who[SCENARIO_MAX_JOBS]; /* of each load */
    bool alone[SCENARIO_MAX_JOBS]; /* each has its cores for itself */
    size_t loads;
    double *cores; /* [SCENARIO_MAX_JOBS * llc_domains] */
    double *asked; /* [jobs * llc_domains * numa_nodes], of those whose threads have own data */
    struct virtual_rates out;
};

struct vnode {
    const struct vnode_config *config;
    struct vjob_node node;
    struct vjob *job; /* [scenario->jobs] */
    size_t jobs;
    struct vnode_rates rates;
    struct timeshare_params params;

    /* the agent's */
    struct host *host;
    struct job_table table;
    struct topology *topology;
    struct node_options options;
    struct virtual_counters *pmu;
    struct counters *counters;
    struct observer *observer;
    struct enforcer *enforcer;
    struct trace *trace;
    struct decisions *decisions;
    struct scheduler *scheduler;
    struct recorder *recorder; /* NULL: nothing is recorded */
    struct host_timer *epoch;

    /* for the result */
    struct cosched_cpuset *before; /* [jobs] CPUs last written down */
    struct vnode_result *result;
    size_t room;      /* for changes */
    double *util_s;   /* [numa_nodes + links] utilisation times seconds */
};

/* rates: find the speeds of all jobs anew.  -1 with errno and ERR. */
int vnode_rates_init(struct vnode *node);
int vnode_rates_update(struct vnode *node, struct errtext *err);
void vnode_rates_free(struct vnode *node);

#endif /* COSCHED_SIMULATOR_VNODE_PRIVATE_H */
