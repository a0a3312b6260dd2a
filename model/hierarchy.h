/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Response times of controllers, links and LLC misses for one loop. */

#ifndef COSCHED_MODEL_HIERARCHY_H
#define COSCHED_MODEL_HIERARCHY_H

/* Concept
 *
 * What a loop waits for memory on cores[i] cores of LLC domain i (thesis 3.3.1):
 *
 *   MRT_M   response of each controller; customers are the LLC domains that ask
 *           it, with the mean of their rates (3.6)
 *   MRT_L   response of each link; customers are the LLC domains whose routes
 *           cross it, with the mean of their rates across it (3.7, LSet)
 *   TRT     MRT_M plus the MRT_L of all links of the route (3.8)
 *   LRT     response of a read miss; customers are the cores of one LLC domain,
 *           service time is TRT
 *
 * Service times are those of the mix of kinds at each server (3.13).  All rates
 * are per us of CPU time of one core, so what a core asks does not depend on
 * how many there are.
 *
 * HIERARCHY_CLOSED solves controllers and links as one network instead, whose
 * customers are the cores (model/network.h); TRT is then the mean time of a
 * read with all its waiting, and LRT the same.  It is as many times nearer to
 * simulation as memory is busy (docs/model/validation.md), and some ten times
 * slower.
 */

#include <stddef.h>

#include "model/loop.h"
#include "model/machine.h"
#include "model/status.h"

enum hierarchy_method {
    HIERARCHY_STATIONS, /* the papers */
    HIERARCHY_CLOSED,
};

struct hierarchy_input {
    const struct machine *machine;
    enum hierarchy_method method;
    const size_t *cores; /* [llc_domains] degree of parallelism */
    const struct loop_requests *rate; /* [llc_domains * numa_nodes] of each core,
                                         per us of CPU time (3.9 / cores) */
    const double *misses; /* [llc_domains * numa_nodes] read misses of each core
                             per us of CPU time (3.10), at most the rate */
};

/* Mean times in us; the caller's arrays, each may be NULL.  Where nobody asks,
 * times are those of a lone request. */
struct hierarchy_result {
    double *controller_us; /* [numa_nodes] MRT_M */
    double *link_us;       /* [links] MRT_L */
    double *total_us;      /* [llc_domains * numa_nodes] TRT */
    double *miss_us;       /* [llc_domains * numa_nodes] LRT */
    double *stall;         /* [llc_domains] stall of a core per us of CPU time:
                              sum over NUMA nodes of misses times LRT */
    double *busy;          /* one number: how long the server that has most to do is busy, per us
                              of CPU time; no time is shorter (asymptotic bound: Denning and
                              Buzen, 1978) */
};

/* Solve INPUT.  MODEL_EINVAL for values out of range, MODEL_ENOMEM, or what
 * network_solve() says (HIERARCHY_CLOSED only). */
enum model_status hierarchy_solve(const struct hierarchy_input *input,
                                  const struct hierarchy_result *result);

#endif /* COSCHED_MODEL_HIERARCHY_H */
