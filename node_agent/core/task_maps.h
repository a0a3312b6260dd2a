/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Where the tasks of an attached process should run, region by region. */

#ifndef COSCHED_TASK_MAPS_H
#define COSCHED_TASK_MAPS_H

/* Concept
 *
 * The cooperative library runs a process's tasks, its OpenMP threads, on any of its kernel threads.
 * The agent knows them by their stacks and keeps a thread-node table (thread_map.h) for each of the
 * first TASK_REGIONS parallel regions in which they were seen, and one of all they did: for other
 * regions, and where the first touches of one region say where the data of all lie.  The homes that
 * come of them are written behind the process's allotment (protocol/layout.h), which the library
 * obeys when a region begins.
 */

#include "model/mapping.h"
#include "node_agent/core/thread_map.h"
#include "protocol/layout.h"

#define TASK_REGIONS 7
#define TASK_ALL TASK_REGIONS /* the table of all regions */

struct task_maps;

/* For a machine with NODES NUMA nodes; NULL when out of memory. */
struct task_maps *task_maps_new(size_t nodes);

/* Takes NULL. */
void task_maps_free(struct task_maps *maps);

/* A task on a stack of THREAD made REQUESTS[nodes] in REGION of the process's report; any other
 * value than that of an entry: nobody knows in which one. */
void task_maps_add(struct task_maps *maps, uint32_t region, const struct sample_thread *thread,
                   const double *requests);

/* Set *WHICH to a table for which there should be a map by RULE for CPUS and is none.  False: there
 * is no such table. */
bool task_maps_due(const struct task_maps *maps, enum mapping_rule rule,
                   const struct cosched_cpuset *cpus, size_t *which);

/* Make it, as thread_map_make() does. */
int task_maps_make(struct task_maps *maps, size_t which, enum mapping_rule rule,
                   const struct topology *topology, const struct cosched_cpuset *cpus,
                   struct thread_map_made *made);

/* The region of table WHICH: index in the process's report, or COSCHED_HOME_ANY. */
uint16_t task_maps_region(const struct task_maps *maps, size_t which);

/* No task has a home any more; takes NULL.  True when any had one. */
bool task_maps_drop(struct task_maps *maps);

/* Write the homes of all to HOME[COSCHED_MAX_HOMES]; takes NULL.  Returns how many. */
size_t task_maps_homes(const struct task_maps *maps, const struct topology *topology,
                       struct cosched_home *home);

#endif /* COSCHED_TASK_MAPS_H */
