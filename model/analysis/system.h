/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How well a machine is used by a mix of jobs: NuPoCo's system utilisation. */

#ifndef COSCHED_MODEL_ANALYSIS_SYSTEM_H
#define COSCHED_MODEL_ANALYSIS_SYSTEM_H

/* Concept
 *
 * Stations in three levels (thesis 3.3.1, 4.3.1), solved from the memory up:
 *
 *   controller m   customers: LLC domains that send requests to m (eq. 3.6)
 *   link l         customers: LLC domains whose routes cross l (LSet, 3.7)
 *   outgoing queue of LLC domain i towards m: customers are i's cores; service
 *                  time is the response of controller and links (3.8); only
 *                  read misses queue here and stall a core
 *
 * Each station has several classes of customers (model/analysis/mva.h), where the
 * papers take the average rate.  From the stall time follows the share of time
 * in which a core computes (4.5), from that the requests really made, and from
 * those each controller's utilisation by the utilisation law, which for one
 * LLC domain is the same number as eq. 4.4.
 *
 * System utilisation (4.6, 4.7) is the sum over LLC domains of the computing
 * share of their cores plus the sum over controllers of their utilisation.
 */

#include <stddef.h>

#include "model/machine.h"
#include "model/analysis/mva.h"
#include "model/workload.h"

#define SYSTEM_MAX_JOBS 64
#define SYSTEM_MAX_DOMAINS MVA_MAX_CLASSES /* LLC domains */

struct system_input {
    const struct machine *machine;
    size_t jobs;                           /* 1..SYSTEM_MAX_JOBS */
    const struct workload *const *profile; /* [jobs], each not NULL */
    const double *weight; /* [jobs] of the jobs' computing share, NULL: all 1 */
    const size_t *cores;  /* [llc_domains * jobs]: cores of job j on LLC domain i
                             at i * jobs + j */
    enum mva_method method;
};

struct system_result {
    double cpu;         /* sum over LLC domains of the computing share */
    double memory;      /* sum over controllers of their utilisation */
    double utilisation; /* cpu + memory: NuUtil (4.7) */
};

/* Solve INPUT.  JOB_SPEED, if not NULL, receives for each job the number of
 * cores' worth of computing that it gets ([jobs]; its speedup over a core that
 * never waits).  MODEL_ENOMEM, or MODEL_EINVAL when a profile's NUMA nodes
 * differ from the machine's. */
enum model_status system_solve(const struct system_input *input,
                               struct system_result *result,
                               double *job_speed);

#endif /* COSCHED_MODEL_ANALYSIS_SYSTEM_H */
