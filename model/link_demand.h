/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the cores of a job ask of the links between NUMA nodes. */

#ifndef COSCHED_MODEL_LINK_DEMAND_H
#define COSCHED_MODEL_LINK_DEMAND_H

/* Concept
 *
 * A core of LLC domain i asks NUMA node m as often as its job's profile says, over the links of
 * the route from i to m (thesis 3.2.3).  Where all cores of a job ask alike this depends on i
 * only, and is kept for a mix.  A local job (model/locality.h) has data of its threads' own, which
 * its cores ask for where the others' cores leave it: this depends on where the job has cores,
 * and is kept until it is placed anew.
 */

#include "model/machine.h"
#include "model/workload.h"

struct link_demands;

/* What a core asks per us of computing. */
struct link_demand {
    const double *read;   /* [links] visits that stall */
    const double *posted; /* [links] time of requests that do not stall, us */
    double delay;         /* us on links without queues */
};

/* Of more links than these each is a delay without a queue: where all nodes are connected it has
 * next to no load. */
#define LINK_DEMAND_QUEUES 64

/* For up to JOBS jobs on MACHINE, which must outlive it and not change.  NULL when out of
 * memory. */
struct link_demands *link_demands_new(const struct machine *machine, size_t jobs);

/* Takes NULL. */
void link_demands_free(struct link_demands *demands);

/* Links that have a queue: all of the machine's or none. */
size_t link_demands_queues(const struct link_demands *demands);

/* Take the COUNT jobs of PROFILE, which must outlive what is asked.  Allocates nothing. */
void link_demands_prepare(struct link_demands *demands, const struct workload *const *profile,
                          size_t count);

/* Job number JOB has COUNTS[i * count + JOB] cores on each LLC domain i now, of which there is
 * one. */
void link_demands_place(struct link_demands *demands, size_t job, const size_t *counts);

/* Of a core of job number JOB, as it was placed, on LLC domain I, where it has one.  Holds until
 * the next link_demands_place() of it. */
struct link_demand link_demands_of(struct link_demands *demands, size_t job, size_t i);

#endif /* COSCHED_MODEL_LINK_DEMAND_H */
