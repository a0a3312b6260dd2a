/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the jobs are doing: from report pages to regions and measurements. */

#ifndef COSCHED_OBSERVER_H
#define COSCHED_OBSERVER_H

#include <stdint.h>

#include "node_agent/counters/attribute.h"
#include "node_agent/counters/counters.h"
#include "node_agent/core/job.h"
#include "node_agent/topology/topology.h"
#include "protocol/options.h"

struct observer;
struct stall_watch;
struct colocation_watch;
struct recorder;

/* A job in an interval in which its CPUs were the same. */
struct observer_reading {
    struct job *job;
    struct region *region; /* that it was in all the time; NULL: none, or
                                several */
    size_t dop;              /* cores */
    double work[COUNTERS_UNITS]; /* done in that region */
    double idle_ns; /* CPU time that its workers spun for without work */
};

/* What READING's job ran, of which SHARE was counted: on one core it is COMPUTE, the profile of who
 * computes.  NULL: that is not known. */
const struct workload *observer_profile(const struct observer_reading *reading,
                                        const struct attribute_job *share,
                                        const struct workload *compute);

/* Counters, topology and recorder must outlive the observer. */
struct observer *observer_new(struct counters *counters,
                              const struct topology *topology,
                              struct recorder *recorder);

/* Whether interleaved pages follow their cores from now on (colocation_watch.h); not at first. */
void observer_move_pages(struct observer *observer, bool pages);

/* Count with COUNTERS from now on; all regions must have been cleared. */
void observer_use(struct observer *observer, struct counters *counters);

/* Give each of COUNT jobs its part of SAMPLE, advance regions that were measured for PROFILE_NS,
 * let STALLS learn, and COLOCATION, if it is not NULL, say where pages should be.
 * SHARES has ids and CPUs of the same jobs.  For observer_update() and
 * replays. */
void observer_learn(const struct counters *counters, struct stall_watch *stalls,
                    struct colocation_watch *colocation,
                    const struct sample *sample,
                    const struct observer_reading *readings,
                    struct attribute_job *shares, size_t count,
                    uint64_t profile_ns);

/* Read all report pages and bring each live job's kind, region, profile and record up to
 * NOW_NS.  Call it each epoch and before allotments change, so that a job's CPUs were the same
 * since the last call; an interval in which they were not is not measured. */
void observer_update(struct observer *observer, struct job_table *jobs,
                     const struct node_options *options, uint64_t now_ns);

/* What an update would find now. */
enum observer_glance {
    OBSERVER_NOTHING,
    OBSERVER_SERIAL,   /* a job whose serial stretch has lasted for its patience, */
    OBSERVER_PARALLEL, /* or one that lends its cores and wants to have them back */
};

/* A few system calls for each process. */
enum observer_glance observer_glance(struct job_table *jobs, uint64_t now_ns);

/* From now on predict by MODEL, which must outlive the observer, how many cores are of use. */
void observer_predict(struct observer *observer, const struct concurrency_model *model);

/* Takes NULL. */
void observer_free(struct observer *observer);

#endif /* COSCHED_OBSERVER_H */
