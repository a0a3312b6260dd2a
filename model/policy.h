/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Allocation policies: who gets which CPU of the pool. */

#ifndef COSCHED_MODEL_POLICY_H
#define COSCHED_MODEL_POLICY_H

/* Concept
 *
 * A policy is a pure function from the machine, the pool and the jobs' present
 * sections to an owner for each CPU of the pool.  Agent and simulator call the
 * same code.  Same input, same output.
 *
 * Rules that hold for every policy (checked by policy_decide(), which all
 * callers use):
 *   - each CPU of the pool has one owner, or none when every job is at its
 *     maximum; no CPU outside the pool has one;
 *   - each job has at least min_cores (>= 1) if the pool is large enough for
 *     all, and never more than max_cores;
 *   - a job in a serial section has one core (its min_cores if greater is
 *     ignored while serial);
 *   - unit of allocation: a CPU node where the pool has at least as many
 *     whole CPU nodes as there are parallel jobs, else a core;
 *   - CPUs that a job has now stay with it where the counts allow it, and
 *     CPUs of one job are packed on as few CPU nodes as possible.
 *
 * There must be at least as many CPUs in the pool as jobs; with more jobs the
 * caller lets them take turns (turns_select()).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/machine.h"
#include "model/status.h"
#include "model/workload.h"

#define POLICY_REASON_MAX 256
#define POLICY_NOBODY (-1)   /* owner[]: in the pool, nobody's */
#define POLICY_NO_CPU (-2)   /* owner[]: not in the pool */

struct policy_job {
    uint32_t id;                    /* for the reason's text only */
    enum section_kind kind;         /* present section */
    const struct workload *profile; /* NULL: not known yet */
    size_t min_cores;               /* >= 1 */
    size_t max_cores;               /* >= min_cores */
    double weight;                  /* > 0, 1 is normal */
};

struct policy_workspace;

struct policy_input {
    const struct machine *machine;
    const struct policy_job *jobs; /* [job_count] */
    size_t job_count;              /* >= 1 */
    const int *owner; /* [machine->cpus] present owners: index into jobs,
                         POLICY_NOBODY or POLICY_NO_CPU */
    struct policy_workspace *workspace; /* NULL: a new one per decision */
};

struct policy_decision {
    int *owner; /* [machine->cpus], the caller's array; filled on success */
    double system_util;             /* predicted NuUtil (thesis 4.7) */
    char reason[POLICY_REASON_MAX]; /* one sentence with its numbers */
};

struct policy {
    const char *name; /* as in slurm.conf */
    const char *help; /* one line */
    /* Called by policy_decide(), with a workspace.
     * Choose cores (or CPU nodes) per job: cores[job_count], whose sum is at
     * most the pool's size, obeying minima and maxima, and the reason. */
    enum model_status (*decide)(const struct policy_input *input,
                                size_t *cores, struct policy_decision *out);
};

/* All policies, terminated by NULL: nupoco, greedy, equal. */
extern const struct policy *const policies[];

/* The policy called NAME, or NULL. */
const struct policy *policy_find(const char *name);

/* Work space for decisions on up to JOBS (>= 1) jobs on MACHINE, which must
 * outlive it and not change: with it a decision allocates nothing.  NULL when
 * out of memory or MACHINE is bad. */
struct policy_workspace *policy_workspace_new(const struct machine *machine,
                                              size_t jobs);

/* Takes NULL. */
void policy_workspace_free(struct policy_workspace *workspace);

/* Decide with POLICY and place the result.  MODEL_EINVAL for bad input (no
 * CPU per job, owners out of range, bad machine or profile, a workspace of
 * another machine or for fewer jobs). */
enum model_status policy_decide(const struct policy *policy,
                                const struct policy_input *input,
                                struct policy_decision *out);

/* Turns for more jobs than cores.  Of JOBS jobs (in a fixed order) with CORES
 * cores, mark those that run in slice number SLICE (0, 1, ...): a window that
 * moves round robin, so that over JOBS slices each job runs CORES times. */
void turns_select(size_t jobs, size_t cores, uint64_t slice, bool *runs);

#endif /* COSCHED_MODEL_POLICY_H */
