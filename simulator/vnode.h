/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A simulated node: simulated jobs under the agent's own scheduler. */

#ifndef COSCHED_SIMULATOR_VNODE_H
#define COSCHED_SIMULATOR_VNODE_H

/* Concept
 *
 *     scenario ──> vjob ──report page──> observer, region, plan, policy
 *                    ^                        │            (node_agent/, model/)
 *                    └──── allotment page ── scheduler ── timers of virtual_host
 *                    │
 *              virtual_memory: how fast it gets on there
 *
 * The boxes on the right are the object files of coschedd; nothing in them knows that time is
 * virtual.  The node does what the agent's request handlers do: announce a job, add its task,
 * attach, detach, withdraw, and call each epoch.
 *
 * Between two events (a region ends, a runtime obeys, a timer comes due, a job arrives) all jobs
 * run at constant speed, so ten minutes on 64 cores are some ten thousand steps.
 *
 * Jobs whose CPUs overlap share time (timeshare.h); others have their cores for themselves.  With
 * policy `native` all run with the stock runtime.  The same input gives the same run on any
 * machine.
 */

#include <jansson.h>
#include <stdint.h>

#include "model/machine.h"
#include "model/network.h"
#include "common/errtext.h"
#include "protocol/layout.h"
#include "protocol/options.h"
#include "simulator/scenario.h"
#include "simulator/timeshare.h"

/* What a job's record tells its next run. */
struct vnode_earlier {
    double done_s; /* time alone for what it has done */
    size_t ults;   /* threads per core, if it starts a number of its own; 0: not said */
};

struct vnode_config {
    const struct machine *machine;
    const struct scenario *scenario;
    struct node_options options; /* as from slurm.conf; the policy is there */
    const struct concurrency_model *model; /* predicts how many cores are of use; or NULL */
    const char *counters; /* "progress" or "virtual" (an exact PMU) */
    double noise;         /* of the virtual counters: relative standard error of
                             each value, >= 0 */
    enum network_method network; /* of virtual_memory.h */
    enum timeshare_wait wait; /* of stock runtimes */
    bool stock; /* all runtimes are; else those under `native` */
    const struct vnode_earlier *earlier; /* [scenario->jobs] what the records of earlier runs
                                            tell of each job; NULL: nothing */
    uint64_t seed;
    const char *record; /* directory for a recording, or NULL */
    double limit_s; /* of virtual time; beyond it the run is given up */
};

/* Defaults for MACHINE and SCENARIO. */
void vnode_config_init(struct vnode_config *config,
                       const struct machine *machine,
                       const struct scenario *scenario);

/* What became of a job. */
struct vnode_job {
    const char *name; /* the scenario's */
    double arrival_s, end_s;
    double turnaround_s; /* from its arrival */
    double core_s;       /* cores it had */
    double busy_s;       /* of them computing or stalled on memory */
    double work_s;       /* of them computing */
    struct vnode_earlier record; /* for its next run */
    uint64_t moves;      /* times that its CPUs changed */
};

/* CPUS were JOB's (number in the scenario) from then on. */
struct vnode_change {
    double time_s;
    size_t job;
    struct cosched_cpuset cpus;
};

struct vnode_result {
    const struct scenario *scenario;
    char policy[OPTIONS_POLICY_MAX];
    size_t cpus; /* highest number + 1 */
    size_t cores;
    struct vnode_job *job; /* [scenario->jobs] */
    double makespan_s;     /* from the first arrival */
    double core_util;      /* busy part of all cores' time until then */
    double compute_util;   /* computing part of it */
    size_t controllers, links;
    double *utilisation;   /* [controllers + links], mean over the makespan */
    size_t decisions;      /* written down, with their reasons */
    double decide_mean_us, decide_max_us; /* real time of a decision: the only
                                             numbers that differ from run to
                                             run */
    size_t moved_cpus;     /* CPUs that changed hands */
    struct vnode_change *change; /* [changes], in order of time */
    size_t changes;
    json_t *log;           /* the agent's decisions, oldest first */
    int trace_fd;          /* the agent's trace (trace_json.h), */
    uint64_t trace_end_ns; /* and its end */
    size_t solved, asked;  /* networks (virtual_memory.h) */
};

/* Run CONFIG to the end.  A new result, or NULL with errno EINVAL (options),
 * ETIME (not done within the limit), EDEADLK (jobs are left without CPUs),
 * ENOMEM, ERANGE where the network has no solution, or what recorder_start()
 * says, and ERR. */
struct vnode_result *vnode_run(const struct vnode_config *config,
                               struct errtext *err);

/* Takes NULL. */
void vnode_result_free(struct vnode_result *result);

#endif /* COSCHED_SIMULATOR_VNODE_H */
