/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How well a machine is used by a mix of jobs: NuPoCo's system utilisation. */

#ifndef COSCHED_MODEL_SYSTEM_H
#define COSCHED_MODEL_SYSTEM_H

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
 * Each station has several classes of customers (model/mva.h), where the
 * papers take the average rate.  From the stall time follows the share of time
 * in which a core computes (4.5), from that the requests really made, and from
 * those each controller's utilisation by the utilisation law, which for one
 * LLC domain is the same number as eq. 4.4.
 *
 * Method "automatic" is exact (model/quadrature.h) for stations of up to
 * QUADRATURE_MAX_CUSTOMERS, and that of mva_solve() beyond.
 *
 * A decision predicts many divisions of the same cores among the same jobs.
 * A workspace holds all that it needs and what they have in common
 * (model/alike.h); LLC domains that hold the same cores of the same jobs side by
 * side are solved once.
 *
 * System utilisation (4.6, 4.7) is the sum over LLC domains of the computing
 * share of their cores plus the sum over controllers of their utilisation.
 */

#include <stddef.h>

#include "model/machine.h"
#include "model/mva.h"
#include "model/workload.h"

#define SYSTEM_MAX_JOBS 64
#define SYSTEM_MAX_NODES MVA_MAX_CLASSES /* LLC domains */

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

struct system_workspace;

/* Work space for up to JOBS jobs on MACHINE, which must outlive it and not
 * change.  NULL when out of memory or beyond the limits above.  Free with
 * system_workspace_free(). */
struct system_workspace *system_workspace_new(const struct machine *machine,
                                              size_t jobs);

/* Takes NULL. */
void system_workspace_free(struct system_workspace *workspace);

/* Take INPUT, whose machine is the workspace's, for the predictions that
 * follow; its profiles and weights must outlive them and not change, its cores
 * are not used.  Allocates nothing.  MODEL_EINVAL as of system_solve(). */
enum model_status system_prepare(struct system_workspace *workspace,
                                 const struct system_input *input);

/* system_solve() with CORES for what was prepared.  Allocates nothing unless
 * the method is MVA_LINEARIZER. */
enum model_status system_predict(struct system_workspace *workspace,
                                 const size_t *cores,
                                 struct system_result *result,
                                 double *job_speed);

/* The NUMA nodes that the prepared jobs treat alike have the same number,
 * [numa_nodes].  Speeds depend on other jobs' profiles by this alone (in their
 * last digits) as long as these jobs have no cores. */
const size_t *system_groups(const struct system_workspace *workspace);

#endif /* COSCHED_MODEL_SYSTEM_H */
