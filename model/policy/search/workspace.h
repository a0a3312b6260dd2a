/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a decision works with, for the policies and the placement. */

#ifndef COSCHED_MODEL_POLICY_WORKSPACE_H
#define COSCHED_MODEL_POLICY_WORKSPACE_H

/* Concept
 *
 * policy_decide() counts the pool and copies the jobs once; everybody after it
 * reads them here.  All arrays are for max_jobs jobs on the machine, so that a
 * decision allocates nothing.
 */

#include <stdbool.h>

#include "model/layout.h"
#include "model/aggregated_mva.h"
#include "model/policy.h"

struct policy_workspace {
    const struct machine *machine;
    size_t max_jobs;
    size_t *size;  /* [llc_domains] CPUs */
    size_t *first; /* [llc_domains] begin of an LLC domain's in CPU */
    size_t *cpu;   /* [cpus] by LLC domain, ascending */
    size_t *pool;  /* [llc_domains] CPUs in the pool */
    size_t *have;  /* [llc_domains * max_jobs] CPUs per node and job */
    size_t *layout; /* [llc_domains * max_jobs] of the proposal */
    size_t *fresh;  /* [llc_domains * max_jobs] as if nobody had a CPU */
    size_t *cores;  /* [max_jobs] of the proposal */
    size_t *trial;  /* [max_jobs] for who tries others */
    struct policy_job *jobs; /* [max_jobs] with bounds that fit */
    const struct workload **profile; /* [max_jobs] */
    double *speed;                   /* [max_jobs] predicted */
    double *alone;                   /* [max_jobs] predicted */
    double *delay;    /* [llc_domains * numa_nodes] of routes, us */
    double *distance; /* [llc_domains * max_jobs] from a job's memory */
    double *noise;    /* [llc_domains] LLC accesses, as far as known */
    bool distances_differ, noises_differ; /* between LLC domains */
    struct layout_scratch *scratch; /* for placing */
    struct {
        uint64_t key; /* of what the bound is of; 0: none */
        size_t cores;
    } bound[POLICY_MAX_JOBS]; /* power.c's */
    struct workload *compute; /* for serial jobs without a profile */
    struct workload **lone;   /* [max_jobs] as profile[], had the job begun alone */
    struct aggregated_mva *aggregated;
    struct prediction_cache *predictions; /* predictions of this and earlier decisions */
};

#endif /* COSCHED_MODEL_POLICY_WORKSPACE_H */
