/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Speeds of a mix by a closed network with one class per job: fast. */

#ifndef COSCHED_MODEL_AGGREGATED_MVA_H
#define COSCHED_MODEL_AGGREGATED_MVA_H

/* Concept
 *
 * The closed network of model/analysis/closed.h decides better than the station model
 * (docs/policies.md) but has a class for each job on each LLC domain and a
 * station for each link, too many for the hundreds of predictions of one
 * decision.  Here all cores of a job are one class, which is no approximation
 * as far as controllers go: rates do not depend on the LLC domain.  A link is
 * visited as often as the mean of the job's cores does, where a core counts by
 * what it computes: less where the way to memory is bad.  NUMA nodes that all
 * jobs treat alike are solved once.  Approximate mean value analysis after
 * Schweitzer, over the stations g, which are groups of NUMA nodes and links:
 *
 *     R_jg = v_jg s_g (1 + Q_g - Q_jg / n_j) / (1 - U_g)
 *     T_j  = 1 + sum_g members_g R_jg,  Q_jg = n_j R_jg / T_j
 *
 * Of many links each is a delay without a queue (link_demand.h), which is cheaper.  On a
 * LLC domain that jobs share each has that part of the last-level cache that its
 * accesses have, and misses more often the less that is.  So it does the more of its own cores
 * are there, where its profile knows that (workload_crowd()).
 *
 * A job with a stall factor f below 1 has 1 / f requests of a core under way at once: it stalls
 * for f R_jg, and sees itself as f Q_jg / n_j; above 1 it stalls for (f - 1) v_jg s_g more.
 *
 * Here v are the reads and U the utilisation by requests that do not stall
 * (posted), half of them writes and half prefetches.  A station that these alone
 * would saturate slows the jobs that make them down to its pace.
 */

#include "model/machine.h"
#include "model/workload.h"

struct aggregated_mva;

/* For up to JOBS jobs on MACHINE, which must outlive it and not change.  NULL
 * when out of memory or JOBS is 0. */
struct aggregated_mva *aggregated_new(const struct machine *machine, size_t jobs);

/* Takes NULL. */
void aggregated_free(struct aggregated_mva *aggregated);

/* Take the COUNT jobs of PROFILE, which must outlive the predictions that
 * follow.  Allocates nothing. */
void aggregated_prepare(struct aggregated_mva *aggregated,
                    const struct workload *const *profile, size_t count);

/* Job number JOB of those prepared waits: its cores get equal parts of the work
 * and end it together, so that the one with the worst way to memory sets the
 * pace of all (a static schedule).  Without this a job's cores share what there
 * is to do. */
void aggregated_waits(struct aggregated_mva *aggregated, size_t job);

/* The work of job number JOB of those prepared goes to its cores in THREADS equal parts
 * (workload_rounds()). */
void aggregated_rounds(struct aggregated_mva *aggregated, size_t job, size_t threads);

/* Job number JOB of those prepared has the stall factor FACTOR > 0 instead of its profile's. */
void aggregated_set_stalls(struct aggregated_mva *aggregated, size_t job, double factor);

/* Speed of each job in cores' worth of computing into SPEED[count], for
 * COUNTS[llc_domains * count], cores of job j on LLC domain i at i * count + j; to
 * the last bit the same whatever was asked before.  Allocates nothing. */
void aggregated_predict(struct aggregated_mva *aggregated, const size_t *counts,
                    double *speed);

/* How long a core of job number JOB, which had one in the last prediction, stalls there in each us
 * of computing: without synchronisation, and as on the mean of its cores. */
double aggregated_stalls(const struct aggregated_mva *aggregated, size_t job);

#endif /* COSCHED_MODEL_AGGREGATED_MVA_H */
