/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the model knows of the region that a job is running. */

#ifndef COSCHED_MODEL_WORKLOAD_H
#define COSCHED_MODEL_WORKLOAD_H

/* Concept
 *
 * A profile is per core and per unit of CPU time (time in which the core is
 * not stalled on memory), so that it does not depend on the number of cores.
 * Memory request rate (MRR) counts all requests that occupy a controller or
 * link: reads, writes and prefetches.  Only read misses stall a core (thesis
 * 3.3, NuPoCo 4.3.1).
 *
 * A profile from hardware counters has both.  One from throughput alone (the
 * `progress` counters) cannot tell reads from other requests: then read rate
 * equals MRR, and MRR is such that MRR x service time is the effective rho
 * that explains the measured speedup (station_fit_rho()).
 *
 * A thread that has less of a last-level cache misses more often: as (part of it)^-a, the power
 * law of cache misses (Hartstein et al., "Cache miss behavior: is it sqrt(2)?", 2006; a is 0.3 to
 * 0.7 there, 0 where all data fit or none are used again).  So the rates of a profile hold for
 * the number of the job's cores on an LLC domain with which it was measured, and are
 * (n / llc_cores)^llc_power times as high with n.
 *
 * The papers' core waits for each read by itself, for as long as the stations take.  A real one
 * overlaps some of its waits, which stall it for a part of that only, and reads take time on their
 * way that occupies no station.  Both are in stall_factor, which model/stall_factor.h learns.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/status.h"

enum region_kind {
    REGION_SERIAL,   /* one core, whatever is offered */
    REGION_PARALLEL, /* malleable */
};

/* Rates to one NUMA node, in requests per microsecond of CPU time. */
struct workload_rate {
    double mrr_per_us;  /* all requests, >= read_per_us */
    double read_per_us; /* read misses, which stall */
};

struct workload {
    size_t numa_nodes;           /* as the machine's */
    struct workload_rate *rate; /* [numa_nodes] */
    double sync_share; /* share of time in synchronisation at full DoP, 0..1 */
    double llc_per_us; /* LLC accesses per us of CPU time; 0: unknown */
    double llc_power;  /* 0..1; 0: unknown, or the job's own cores do not matter */
    double llc_cores;  /* that share an LLC where the rates hold, >= 1; 0 only without a power */
    double stall_factor; /* > 0: of the time that reads take, below 1 the part that stalls; above,
                            how many times its service a read takes where nobody else asks */
    double locality;   /* share of the requests that go to a thread's own data,
                          0..1 (model/locality.h); NAN: unknown, taken for 0 */
};

/* All rates 0 (compute-bound), stalls as in the papers, locality unknown.  NULL when out of
 * memory or NUMA_NODES is 0. */
struct workload *workload_new(size_t numa_nodes);

/* A compute-bound or memory-bound region with effective RHO (>= 0, finite) at
 * one controller of mean service time SERVICE_US, its requests spread evenly
 * over NUMA_NODES. */
struct workload *workload_new_rho(size_t numa_nodes, double rho,
                                  double service_us);

/* Share of its time that W spends in synchronisation on PART (0..1) of the machine's cores
 * (thesis 4.11), below 1. */
double workload_sync(const struct workload *workload, double part);

/* Part of their time for which CORES have something to do, (0, 1], where THREADS equal parts of the
 * work go to them in rounds: THREADS / (CORES ceil(THREADS / CORES)).  1 where THREADS is 0: the
 * work can be divided at will. */
double workload_rounds(size_t threads, size_t cores);

/* The rates of WORKLOAD's requests to all NUMA nodes together. */
struct workload_rate workload_total(const struct workload *workload);

/* How many times as often as the rates of WORKLOAD say it asks for memory with CORES on an LLC
 * domain. */
double workload_crowd(const struct workload *workload, size_t cores);

/* Add all that WORKLOAD says to HASH (common/hash.h). */
void workload_hash(const struct workload *workload, uint64_t *hash);

enum model_status workload_check(const struct workload *workload);
void workload_free(struct workload *workload);

#endif /* COSCHED_MODEL_WORKLOAD_H */
