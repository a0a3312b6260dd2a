/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A plan: which CPUs each live job should have now. */

#ifndef COSCHED_PLAN_H
#define COSCHED_PLAN_H

/* Concept
 *
 * A plan is a function of what is known at one moment and of the policy's state.  It
 * adds to the policy (model/policy.h) what the node knows and the model does not:
 *
 *   pool       the union of what Slurm granted to live jobs; a job never gets a CPU
 *              that Slurm did not give it
 *   turns      with more live jobs than cores some are parked, as are jobs that the
 *              policy lets wait
 *   drained    nothing is divided: each job has what Slurm granted it
 *   native     the kernel shares the time: shares overlap
 *   profiling  one job at a time gets the DoP at which its region is to be measured.
 *              The papers' "whole pool" is the pool less one core for each other
 *              job.  For policies that may let jobs take turns it is the pool,
 *              while the others wait, where no counters tell (region.h).
 *   clean      a job's first regions have the pool to themselves for cosched_clean
 *              (NuPoCo 5.1): its data are first touched on all nodes, and its first
 *              profile is not disturbed.  Others wait so long for each job.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/policy.h"
#include "node_agent/core/job.h"
#include "node_agent/core/mapper.h"
#include "node_agent/topology/topology.h"

struct plan_input {
    const struct topology *topology;
    const char *policy;  /* the node's */
    const char *policy_options; /* "NAME:VALUE;..." for it; NULL: none */
    struct job **jobs;   /* [count] live, in order of announcement */
    size_t count;        /* >= 1 */
    uint64_t slice;      /* number of the present turn */
    struct region_budget budget; /* of probes */
    uint64_t clean_ns; /* time for which a job's first regions run alone */
    size_t max_jobs; /* that have cores at a time; 0: as many as cores */
    int fairness_percent; /* margin of the fairness bound; 100: no bound */
    const char *drained; /* why nothing is divided; NULL: it is */
    bool terse; /* the reason of a periodic plan that changes nothing may be
                   left out */
};

struct plan_share {
    struct cosched_cpuset cpus; /* empty when parked */
    bool parked;
    size_t profile_dop; /* > 0: measured at this DoP, */
    bool alone;         /* while the other jobs wait; */
    bool halved;        /* or without every second core of its own */
    double relative_speed;        /* predicted speed relative to that alone */
};

struct plan {
    const struct policy *policy; /* that decided */
    struct plan_share *share;    /* [count], the caller's */
    bool periodic; /* make another one in the next epoch, whatever happens */
    bool turns;  /* jobs take turns; others run in the next slice */
    bool native; /* shares overlap: the kernel shares the time */
    enum mapper_rule mapping; /* of threads, once it is known who has how many cores */
    char reason[POLICY_REASON_MAX + 64]; /* "": `terse`, and all as before */
};

/* Work space, so that a plan allocates nothing, and the policy's state, which another policy
 * begins anew. */
struct planner;

/* For a node of TOPOLOGY, which must outlive it.  NULL when out of memory. */
struct planner *planner_new(const struct topology *topology);

/* Takes NULL. */
void planner_free(struct planner *planner);

/* Make *PLAN (share set by the caller).  0, or -1 with errno ENOMEM, ENODEV (no
 * CPU to give) or EINVAL (the policy or its options are refused) and ERR. */
int plan_make(struct planner *planner, const struct plan_input *input,
              struct plan *plan, struct errtext *err);

/* What SHARE is given to JOB for begins: a probe, if it is one. */
void plan_grant(const struct plan_share *share, struct job *job,
                const struct region_budget *budget);

/* Is JOB of INPUT to have the pool to itself, as it is new? */
bool plan_is_new(const struct plan_input *input, const struct job *job);

/* True when PLAN gives a job of INPUT other CPUs than it has, parks it or ends
 * that. */
bool plan_differs(const struct plan_input *input, const struct plan *plan);

/* Whether TEXT, "NAME:VALUE;NAME:VALUE", are options of the policy called
 * NAME: 0, or -1 with errno EINVAL and ERR, which names what is wrong as
 * typed. */
int plan_check_options(const char *name, const char *text, struct errtext *err);

/* Set VALUES[POLICY_OPTIONS_MAX] to POLICY's defaults, then to what TEXT says.  -1 as
 * plan_check_options(). */
int plan_options(const struct policy *policy, const char *text, double *values,
                 struct errtext *err);

/* Cores that are of use to the region of JOB by policy OPTIONS; 0: all, as far as is known. */
size_t plan_useful(const struct job *job, const double *options);

/* What JOB wants least of, as it said or as OPTIONS do for all. */
enum concurrency_objective plan_objective(const struct job *job, const double *options);

/* Whether these options have threads mapped, so that requests of threads are to be counted. */
bool plan_maps(const char *name, const char *text);

/* The policy that all jobs which name one agree on, else the node's. */
const struct policy *plan_policy(const struct plan_input *input);

/* Weight of JOB: what the controller said, else what the user asked for, but at most 1, as
 * nobody has checked that. */
double plan_weight(const struct job *job);

#endif /* COSCHED_PLAN_H */
