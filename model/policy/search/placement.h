/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs a job gets, once it is decided how many. */

#ifndef COSCHED_MODEL_PLACEMENT_H
#define COSCHED_MODEL_PLACEMENT_H

/* Concept
 *
 * model/layout.h decides in which LLC domains a job's cores lie: few moves, whole domains, near
 * the job's memory (the rates of its profile, by first touch, and the machine's routes), away
 * from busy last-level caches (policy_facts).  Here the policies' jobs and CPUs are translated to
 * that and back.
 */

#include <stddef.h>

#include "model/policy.h"

enum { PLACEMENT_REGROUP = 2 };

/* Count the pool of INPUT into its workspace, and find what placements go by;
 * once before the others. */
void placement_begin(const struct policy_input *input);

/* Turn cores[job_count] into owner[machine->cpus].
 *
 * Jobs that keep their cores stay scattered when others have come and gone.  So the placement as if
 * no job had a CPU is taken if it has PLACEMENT_REGROUP parts (pairs of job and LLC domain) fewer.
 * One part fewer is not worth that: shares that change by a core would move jobs to and fro.
 *
 * The sum of CORES is at most the pool's size.  The workspace's `have` is used, here and below, and
 * here its `layout` and `fresh`. */
void placement(const struct policy_input *input, const size_t *cores,
               int *owner);

/* The first half of placement(): LAYOUT[llc_domains * job_count], cores of job j
 * on LLC domain i at i * job_count + j.  LAYOUT is not the workspace's `have`. */
void placement_counts(const struct policy_input *input, const size_t *cores,
                      size_t *layout);

/* The same as if no job had a CPU but serial ones, which stay where their data are: whole LLC
 * domains near the memory, however many move.  LAYOUT is not the workspace's `have`. */
void placement_fresh(const struct policy_input *input, const size_t *cores,
                     size_t *layout);

/* The same with fewer exchanges, for predictions: on machines of many LLC domains
 * in a fraction of the time, and nearly as near the memory. */
void placement_rough(const struct policy_input *input, const size_t *cores,
                     size_t *layout);

/* The second half: turn LAYOUT, of which no LLC domain has more than its part of
 * the pool, into owner[machine->cpus] with the fewest moves. */
void placement_layout(const struct policy_input *input, const size_t *layout,
                      int *owner);

/* Cores that each job has now, into COUNTS[llc_domains * job_count]. */
void placement_present(const struct policy_input *input, size_t *counts);

#endif /* COSCHED_MODEL_PLACEMENT_H */
