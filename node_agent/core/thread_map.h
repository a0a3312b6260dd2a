/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The thread-node table of a job or a region, and on which CPUs its threads are because of it. */

#ifndef COSCHED_THREAD_MAP_H
#define COSCHED_THREAD_MAP_H

/* Concept
 *
 * What a job's threads ask the NUMA nodes (counters/sample.h) adds up in a row for each thread.
 * A map (model/mapping.h) gives a home to each thread of which enough is known: the CPUs, of those
 * that the job has, of one NUMA node.  Other threads may be on all of them.  With more threads
 * than cores each core is for several.
 *
 * A map is made when there are other CPUs, and when twice as much is known as for the last one:
 * where data are does not change, so that threads move a few times at most.  The rows stay with
 * the job, so that threads find back to their data when it has lost CPUs and got them again.
 *
 * A pinned job has one table, of its kernel threads.  The tasks of a process with the cooperative
 * library have one for each region (task_maps.h) and are told apart by their stacks, as all run on
 * any thread.  Users make both at will: a table has THREAD_ROWS rows; of the rest nothing is known.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "model/mapping.h"
#include "node_agent/counters/sample.h"
#include "node_agent/topology/topology.h"
#include "protocol/layout.h"

#define THREAD_ROWS 512
#define THREAD_ROUNDS 64   /* of a map, told to explain it */
#define THREAD_KNOWN 32.0  /* requests of a thread that is mapped, or pages */

struct thread_map;

/* What a table's rows are. */
enum thread_rows { ROWS_OF_THREADS, ROWS_OF_STACKS };

/* For a machine with NODES NUMA nodes; NULL when out of memory. */
struct thread_map *thread_map_new(size_t nodes, enum thread_rows rows);

/* THREAD made REQUESTS[nodes].  One whose stack is not known has no place among stacks. */
void thread_map_add(struct thread_map *map, const struct sample_thread *thread,
                    const double *requests);

/* True when there should be a map by RULE for CPUS and is none. */
bool thread_map_due(const struct thread_map *map, enum mapping_rule rule,
                    const struct cosched_cpuset *cpus);

/* What thread_map_make() made. */
struct thread_map_made {
    size_t threads;       /* that have a home */
    double local, before; /* part of their requests to the node where they are, and to that where
                             the map before had them; NAN: they had none */
    json_t *rounds;       /* as protocol/replies.md describes them under "explain"; the caller's */
};

/* Make the map by RULE for CPUS of TOPOLOGY (not empty); rows of threads of which LIVES() (unless
 * NULL) is not true are forgotten.  Where fewer than two threads are known there is none.  -1 with
 * errno ENOMEM: no thread has a home. */
int thread_map_make(struct thread_map *map, enum mapping_rule rule, const struct topology *topology,
                    const struct cosched_cpuset *cpus,
                    bool (*lives)(const struct sample_thread *thread),
                    struct thread_map_made *made);

/* No thread has a home any more; the rows stay.  Takes NULL.  True when any had one. */
bool thread_map_drop(struct thread_map *map);

/* True when a thread has a home; MAP may be NULL. */
bool thread_map_holds(const struct thread_map *map);

/* Another number for another map; MAP may be NULL. */
size_t thread_map_version(const struct thread_map *map);

/* Where thread TID may run of CPUS: at its home as far as that is in CPUS, else anywhere.  MAP may
 * be NULL.  The result is CPUS or *ROOM. */
const struct cosched_cpuset *thread_map_home(const struct thread_map *map, pid_t tid,
                                             const struct cosched_cpuset *cpus,
                                             struct cosched_cpuset *room);

/* Write at most ROOM of the stacks that have a home to HOME, for REGION as layout.h has it, each
 * with an LLC domain of TOPOLOGY there: as many in each as it has of the CPUs.  Returns their
 * number. */
size_t thread_map_homes(const struct thread_map *map, const struct topology *topology,
                        uint16_t region, struct cosched_home *home, size_t room);

/* Takes NULL. */
void thread_map_free(struct thread_map *map);

#endif /* COSCHED_THREAD_MAP_H */
