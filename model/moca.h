/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How well an allocation uses cores and memory: MOCA's two objectives. */

#ifndef COSCHED_MODEL_MOCA_H
#define COSCHED_MODEL_MOCA_H

/* Concept
 *
 * MOCA (thesis 4.5.2) judges an allocation X by two numbers:
 *
 *   cpu_util   mean over all cores of the share of time in which they compute
 *              (4.8, 4.10); cores that nobody has count as 0
 *   bw_util    mean over NUMA nodes of their controllers' utilisation (4.9)
 *
 * Each controller is one station whose customers are the LLC domains, asking at
 * the mean rate of all their cores (figure 4.16).  A core loses
 *
 *   sync time    sync * cores of its job / all cores             (4.11)
 *   memory time  sum over NUMA nodes of llc * (r + link delay) (4.12)
 *
 * The papers subtract both from 1, though llc is per time of computing and
 * not of all time (table 4.3); where memory is busy that leaves less than
 * nothing, here 0.  MOCA_CONSISTENT takes the rates at their word:
 * U = (1 - sync) / (1 + memory).
 *
 * All cores of a job on one LLC domain are alike, so an allocation is a table of
 * counts.  Nothing is allocated: an evolution calls this some thousand times.
 */

#include <stddef.h>

#include "model/machine.h"
#include "model/status.h"
#include "model/workload.h"

enum moca_form {
    MOCA_PAPER,
    MOCA_CONSISTENT,
};

struct moca_input {
    const struct machine *machine; /* rates of its plain service times */
    size_t jobs;
    const struct workload *const *profile; /* [jobs]: mrr, read (llc), sync */
    const size_t *cores; /* [llc_domains * jobs]: of job j on LLC domain i at
                            i * jobs + j */
    size_t all_cores;    /* |C|, >= the sum of cores, >= 1 */
    enum moca_form form;
};

struct moca_result {
    double cpu_util;        /* 0..1 */
    double bw_util;         /* 0..1 */
    double *response_us;    /* [numa_nodes] r(m): the caller's, not NULL */
    double *controller_util; /* [numa_nodes] U(m): the caller's, or NULL */
    double *core_util;       /* [llc_domains * jobs] U(c) of such a core, 0 where
                                there is none: the caller's, or NULL */
};

/* Judge INPUT.  MODEL_EINVAL when there are no jobs, more cores than
 * all_cores, or a profile's NUMA nodes differ from the machine's. */
enum model_status moca_evaluate(const struct moca_input *input,
                                struct moca_result *result);

/* Sync time (4.11) of a job of share SYNC that has CORES of ALL cores. */
double moca_sync_time(double sync, size_t cores, size_t all);

/* Delay of the links from an LLC domain to a NUMA node, us; 0 when local. */
double moca_link_delay(const struct machine *machine, size_t llc_domain,
                       size_t numa_node);

#endif /* COSCHED_MODEL_MOCA_H */
