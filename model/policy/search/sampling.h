/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's sampling runs: allocations judged by running them. */

#ifndef COSCHED_MODEL_POLICY_SAMPLING_H
#define COSCHED_MODEL_POLICY_SAMPLING_H

/* Concept
 *
 * Thesis 4.5.1: "If not using the analytical model, MOCA can use a sampling run for each of these
 * allocations to measure their CPU utilization and memory bandwidth."  An evolution (evolution.h)
 * asks for an allocation, the caller puts it into effect and looks once an epoch, and what was
 * counted meanwhile is its worth:
 *
 *   cpu_util   time in which cores computed, by all time of all cores of the pool     (4.8)
 *   bw_util    requests by what the controllers can serve, mean over NUMA nodes       (4.9)
 *
 * The first look that finds an allocation in effect begins its run, so that moves and cold caches
 * are no part of it.  A run is over when each job has been counted for SAMPLING_US.  It begins
 * anew when the allocation was changed by others or when a job has left its parallel regions
 * (sampling_pause()).  What runs and is judged is what is in effect, whatever the policies' common
 * rules have made of what was asked for; during the run they make nothing else of it.
 *
 * The first of the four allocations is the present one: no other is taken that measured worse.
 * Where a run does not come to its end in SAMPLING_LOOKS looks, jobs cannot be counted for as
 * long as that; the best so far is the answer.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/policy.h"
#include "model/policy/search/evolution.h"

#define SAMPLING_US 140000.0 /* three epochs of the default length, nearly */
#define SAMPLING_LOOKS 40
#define SAMPLING_GENERATIONS 4

enum sampling_state {
    SAMPLING_VAIN, /* nothing could be measured: decide otherwise */
    SAMPLING_ASKS, /* to be run: look again when it is in effect */
    SAMPLING_RUNS, /* what is in effect: look again */
    SAMPLING_DONE, /* the best of all */
};

struct sampling;

/* Room for sampling on MACHINE, which must outlive it and not change.  NULL when out of memory. */
struct sampling *sampling_new(const struct machine *machine);

/* Takes NULL. */
void sampling_free(struct sampling *sampling);

/* Look: what is in effect is INPUT->start, and of JOBS [INPUT->space->jobs] `facts->counted` so
 * much has been counted.  *RESULT, as of evolution_run(): what should be in effect, with the worth
 * of the best so far (0 where there is none).  With another KEY than last time all begins anew.
 * MODEL_EINVAL as of chromosome_judge_set().  Allocates nothing. */
enum model_status sampling_look(struct sampling *sampling, uint64_t key,
                                const struct evolution_input *input,
                                const struct policy_job *jobs, enum sampling_state *state,
                                struct evolution_result *result);

/* A job is not in a parallel region: the present run does not count. */
void sampling_pause(struct sampling *sampling);

#endif /* COSCHED_MODEL_POLICY_SAMPLING_H */
