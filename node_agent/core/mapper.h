/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Maps threads and tasks to NUMA nodes. */

#ifndef COSCHED_MAPPER_H
#define COSCHED_MAPPER_H

#include "node_agent/core/decisions.h"
#include "node_agent/core/job.h"
#include "node_agent/core/thread_map.h"

/* Concept
 *
 * Counters tell which thread asked which NUMA node (counters/sample.h).  Threads of pinned jobs are
 * held where their data are (thread_map.h); attached processes are told where their tasks should
 * run (task_maps.h).  A program touches its data
 * soon after it has begun, perhaps before a scan has found out whose process it is: what nobody
 * owns is kept for MAPPER_RETRIES looks, one in MAPPER_PAUSE samples.
 */

/* Values of the policy option "mapping". */
enum mapper_rule { MAPPER_NONE, MAPPER_LOCALITY, MAPPER_CRITICAL };

#define MAPPER_PAUSE 10
#define MAPPER_RETRIES 12
#define MAPPER_ROWS 1024 /* of threads that nobody owns */
#define MAPPER_PROCESSES 64 /* of a job, those that attached last, have tables */
#define MAPPER_MAPS 2       /* of tasks are made in an epoch for each job */

struct mapper;

/* For a machine with NODES NUMA nodes; NULL when out of memory. */
struct mapper *mapper_new(size_t nodes);

/* Takes NULL. */
void mapper_free(struct mapper *mapper);

/* Add what SAMPLE says of the threads of JOBS to their tables. */
void mapper_learn(struct mapper *mapper, struct job_table *jobs, const struct sample *sample);

/* Make what maps are due of JOBS on TOPOLOGY by RULE of POLICY, and write to DECISIONS why threads
 * are where they are; WALL_NS and NOW_NS: now.  Jobs whose threads are to move are unsettled. */
void mapper_epoch(struct job_table *jobs, enum mapper_rule rule, const char *policy,
                  const struct topology *topology, struct decisions *decisions, uint64_t wall_ns,
                  uint64_t now_ns);

#endif /* COSCHED_MAPPER_H */
