/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Discrete-event simulation of a machine's memory system. */

#ifndef COSCHED_SIMULATOR_MEMSYS_H
#define COSCHED_SIMULATOR_MEMSYS_H

/* Concept
 *
 * The truth for the model's tests.  It takes a machine description (struct machine), follows each
 * request, and knows no formula of model/.
 *
 *   core      computes for exponential times, then makes a request to some NUMA node.  A read
 *             stalls it until the answer is back; writes and prefetches are posted: the core goes
 *             on, unless posted_limit of its own are under way (a full buffer)
 *   channel   outgoing queue of an LLC domain towards one NUMA node, first come first served,
 *             `window` requests under way at a time; one for reads and one for posted requests
 *   link      server, first come first served, crossed in the route's order
 *   controller server, first come first served, at the end of the route
 *
 * A channel's place is free again when the controller is done.  Service times are exponential,
 * deterministic or hyper-exponential (two balanced phases) with a mean per server and kind.
 *
 * Time is in microseconds.  A run is a warm-up, then batches of equal length until each job's
 * speed has the wished precision; confidence intervals are from the batches' means.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/machine.h"
#include "model/status.h"

enum memsys_kind {
    MEMSYS_READ,
    MEMSYS_WRITE,
    MEMSYS_PREFETCH,
    MEMSYS_KINDS,
};

enum memsys_law {
    MEMSYS_EXPONENTIAL,
    MEMSYS_DETERMINISTIC,
    MEMSYS_HYPEREXPONENTIAL,
};

/* Requests per us of computing to one NUMA node, or mean service times in us
 * of one server, by kind. */
struct memsys_kinds {
    double of[MEMSYS_KINDS];
};

struct memsys_job {
    const struct memsys_kinds *rate_per_us; /* [numa_nodes] */
};

struct memsys_config {
    const struct machine *machine;
    const struct memsys_job *jobs; /* [job_count] */
    size_t job_count;
    const size_t *cores; /* [llc_domains * job_count], node-major */
    /* Service times, NULL: those of the machine for all kinds. */
    const struct memsys_kinds *controller_us; /* [numa_nodes] */
    const struct memsys_kinds *link_us;       /* [links] */
    enum memsys_law law;
    double cv2;          /* squared coefficient of variation, > 1, of
                            hyper-exponential times; else ignored */
    size_t window;       /* >= 1 */
    size_t posted_limit; /* >= 1, per core */
    uint64_t seed;
    uint64_t warmup_events;
    uint64_t batch_events; /* about so many in each batch */
    size_t min_batches;    /* 2 .. MEMSYS_MAX_BATCHES */
    size_t max_batches;
    double precision; /* stop when all jobs' relative half width is below */
};

#define MEMSYS_MAX_BATCHES 256

/* window 1, posted_limit 16, exponential, seed 1; batches for about 0.3 %. */
void memsys_defaults(struct memsys_config *config);

struct memsys_estimate {
    double mean;
    double half_width; /* of the 95 % confidence interval */
};

struct memsys_job_result {
    struct memsys_estimate speed; /* cores' worth of computing at a time */
    double cpu_us;                /* core time spent computing */
    double stall_us;              /* core time spent waiting */
    double requests[MEMSYS_KINDS];
    double read_response_us; /* mean stall of a read */
};

struct memsys_server {
    struct memsys_estimate utilisation;
    double queue;       /* mean number waiting and in service */
    double response_us; /* mean time from arrival to completion */
    double completions;
};

struct memsys_result {
    double time_us; /* after the warm-up */
    uint64_t events;
    size_t batches;
    struct memsys_job_result *jobs;   /* [job_count] */
    double *requests;                 /* [job][llc_domain][numa_node][kind] */
    struct memsys_server *controller; /* [numa_nodes] */
    struct memsys_server *link;       /* [links] */
    void *block;                      /* holds all of these */
};

/* Simulate CONFIG.  MODEL_EINVAL for values out of range, MODEL_ENOMEM;
 * RESULT is then left as it was.  Release it with memsys_release(). */
enum model_status memsys_run(const struct memsys_config *config,
                             struct memsys_result *result);

/* Takes a zeroed result, too. */
void memsys_release(struct memsys_result *result);

#endif /* COSCHED_SIMULATOR_MEMSYS_H */
