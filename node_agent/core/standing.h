/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How jobs and the node stand now: for people, monitoring and what jobs have done. */

#ifndef COSCHED_STANDING_H
#define COSCHED_STANDING_H

/* Concept
 *
 * Nothing here is kept: it is worked out from jobs, regions and the model when somebody asks.
 * What is not known is NAN or NULL, never 0.
 *
 *   predicted  speed of a job's present region relative to that on all its cores alone, by the
 *              last decision in which it was in that region on as many cores; else what part of
 *              its cores it has
 *   measured   the same from the rates of work that were measured: at the present number of
 *              cores, relative to the largest number that it was measured at, which the profile
 *              brings to all its cores
 *   load       of each controller and link, by the model, from the profiles of all jobs that run
 */

#include <stdbool.h>

#include "node_agent/core/job.h"
#include "node_agent/topology/topology.h"

struct standing {
    double predicted, measured;
    const char *limit; /* what keeps it from being faster: "turn", "stopped", "serial",
                          "barrier", "memory", "compute" */
};

void standing_of(const struct job *job, const struct topology *topology,
                 struct standing *standing);

/* JOB's predicted speed; 0 without cores. */
double standing_speed(const struct job *job, const struct topology *topology);

/* Set LOAD[numa_nodes + links] to the utilisation of the controllers, then of the links, and
 * *COMPUTING to the cores' worth of computing.  False, and nothing is set, when a parallel job
 * has no profile, there are more jobs than a decision is about, or out of memory. */
bool standing_load(const struct job_table *jobs, const struct topology *topology, double *load,
                   double *computing);

#endif /* COSCHED_STANDING_H */
