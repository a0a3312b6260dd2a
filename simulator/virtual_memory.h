/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How fast the cores of a simulated node really are. */

#ifndef COSCHED_SIMULATOR_VIRTUAL_MEMORY_H
#define COSCHED_SIMULATOR_VIRTUAL_MEMORY_H

/* Concept
 *
 * The truth of the simulated node: all controllers and links as one closed network with the
 * cores as customers (model/network.h).  Speeds in mixes are 0.3 % off discrete-event simulation
 * on average with Linearizer (2 % at worst), 1.2 % (8 %) with Schweitzer's method, which is many
 * times faster (docs/model/validation.md).  Policies predict with fewer classes, so they have
 * errors of the kind that they meet on a real machine.
 *
 * A job's cores in one LLC domain are a class of customers.  A core asks
 *   - as often per unit of computing as the region does with the job's part of the LLC, which is
 *     its part of the accesses of all jobs in the domain (scenario_llc_factor());
 *   - the NUMA nodes as the job's data is spread, its own one first for data local to its threads
 *     (model/locality.h), unless the kernel moves these from core to core: then all cores ask as
 *     they do in the mean.
 *
 * Cores may be fractions: n customers, each there for a part of the time.  Solutions are kept,
 * because jobs come back to the same situations.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/machine.h"
#include "model/network.h"
#include "model/status.h"
#include "simulator/scenario.h"

/* What a job asks of the node's memory. */
struct virtual_load {
    const struct scenario_region *region;
    const double *cores; /* [llc_domains] that compute or are stalled, >= 0 */
    const double *data;  /* [numa_nodes] where its data lies, sum 1; NULL: at the
                            home of each core */
    bool local;          /* each thread's data is in `data` as its cores were */
    const double *asked; /* [llc_domains * numa_nodes] parts of what a core of each domain asks;
                            NULL: as `data` says */
    bool wanders;        /* its threads do, over all of `cores` */
};

/* What comes of it; arrays of virtual_memory_solve()'s caller. */
struct virtual_rates {
    double *speed;       /* [loads * llc_domains] computing, in cores' worth */
    double *requests;    /* [loads * llc_domains * numa_nodes] per us and unit of
                            computing there, reads, writes and prefetches */
    double *read_part;   /* [loads] of the requests, that stall */
    double *utilisation; /* [numa_nodes + links] */
};

struct virtual_memory;

/* For up to JOBS loads on MACHINE, which must outlive it.  NULL when out of
 * memory. */
struct virtual_memory *virtual_memory_new(const struct machine *machine,
                                          enum network_method method,
                                          size_t jobs);

/* Solve COUNT loads into RATES. */
enum model_status virtual_memory_solve(struct virtual_memory *memory,
                                       const struct virtual_load *loads,
                                       size_t count,
                                       const struct virtual_rates *rates);

/* How often it was asked, and how often it had to solve. */
size_t virtual_memory_asked(const struct virtual_memory *memory);
size_t virtual_memory_solved(const struct virtual_memory *memory);

/* Takes NULL. */
void virtual_memory_free(struct virtual_memory *memory);

#endif /* COSCHED_SIMULATOR_VIRTUAL_MEMORY_H */
