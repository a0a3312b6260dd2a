/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs a job gets, once it is decided how many. */

#ifndef COSCHED_MODEL_PLACEMENT_H
#define COSCHED_MODEL_PLACEMENT_H

/* Concept
 *
 * Two wishes, in this order: a job keeps the CPUs it has (their caches are
 * warm and moving threads costs), and a job's CPUs lie on as few CPU nodes as
 * possible (jobs that share a last-level cache disturb each other).  A job that
 * shrinks therefore gives up CPUs on the nodes where it has fewest; one that
 * grows takes free CPUs first on nodes where it is already, then on the node
 * with the most free ones.
 */

#include <stddef.h>

#include "model/policy.h"

/* Turn cores[job_count] into owner[machine->cpus].  The sum of CORES is at most
 * the pool's size.  INPUT has a workspace with its pool counted, here and
 * below. */
void placement(const struct policy_input *input, const size_t *cores,
               int *owner);

/* Turn LAYOUT, cores of job j on CPU node i at i * job_count + j, of which no
 * CPU node has more than its part of the pool, into owner[machine->cpus] with
 * the fewest moves.  LAYOUT is not the workspace's `have`. */
void placement_layout(const struct policy_input *input, const size_t *layout,
                      int *owner);

/* Cores per CPU node and job (counts[node * job_count + job]) for a mix that is
 * not placed yet: jobs in order, each packed on the pool's CPU nodes. */
void placement_sketch(const struct policy_input *input, const size_t *cores,
                      size_t *counts);

#endif /* COSCHED_MODEL_PLACEMENT_H */
