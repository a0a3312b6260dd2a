/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From what was measured of a region to what policies may know of it. */

#ifndef COSCHED_PLAN_FACTS_H
#define COSCHED_PLAN_FACTS_H

#include "model/policy.h"
#include "node_agent/counters/measure.h"
#include "node_agent/core/job.h"

/* Facts of one job with the arrays that they point to. */
struct plan_facts {
    struct policy_facts facts;
    struct station_sample points[MEASURE_POINTS];
    double *llc_access, *llc_miss; /* [llc_domains], the caller's */
};

/* Fill FACTS from what is known of JOB and measured of its present region, if
 * it has one, which runs on DOP cores now, on a machine of LLC_DOMAINS LLC domains.
 * Throughputs are in the finest unit of work that moved at each DoP. */
void plan_facts_fill(struct plan_facts *facts, const struct job *job,
                     size_t dop, size_t llc_domains);

/* What FACTS say of JOB alone on WHOLE cores, all that it could have: `alone_need` and
 * `shared_cores`, from those of its regions that ran on both. */
void plan_facts_alone(struct plan_facts *facts, const struct job *job, size_t whole);

/* MEAN for a region whose profile is not known: the mean of the job's others, by the time that
 * each has run.  False when none is known. */
bool plan_facts_mean(const struct job *job, struct workload *mean);

#endif /* COSCHED_PLAN_FACTS_H */
