/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the jobs are doing: from report pages to sections and measurements. */

#ifndef COSCHED_OBSERVER_H
#define COSCHED_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "node_agent/counters/counters.h"
#include "node_agent/job.h"
#include "node_agent/topology.h"
#include "protocol/options.h"

struct observer;

/* COUNTERS and TOPOLOGY must outlive the observer. */
struct observer *observer_new(struct counters *counters,
                              const struct topology *topology);

/* Read all report pages and bring each live job's kind, section, profile and
 * record up to NOW_NS.  Call it at each epoch and before allotments change, so
 * that a job's CPUs were the same since the last call; an interval in which
 * they were not (job->changed_ns) is not measured. */
void observer_update(struct observer *observer, struct job_table *jobs,
                     const struct node_options *options, uint64_t now_ns);

/* Takes NULL. */
void observer_free(struct observer *observer);

#endif /* COSCHED_OBSERVER_H */
