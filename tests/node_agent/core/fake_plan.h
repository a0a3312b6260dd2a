/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A planner with jobs in parallel regions, on a machine that is not there. */

#ifndef COSCHED_FAKE_PLAN_H
#define COSCHED_FAKE_PLAN_H

#include <stdlib.h>

#include "node_agent/core/plan.h"

#define PLAN_JOBS 4

struct fixture {
    struct topology *topology;
    struct job_table table;
    struct job *jobs[PLAN_JOBS]; /* 1, 2, ...; all CPUs are granted */
    struct plan_share share[PLAN_JOBS];
    struct plan plan;
    struct plan_input input; /* of the first two jobs, under nupoco */
    struct planner *planner;
};

/* On the machine that hwloc calls SYNTHETIC; for cmocka's setup. */
static inline int fake_plan_new(void **state, const char *synthetic)
{
    struct fixture *f = calloc(1, sizeof(*f));

    setenv("HWLOC_SYNTHETIC", synthetic, 1);
    f->topology = topology_new(NULL, NULL);
    unsetenv("HWLOC_SYNTHETIC");
    for (uint32_t i = 0; i < PLAN_JOBS; i++) {
        f->jobs[i] = job_add(&f->table, i + 1);
        f->jobs[i]->doing = JOB_MALLEABLE;
        f->jobs[i]->granted = *topology_cpus(f->topology);
    }
    f->input = (struct plan_input){.topology = f->topology,
                                   .policy = "nupoco",
                                   .jobs = f->jobs,
                                   .count = 2,
                                   .fairness_percent =
                                       POLICY_FAIRNESS_PERCENT};
    f->plan.share = f->share;
    f->planner = f->topology ? planner_new(f->topology) : NULL;
    *state = f;
    return f->planner ? 0 : -1;
}

/* For cmocka's teardown. */
static inline int fake_plan_free(void **state)
{
    struct fixture *f = *state;

    while (f->table.first)
        job_remove(&f->table, f->table.first);
    planner_free(f->planner);
    topology_free(f->topology);
    free(f);
    return 0;
}

#endif /* COSCHED_FAKE_PLAN_H */
