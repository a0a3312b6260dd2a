/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The memory of a whole machine as one closed network. */

#ifndef COSCHED_MODEL_CLOSED_H
#define COSCHED_MODEL_CLOSED_H

/* Concept
 *
 * The same machine and jobs as system_solve() takes, but all controllers and
 * links are solved together (model/network.h), with the cores as customers: a
 * class is a job's cores on one LLC domain, its stations are the controllers it
 * asks and the links on the way (LSet, thesis 3.7, by the routes).  A read
 * visits one after the other; other requests (MRR less reads) are posted.
 *
 * The last-level caches' outgoing queues are no stations here: they hold what
 * waits for links and controllers, and do not limit how many requests are
 * under way (see docs/model/validation.md for machines where they do).
 *
 * It costs some ten times as much as system_solve() and is as many times
 * nearer to simulation where memory is busy: for predictions rather than for
 * the thousands of trials of one allocation decision.
 */

#include "model/network.h"
#include "model/analysis/system.h"

struct closed_result {
    double *job_speed;   /* [jobs] cores' worth of computing */
    double *utilisation; /* [numa_nodes + links], controllers first */
    double *response_us; /* [llc_domains * numa_nodes] mean time of a read; where
                            nobody reads, as a lone core's */
};

/* Solve INPUT (its method is ignored) into the caller's arrays of RESULT, each
 * of which may be NULL.  Errors as of system_solve() and network_solve(). */
enum model_status closed_solve(enum network_method method,
                               const struct system_input *input,
                               const struct closed_result *result);

#endif /* COSCHED_MODEL_CLOSED_H */
