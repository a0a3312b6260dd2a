/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A plan in the making: for plan.c and plan_probes.c only. */

#ifndef COSCHED_PLANNER_H
#define COSCHED_PLANNER_H

#include "node_agent/core/plan.h"
#include "node_agent/core/plan_facts.h"

/* Jobs that one decision can be about; beyond that they take turns. */
#define MOST POLICY_MAX_JOBS

struct planner {
    const struct topology *topology;
    const struct machine *machine;
    struct policy_workspace *workspace;
    struct policy_state *state; /* of the policy that decided last, or NULL */
    const struct policy *state_of;
    double options[POLICY_OPTIONS_MAX];
    int *before;  /* [machine->cpus] */
    int *owner;   /* [machine->cpus] */
    double *llc;  /* [2 * MOST * machine->llc_domains] for the facts */
    bool *runs;   /* [room] */
    size_t room;
    int *whole;      /* [machine->cpus] who had what before a job was halved, */
    uint64_t halved; /* and of which jobs; 0: none is */
    uint64_t halved_kinds;
    /* of the plan in the making */
    const struct plan_input *input;
    size_t pool;  /* cores */
    size_t count; /* jobs that run */
    size_t index[MOST]; /* into input->jobs */
    struct policy_job jobs[MOST];
    struct plan_facts facts[MOST];
    struct workload *mean[MOST]; /* of a job's regions, for unknown ones */
    struct cosched_cpuset granted[MOST];
    struct cosched_cpuset native[MOST]; /* when the kernel shares the time */
    double relative_speed[MOST];
    enum policy_mode mode; /* of the decision */
};

#endif /* COSCHED_PLANNER_H */
