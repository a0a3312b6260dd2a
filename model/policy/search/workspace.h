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

#include "model/layout.h"
#include "model/lumped.h"
#include "model/policy.h"

struct policy_workspace {
    const struct machine *machine;
    size_t max_jobs;
    size_t *size;  /* [cpu_nodes] CPUs */
    size_t *first; /* [cpu_nodes] begin of a CPU node's in CPU */
    size_t *cpu;   /* [cpus] by CPU node, ascending */
    size_t *pool;  /* [cpu_nodes] CPUs in the pool */
    size_t *have;  /* [cpu_nodes * max_jobs] CPUs per node and job */
    size_t *layout; /* [cpu_nodes * max_jobs] of the proposal */
    size_t *fresh;  /* [cpu_nodes * max_jobs] as if nobody had a CPU */
    size_t *cores;  /* [max_jobs] of the proposal */
    size_t *trial;  /* [max_jobs] for who tries others */
    struct policy_job *jobs; /* [max_jobs] with bounds that fit */
    const struct workload **profile; /* [max_jobs] */
    double *speed;                   /* [max_jobs] predicted */
    double *alone;                   /* [max_jobs] predicted */
    double *delay;    /* [cpu_nodes * mem_nodes] of routes, us */
    double *distance; /* [cpu_nodes * max_jobs] from a job's memory */
    double *noise;    /* [cpu_nodes] LLC accesses, as far as known */
    struct layout_room *room; /* for placing */
    struct workload *compute; /* for serial jobs without a profile */
    struct lumped *lumped;
    struct past *past; /* predictions of this and earlier decisions */
};

#endif /* COSCHED_MODEL_POLICY_WORKSPACE_H */
